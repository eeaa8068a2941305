"""Keep TensorFlow and Horovod imported, and for every job fork a process that enters a sandbox and does the job there.

The process that is forked never sees a job: it passes on what its child needs to find one, the process to enter the
sandbox by and the ends of two pipes. So nothing of one submission is there for the next. The child reads a
grader.terms.job.Job from one pipe, and writes messages to the other one.

This is the only module outside of grader.sandboxed that imports it.
"""

import contextlib
import ctypes
import functools
import gc
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

from grader.runner import messages, supervisor
from grader.sandbox import policy
from grader.sandboxed import rank
from grader.terms.job import Broken, Job, Message

PR_SET_DUMPABLE = 4  # from <linux/prctl.h>


def main() -> None:
    """Import, report it, and fork for every job until the pool closes the socket that they come by."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0)  # the ranks' code cannot look into this process, nor trace it
    # Horovod's threads look out for messages all the time. As a batch job, they let a rank that computes finish first.
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    gc.disable()  # nothing that imports make is garbage, and looking for it takes an eighth of their time
    import horovod.tensorflow.keras  # noqa: F401
    import scipy.ndimage  # noqa: F401
    import tensorflow as tf  # noqa: F401

    import course.store  # noqa: F401
    import grader.sandboxed.horovod_recorder
    import grader.sandboxed.task_recorder  # noqa: F401

    gc.freeze()  # a collection in a fork would touch, and so copy, every page that is shared
    gc.enable()
    _serve()
    _tidy_up()


def _serve() -> None:
    """Report that all is imported, and fork for each order that comes with its two pipes, until no more can come."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks leave no zombies, for which nothing here waits
    with socket.socket(fileno=sys.stdin.fileno()) as orders, contextlib.suppress(ConnectionError):
        orders.send(b"ready")
        while True:
            order, pipes, _, _ = socket.recv_fds(orders, 64, 2)
            if not order:
                return
            if os.fork() == 0:
                _do_job(msgspec.json.decode(order, type=int | None), *pipes)
            for pipe in pipes:
                os.close(pipe)
            _forget_libraries()


def _do_job(process: int | None, job: int, answer: int) -> NoReturn:
    """Go into the sandbox of the process, if any, do the job that one pipe brings, answer by the other, and end."""

    def send(message: Message) -> None:
        messages.send(answer, message)

    try:
        policy.go_inside(process)
        policy.close_all_but(job, answer)
        with os.fdopen(job, "rb") as file:
            task = msgspec.msgpack.decode(file.read(), type=Job)
        os.environ["TMPDIR"] = tempfile.tempdir = task.folder  # temporary files go with it, those of killed ranks too
        send(supervisor.run(task, rank.run, send))
    except BaseException:  # this program's fault: no verdict on the script
        send(Broken(traceback.format_exc()))
    finally:
        os._exit(0)


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


if __name__ == "__main__":
    main()
