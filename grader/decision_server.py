"""A fork server for decisions: each is made in a fork, in a sandbox, with a limit on time and memory.

A fork reads a grader.deciding.Case as msgpack from a pipe, and writes a Decision, or null, as JSON to another one.
Where it did not get that far, {"ended": exit status or minus a signal} is there instead.
"""

import json
import os
import resource

import msgspec

from grader.deciding import Case, decide, failed
from grader.runner import sandbox, server

SECONDS = 20  # of processor time: a right script's facts take less than one
MEMORY = 2 * 2**30  # bytes of address space


def main() -> None:
    """Import, and fork for each order: {"sandbox": process to enter by, or null}, and pipes for case and decision."""
    server.serve(_fork)


def _fork(message: bytes, pipes: list[int]) -> None:
    if os.fork():
        from grader.report import figures  # noqa: F401  now, so that no later fork has to import matplotlib

        return
    try:
        case, decision = pipes
        sandbox.go_inside(json.loads(message)["sandbox"], decision)
        sandbox.close_all_but(case, decision)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        with os.fdopen(case, "rb") as file:
            given = msgspec.msgpack.decode(file.read(), type=Case)
        try:
            decided = decide(given)
        except (MemoryError, RecursionError):
            decided = failed(given.step, "The ranks reported more than can be judged.")
        with os.fdopen(decision, "wb") as file:
            file.write(msgspec.json.encode(decided))
        os._exit(0)
    finally:
        os._exit(1)


if __name__ == "__main__":
    main()
