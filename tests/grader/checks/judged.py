"""What a check finds in made-up runs, with the line that a report has."""

from msgspec.structs import replace

from grader.checks import CHECKS


def find(judge, runs, expected, source):
    """Return what the function of a check finds, with the line that goes with it; None if the check is passed."""
    finding = judge(runs, expected, source)
    check = next(check for check in CHECKS if check.judge is judge)
    return finding and replace(finding, line=check.decide(finding, source).line)
