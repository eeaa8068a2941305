"""How statuses look, wherever a report is shown: marks, colours and words."""

from grader.terms.report import OutcomeStatus, Report, Status

MARKS: dict[OutcomeStatus, tuple[str, str]] = {
    "passed": ("✓", "green"),
    "failed": ("✗", "red"),
    "skipped": ("-", "bright_black"),
    "error": ("?", "yellow"),
}
VERDICTS: dict[Status, str] = {
    "passed": "Passed",
    "failed": "Not yet",
    "needs_review": "A person has to look at this",
    "not_graded": "Could not be judged",
}


def verdict(report: Report) -> str:
    """Return the verdict and the points, as one line."""
    return f"{VERDICTS[report.status]}: {report.score:g} of {report.max_score:g} points"
