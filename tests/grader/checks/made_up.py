"""Made-up runs of a script that does all that is asked for, and what checks find once these are changed."""

from collections.abc import Callable
from dataclasses import dataclass

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

    def fails(self, judge, change, line, message):
        """Assert that a check fails after a change, with this line, and with these words in its message."""
        found = self.find(judge, change)
        assert type(found) is Finding and message in found.message, found
        assert found.line == line

    def is_not_checked(self, judge, change, message):
        """Assert that a check says after a change that the runs do not show what is asked for, and why not."""
        found = self.find(judge, change)
        assert type(found) is Untold and message in found.message, found


def rows(by_check):
    """Return rows for a test's parameters: each check with each of its own values."""
    return [(check, *row) for check, own in by_check.items() for row in own]


def of(cluster, *numbers, **values):
    """Return a change of some ranks of a cluster, or of all.

    Values are set where a rank has a field of that name: in what was seen of it, in its facts, in its files or in its
    first training.
    """

    def change(runs):
        ranks = (runs.clusters | runs.reserved)[cluster]
        for rank in [ranks[number] for number in numbers] or ranks:
            for name, value in values.items():
                holders = rank, rank.facts, getattr(rank.facts, "files", None), *getattr(rank.facts, "fits", [])[:1]
                setattr(next(each for each in holders if hasattr(each, name)), name, value)

    return change
