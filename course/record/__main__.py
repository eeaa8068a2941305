"""Run a training script inside a rank and record what Keras does there, for the lessons' figures.

    mpirun -np 2 python -m course.record DIRECTORY script.py --its --arguments

The script runs as it would by itself, with one more callback at each end of the list that it gives to fit(). Each rank
writes a course.record.records.Record to DIRECTORY. In the script's arguments, {rank} stands for the rank's number.
Environment variables:

    COURSE_RECORD_WEIGHTS      if set, the trainable weights after every batch are recorded too
    COURSE_RECORD_ONE_CORE     if set, each rank computes on one core only
    COURSE_RECORD_RANK         the number of this process; without it, the rank that mpirun assigned
    COURSE_RECORD_HOSTS        the number of hosts to simulate; Horovod then runs on Gloo
    COURSE_RECORD_RENDEZVOUS   the port of the rendezvous server of these hosts
    COURSE_RECORD_GPUS         the number of GPUs to simulate on each host
"""

import logging
import os
import runpy
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from course.internal import simulated_hosts
from course.record.records import Record, write_record


def main(directory: str, script: str, *arguments: str) -> int:
    """Run the script as the main program, write this rank's record, and return the exit status."""
    rank = os.environ.get("COURSE_RECORD_RANK") or os.environ.get("OMPI_COMM_WORLD_RANK", "0")
    record = Record(rank=int(rank), pid=os.getpid())
    if "COURSE_RECORD_ONE_CORE" in os.environ:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[record.rank % len(cores)]})
    if "COURSE_RECORD_HOSTS" in os.environ:
        script = str(Path(script).resolve())
        _move_to_host(record.rank)

    from course.record import lesson  # imports TensorFlow, which counts the cores at that moment

    # Keras compares a callback with a batch, and a small network's batch is short.
    logging.getLogger("tensorflow").addFilter(lambda warning: "is slow compared to" not in warning.getMessage())
    gpus = lesson.visible_gpus
    if "COURSE_RECORD_GPUS" in os.environ:
        gpus = _simulate_gpus(int(os.environ["COURSE_RECORD_GPUS"]))
    lesson.record_fit(record, "COURSE_RECORD_WEIGHTS" in os.environ, gpus)
    lesson.record_images(record)
    lesson.record_worker_steps(record)
    sys.argv = [script, *(argument.replace("{rank}", str(record.rank)) for argument in arguments)]
    sys.path[0] = str(Path(script).parent.resolve())
    try:
        runpy.run_path(script, run_name="__main__")
    except Exception as error:
        _print_own_traceback(error, script)
        # At once: an orderly exit waits for the other ranks, they wait for this one, and the fault seems to be theirs.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
    finally:
        write_record(record, Path(directory))
    return 0


def _move_to_host(rank: int) -> None:
    """Give this rank its place on one of the simulated hosts, and enter the folder that is the host's disk."""
    count, size = int(os.environ["COURSE_RECORD_HOSTS"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    os.environ.update(
        simulated_hosts.variables(
            simulated_hosts.slot(rank, count, size // count), os.environ["COURSE_RECORD_RENDEZVOUS"]
        )
    )
    disk = Path(os.environ["HOROVOD_HOSTNAME"])
    disk.mkdir(exist_ok=True)
    os.chdir(disk)


def _simulate_gpus(count: int) -> Callable[[], list[str]]:
    """Let TensorFlow's configuration show so many GPUs, and return a function that names those that are visible."""
    from course.internal.simulated_gpus import Gpus

    gpus = Gpus(count)
    gpus.answer_tensorflow()
    return lambda: [f"GPU:{number} (simulated)" for number in gpus.settle()[0]]


def _print_own_traceback(error: BaseException, script: str) -> None:
    """Print where the script failed, without the frames that led to the script."""
    frame = error.__traceback__
    while frame and frame.tb_next and frame.tb_frame.f_code.co_filename != script:
        frame = frame.tb_next
    traceback.print_exception(error.with_traceback(frame))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
