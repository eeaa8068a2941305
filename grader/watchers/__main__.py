"""The program that the sandbox for hosts starts: it reads a grader.terms.job.Watch, and prints a grader.terms.facts.Result.

python -m grader.watchers JOB CLOCK

Both are files; grader.watchers.clock describes the second one. The script is in the folder of the first one, where
nothing in the sandbox can change it.
"""

import importlib
import json
import sys
from pathlib import Path

import msgspec

from course.hosts import HostsError
from grader.sandbox import limits
from grader.sandbox import syscalls
from grader.terms.job import Watch


def main(job_file: Path, clock: Path) -> None:
    """Watch the script of a job on the hosts of one cluster."""
    limits.apply()
    syscalls.forbid()
    job = msgspec.json.decode(job_file.read_bytes(), type=Watch)
    watcher = importlib.import_module(f"grader.watchers.{job.watcher}")
    try:
        seen = watcher.watch(job.scenario, job_file.with_name(job.name), clock)
    except HostsError as error:
        sys.exit(str(error))
    json.dump(msgspec.to_builtins(seen), sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
