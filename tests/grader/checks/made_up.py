"""Made-up runs of a script that does all that is asked for, and what checks find once these are changed."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from msgspec.structs import replace

from grader.checks import CHECKS
from grader.reading.parsing import Source
from grader.terms.findings import Finding, Untold
from grader.terms.runs import Runs


def find(judge, runs, expected, source):
    """Return what the function of a check finds, with the line that a report has; None if the check is passed."""
    finding = judge(runs, expected, source)
    check = next(check for check in CHECKS if check.judge is judge)
    return finding and replace(finding, line=check.decide(finding, source).line)


@dataclass(frozen=True)
class MadeUp:
    """A script that does all that is asked for."""

    solved: Callable[[], Runs]  # makes its runs, which are the solution's, too
    source: Source

    def find(self, judge, *changes, source=None):
        """Return what the function of a check finds in changed runs; a change is a function of them, or a tuple."""
        runs = self.solved()
        for change in changes:
            for each in change if isinstance(change, tuple) else (change,):
                each(runs)
        return find(judge, runs, self.solved(), source or self.source)

    def fails(self, judge, change, message):
        """Assert that a check fails after a change, with these words in its message, and return what it finds."""
        found = self.find(judge, change)
        assert type(found) is Finding and message in found.message, found
        return found

    def is_not_checked(self, judge, change, message):
        """Assert that a check says after a change that the runs do not show what is asked for, and why not."""
        found = self.find(judge, change)
        assert type(found) is Untold and message in found.message, found


def rows(by_check):
    """Return rows for a test's parameters: each check with each of its own values."""
    return [(check, *row) for check, own in by_check.items() for row in own]


def of(cluster, *numbers, **values):
    """Return a change of some ranks of a cluster, or of all.

    Values are set where a rank has a field of that name: in what was seen of it, in its facts, or in what these hold of
    its files, of its first training, or of the first run of a script for several hosts.
    """

    def change(runs):
        for rank in _ranks(runs, cluster, numbers):
            held = [getattr(rank.facts, name, None) for name in ("files", "first")]
            for name, value in values.items():
                holders = rank, rank.facts, *held, *getattr(rank.facts, "fits", [])[:1]
                setattr(next(each for each in holders if hasattr(each, name)), name, value)

    return change


def of_fit(cluster, *numbers, **values):
    """Return a change of the first training of some ranks of a cluster, or of all."""

    def change(runs):
        for rank, (name, value) in product(_ranks(runs, cluster, numbers), values.items()):
            setattr(rank.facts.fits[0], name, value)

    return change


def _ranks(runs, cluster, numbers):
    ranks = (runs.clusters | runs.reserved)[cluster]
    return [ranks[number] for number in numbers] or ranks
