"""A report for GitHub Actions: workflow commands, which its runner turns into annotations at the lines of the script.

The runner looks for commands in each line that a job prints, and a report quotes texts that a learner chose. In a
command they are escaped; a report for people is printed where the runner follows no commands.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from grader.terms.report import Outcome, Report

DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})  # escapes in a message, as GitHub's own toolkit makes them
PROPERTY = DATA | str.maketrans({":": "%3A", ",": "%2C"})  # in a property, whose end these would be


def commands(report: Report, workspace: Path) -> list[str]:
    """Return one workflow command per failed check, per check without a verdict, and per remark.

    Args:
        report: the judgement.
        workspace: the folder that the paths of annotations are relative to.
    """
    file = _relative(report.file, workspace)
    found = [
        _command(_level(report, outcome), file, outcome.line, outcome.name, _message(outcome))
        for outcome in report.checks
        if outcome.status in ("failed", "error")
    ]
    return found + [_command("notice", file, remark.line, "Remark", remark.text) for remark in report.remarks]


@contextmanager
def without_commands() -> Iterator[None]:
    """Let the runner follow no commands in what is printed inside, to standard output or to standard error."""
    token = secrets.token_hex(16)  # nothing that is printed inside can contain it
    click.echo(f"::stop-commands::{token}")
    try:
        yield
    finally:
        click.echo(f"::{token}::")


def _level(report: Report, outcome: Outcome) -> str:
    """Return how severe an outcome is shown: a check without a verdict is an error where there is no verdict at all."""
    return "error" if outcome.status == "failed" or report.status == "not_graded" else "warning"


def _message(outcome: Outcome) -> str:
    return f"{outcome.message}\nHint: {outcome.hint}" if outcome.hint else outcome.message


def _relative(file: str, workspace: Path) -> str:
    """Return a file's path relative to the workspace, or as it was given if it is somewhere else."""
    path = Path(os.path.abspath(file))  # noqa: PTH100  links stay: the annotation is for the name in the repository
    return str(path.relative_to(workspace)) if path.is_relative_to(workspace) else file


def _command(level: str, file: str, line: int | None, title: str, message: str) -> str:
    properties = {"file": file, "line": str(line or ""), "title": title}
    shown = ",".join(f"{name}={value.translate(PROPERTY)}" for name, value in properties.items() if value)
    return f"::{level} {shown}::{message.translate(DATA)}"
