"""Keep TensorFlow and Horovod imported, and for every job fork a process that enters a sandbox and does the job there.

Importing takes seconds and forking does not, so a job starts at once. The process that is forked never sees a job: it
passes on what its child needs to find one, a grader.job.Order and the ends of pipes. So nothing of one submission is there for the next. The child reads a grader.job.Job and writes a
grader.facts.Answer, as JSON, or {"broken": why}; before it there is a LATER for each second more that it may take. A
witness is forked beside it, into a sandbox of its own, and writes a grader.facts.Testimony.

This is the only module outside of grader.sandboxed that imports it.
"""

import contextlib
import ctypes
import gc
import json
import mmap
import os
import shutil
import signal
import socket
import sys
import tempfile
import traceback
from pathlib import Path
from typing import NoReturn

import msgspec
import psutil

from grader.job import Job, Order, Topology
from grader.runner import ranks, sandbox, supervisor
from grader.runner.budget import LATER
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
    import grader.sandboxed.locks
    import grader.sandboxed.task_recorder  # noqa: F401

    gc.freeze()  # a collection in a fork would touch, and so copy, every page that is shared
    gc.enable()
    _forget_libraries()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children leave nothing to wait for
    with socket.socket(fileno=sys.stdin.fileno()) as orders, contextlib.suppress(ConnectionError):
        orders.send(b"ready")
        while _serve_next(orders):
            pass
    _tidy_up()


def _serve_next(orders: socket.socket) -> bool:
    """Fork for the next job, and for its witness, and return whether there was one."""
    message, pipes, _, _ = socket.recv_fds(orders, 4096, 3)
    if message:
        order = msgspec.json.decode(message, type=Order)
        ours, theirs = socket.socketpair() if order.witnessed else (None, None)
        if os.fork() == 0:
            serve(order.sandbox, *pipes[:2], theirs.detach() if theirs else None)
        if order.witnessed and ours and os.fork() == 0:
            attend(order.beside, order.witnessed, ours.detach(), pipes[2])
        for end in (ours, theirs):
            if end:
                end.close()
    for pipe in pipes:
        os.close(pipe)
    return bool(message)


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


def serve(process: int | None, job: int, answer: int, link: int | None) -> NoReturn:
    """Go into the sandbox of the process, if any, do the job that one pipe brings, answer by the other, and end."""
    try:
        _go_inside(process)
        ranks.close_all_but(job, answer, *([] if link is None else [link]))
        with os.fdopen(job, "rb") as file:
            task = msgspec.json.decode(file.read(), type=Job)
        os.environ["TMPDIR"] = tempfile.tempdir = task.folder  # temporary files go with it, those of killed ranks too
        answered = msgspec.to_builtins(supervisor.run(task, rank.run, lambda: os.write(answer, LATER), link))
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
        _go_inside(process)
        ranks.close_all_but(link, answer)
        witness.attend(topology, link, answer)
    finally:
        os._exit(1)


def _go_inside(process: int | None) -> None:
    """Continue in a child that is in the sandbox of the process, if any, with no more rights than it needs."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    if process:
        sandbox.enter(process)
        child = os.fork()
        if child:  # stays, since a namespace ends only once all that was in it has been waited for
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            os.waitpid(child, 0)
            os._exit(0)
        sandbox.confine(process)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


if __name__ == "__main__":
    main()
