"""The program that the sandbox for hosts starts: it reads a WatchJob, and prints a Result as msgpack: see
grader.terms.job.

python -m grader.watchers JOB CLOCK

Both are files; grader.watchers.clock describes the second one. The script is in the folder of the first one, where
nothing in the sandbox can change it.
"""

import importlib
import sys
from pathlib import Path

import msgspec

from course import hosts
from course.hosts import HostsError
from grader.sandbox import limits, surroundings
from grader.terms.job import WatchJob


def main(job_file: Path, clock: Path) -> None:
    """Make the hosts of a job's situation, and watch the script on them."""
    surroundings.make_repository()
    limits.apply()
    job = msgspec.json.decode(job_file.read_bytes(), type=WatchJob)
    watcher = importlib.import_module(f"grader.watchers.{job.watcher}")
    situation = watcher.SITUATIONS[job.situation]
    slots = situation.slots
    options = situation.hosts if hasattr(situation, "hosts") else watcher.HOSTS
    try:
        with hosts.up(list(slots), slots=list(slots.values()), **options) as cluster:
            seen = watcher.watch(cluster, situation, job_file.with_name(job.name), clock)
    except HostsError as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(msgspec.msgpack.encode(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
