"""The judge's command line: python -m grader check for a script, python -m grader batch for all below a folder."""

import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from course import steps
from grader.checks import ending
from grader.report import head, text
from grader.runner.pool import Pool
from grader.sandbox import policy
from grader.terms.report import Report

EXIT = {"passed": 0, "failed": 1, "needs_review": 1, "not_graded": 2}


@click.group()
def main() -> None:
    """Judge scripts by what they do under several ranks."""


@main.command()
@click.option("--step", "number", type=steps.number, required=True, help="The step that the script is for.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.argument("file")
def check(number: int, as_json: bool, file: str) -> None:
    """Judge one script. Exits with 0 passed, 1 failed or for review, 2 not graded."""
    console = Console(stderr=as_json, highlight=False)
    before = head.read(file, number)  # the file as it is judged
    try:
        report = _judge(number, file, console)
    except Exception as error:  # such as a full disk: a program that calls this one gets its object all the same
        report = Report(number, file, "not_graded")
        report.checks = [ending.outcome("error", number, f"The grader could not start: {error}")]
    if as_json:
        click.echo(report.to_json())
    else:
        text.show_head(before, console)
        text.show(report, console)
    sys.exit(EXIT[report.status])


def _judge(number: int, file: str, console: Console) -> Report:
    with Pool() as pool:  # which imports TensorFlow while this process does what else is to do
        from grader.judge import judge

        why_not = policy.available()
        if why_not:
            pool.sandboxed = False
            console.print(
                f"No sandbox can be made here ({why_not}): the script runs unprotected. Check only what you trust."
            )
        return judge(file, number, pool, figure=False)


@main.command()
@click.option("--step", "number", type=steps.number, required=True, help="The step that the scripts are for.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Scripts judged side by side.")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
def batch(number: int, jobs: int, directory: Path) -> None:
    """Judge every script below DIRECTORY, in a sandbox or not at all. Prints one JSON object per line."""
    why_not = policy.available()
    if why_not:
        raise click.ClickException(
            f"No sandbox can be made here ({why_not}), and others' scripts are run in nothing less."
        )
    from grader import checks
    from grader.classroom.archives import JUNK
    from grader.judge import judge

    try:
        checks.of(number)
    except checks.NoCheckError as error:
        raise click.ClickException(str(error)) from None
    suffix = Path(steps.get(number).script).suffix
    files = [
        path
        for path in sorted(directory.rglob(f"*{suffix}"))
        if path.is_file() and not any(JUNK.fullmatch(part) for part in path.relative_to(directory).parts)
    ]
    if not files:
        raise click.ClickException(
            f"There is no script of step {number} below {directory}: no file ends with {suffix}."
        )
    with Pool() as pool, ThreadPoolExecutor(jobs) as threads, Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("judging", total=len(files))
        judgements = [threads.submit(judge, file, number, pool) for file in files]
        for judgement in as_completed(judgements):
            click.echo(judgement.result().to_json())
            progress.advance(task)


if __name__ == "__main__":
    main()
