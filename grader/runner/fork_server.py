"""Keep TensorFlow and Horovod imported, and for every job fork a process that enters a sandbox and does the job there.

The process that is forked never sees a job: it passes on what its child needs to find one, a grader.terms.job.Order and the
ends of pipes. So nothing of one submission is there for the next. The child reads a grader.terms.job.Job and writes a
grader.terms.facts.Answer, as JSON, or {"broken": why}; before it there is a LATER for each second more that it may take, and
a TURN where a turn of the job begins. A witness is forked, too, into a sandbox of its own, and writes a
grader.terms.facts.Testimony.

This is the only module outside of grader.sandboxed that imports it.
"""

import contextlib
import ctypes
import functools
import gc
import json
import mmap
import os
import shutil
import socket
import tempfile
import traceback
from pathlib import Path
from typing import NoReturn

import msgspec
import psutil

from grader.sandbox.time_budget import LATER, TURN
from grader.terms.job import Job, Order, Topology
from grader.runner import server, supervisor
from grader.sandbox import policy
from grader.sandboxed import rank
from grader.witness import rank as witness


def main() -> None:
    """Import, report it, and fork for every job until the pool closes the socket that they come by."""
    ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE: the ranks' code cannot look into this process, nor trace it
    # Horovod's threads look out for messages all the time. As a batch job, they let a rank that computes finish first.
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    gc.disable()  # nothing that imports make is garbage, and looking for it takes an eighth of their time
    import horovod.tensorflow.keras  # noqa: F401
    import scipy.ndimage  # noqa: F401
    import tensorflow as tf  # noqa: F401

    import course.store  # noqa: F401
    import grader.sandboxed.horovod_recorder
    import grader.sandboxed.leader
    import grader.sandboxed.locks
    import grader.sandboxed.task_recorder  # noqa: F401

    gc.freeze()  # a collection in a fork would touch, and so copy, every page that is shared
    gc.enable()
    server.serve(_fork)
    _tidy_up()


def _fork(message: bytes, pipes: list[int]) -> None:
    """Fork for a job, and for its witness."""
    order = msgspec.json.decode(message, type=Order)
    ours, theirs = socket.socketpair() if order.witnessed else (None, None)
    if os.fork() == 0:
        do_job(order.sandbox, pipes[0], pipes[1], theirs.detach() if theirs else None)
    if order.witnessed and ours and os.fork() == 0:
        attend(order.other, order.witnessed, ours.detach(), pipes[2])
    for end in (ours, theirs):
        if end:
            end.close()
    _forget_libraries()


@functools.cache  # once
def _forget_libraries() -> None:
    """Give back the memory of pages that are as they are in their files: a third of all, hardly needed from now on.

    A fork does not inherit these pages, so for the ranks nothing changes.
    """
    libc = ctypes.CDLL(None)
    for mapping in psutil.Process().memory_maps(grouped=False):
        if mapping.path.startswith("/") and "w" not in mapping.perms and not mapping.anonymous:
            first, last = (int(address, 16) for address in mapping.addr.split("-"))
            libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), mmap.MADV_DONTNEED)


def _tidy_up() -> None:
    """End what runs, and remove the pool's folder: the process that should have done so was killed."""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    shutil.rmtree(Path.cwd(), ignore_errors=True)


def do_job(process: int | None, job: int, answer: int, link: int | None) -> NoReturn:
    """Go into the sandbox of the process, if any, do the job that one pipe brings, answer by the other, and end."""
    try:
        policy.go_inside(process)
        policy.close_all_but(job, answer, *([] if link is None else [link]))
        with os.fdopen(job, "rb") as file:
            task = msgspec.json.decode(file.read(), type=Job)
        os.environ["TMPDIR"] = tempfile.tempdir = task.folder  # temporary files go with it, those of killed ranks too
        marks = (lambda: os.write(answer, LATER)), (lambda: os.write(answer, TURN))
        answered = msgspec.to_builtins(supervisor.run(task, rank.run, *marks, link))
    except BaseException:  # this program's fault: no verdict on the script
        answered = {"broken": traceback.format_exc()}
    try:
        with os.fdopen(answer, "w") as file:
            json.dump(answered, file)  # Python's own encoder has NaN, which weights may hold
    finally:
        os._exit(0)


def attend(process: int | None, topology: Topology, link: int, answer: int) -> NoReturn:
    """Go into the sandbox of the process, if any, and be the witness of a topology; what it saw goes by the pipe."""
    try:
        policy.go_inside(process)
        policy.close_all_but(link, answer)
        witness.attend(topology, link, answer)
    finally:
        os._exit(1)


if __name__ == "__main__":
    main()
