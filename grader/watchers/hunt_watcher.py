"""Watches the job of a case of the hunt: how it ends, and the result that its program prints as a line of JSON.

A script may print any result. What a learner wins by that is a pass that they have written themselves.
"""

import contextlib
import json
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course.hosts.cluster import Cluster
from course.hunt import play
from course.hunt.cases import Case, cases
from grader.terms.job import Result
from grader.terms.watched_facts import HuntFacts
from grader.watchers.clock import Clock
from grader.watchers.head_script import HeadScript

LONGEST = 2000  # characters of a line that are read


@dataclass(frozen=True)
class Situation:
    """The hosts of a case, and what happens to them."""

    case: Case

    @property
    def slots(self) -> dict[str, int]:
        """The slots of each host."""
        return self.case.job.slots

    @property
    def hosts(self) -> dict[str, Any]:
        """Further options of course.hosts.up()."""
        return {"rate": self.case.job.rate}


SITUATIONS = {case.name: Situation(case) for case in cases().values() if case.proof}


def watch(cluster: Cluster, situation: Situation, script: Path, clock: Path) -> Result:
    """Start the job with a learner's file, and return how it ended, with HuntFacts.

    Args:
        cluster: the hosts, which are up.
        situation: of the case.
        script: the file.
        clock: see grader.watchers.clock.
    """
    case = situation.case
    with tempfile.TemporaryDirectory() as folder:
        for path in (*case.folder.glob("given/*"), script):
            shutil.copy(path, folder)
        faults = play.prepare(cluster, case, Path(folder))
    started = HeadScript(cluster, play.command(case), case.job.variables)

    def over() -> bool:
        faults.saw(started.printed.decode(errors="replace"))
        return started.over

    Clock(clock, case.job.seconds).until(over)
    started.end()
    return started.result(HuntFacts(_result(started.printed.decode(errors="replace"))))


def _result(printed: str) -> dict[str, Any]:
    """Return the JSON object of the last line that has one, if any does.

    Other text may stand next to it: programs on several hosts share an output, and a line and its end may come apart.
    """
    for line in reversed(printed.splitlines()):
        line = line[:LONGEST]
        for begin in re.finditer("{", line):
            with contextlib.suppress(ValueError, RecursionError):
                return json.JSONDecoder().raw_decode(line, begin.start())[0]
    return {}
