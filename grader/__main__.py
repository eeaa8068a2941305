"""The judge's command line: python -m grader check, watch or batch."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext, suppress
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from course import steps
from course.internal import namespaces
from grader.checks import ending
from grader.hunt.commands import hunt
from grader.report import github, head, junit, markdown, text
from grader.runner.pool import Pool
from grader.sandbox import policy
from grader.terms.report import Report

EXIT = {"passed": 0, "failed": 1, "needs_review": 1, "not_graded": 2}


@click.group()
def main() -> None:
    """Judge scripts by what they do under several ranks."""


@main.command()
@click.option("--step", "number", type=steps.number, required=True, help="The script's step, such as 3 or capstone_1.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--junit", "junit_file", type=click.Path(path_type=Path), help="Write the report as JUnit XML, too.")
@click.option("--github", "for_github", is_flag=True, help="Print annotations for GitHub Actions, and write a summary.")
@click.argument("file")
def check(number: int, as_json: bool, junit_file: Path | None, for_github: bool, file: str) -> None:
    """Judge one script. Exits with 0 passed, 1 failed or for review, 2 not graded or a report not written."""
    if as_json and for_github:
        raise click.UsageError("--json prints one object and nothing else, so --github cannot print annotations.")
    console = Console(stderr=as_json, highlight=False)
    before = head.read(file, number)  # the file as it is judged
    with github.without_commands() if for_github else nullcontext():
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
    try:
        _write_reports(report, junit_file, for_github)
    except OSError as error:
        click.echo(f"The verdict is above, but {error.filename} cannot be written: {error.strerror}.", err=True)
        sys.exit(EXIT["not_graded"])
    sys.exit(EXIT[report.status])


def _write_reports(report: Report, junit_file: Path | None, for_github: bool) -> None:
    """Write the report for other programs: as JUnit XML, and for GitHub Actions.

    Raises:
        OSError: a file cannot be written.
    """
    if for_github:
        for command in github.commands(report, Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())):
            click.echo(command)
    if junit_file:
        junit_file.write_bytes(junit.document(report))
    summary = os.environ.get("GITHUB_STEP_SUMMARY")  # a file of this job, which other steps write to as well
    if for_github and summary:
        with Path(summary).open("a", encoding="utf-8") as page:
            page.write(markdown.page(report))


def _judge(number: int, file: str, console: Console) -> Report:
    with Pool() as pool:  # which imports TensorFlow while this process does what else is to do
        from grader.judge import judge

        why_not = policy.available()
        if why_not:
            pool.sandboxed = False
            console.print(
                f"No sandbox can be made here ({why_not}): the script runs unprotected. Check only what you trust. "
                f"{namespaces.PERMIT}"
            )
        return judge(file, number, pool, figure=False)


@main.command("watch")
@click.option("--step", "number", type=steps.number, required=True, help="The step, such as 3 or capstone_1.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def watch_file(number: int, file: Path) -> None:
    """Check FILE whenever it is saved, until Ctrl-C is pressed."""
    from grader import watch

    with suppress(KeyboardInterrupt):
        watch.run(watch.of_step(number, file), Console(highlight=False), file)


@main.command()
@click.option("--step", "number", type=steps.number, required=True, help="The step that the scripts are for.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Scripts judged side by side.")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
def batch(number: int, jobs: int, directory: Path) -> None:
    """Judge every script below DIRECTORY, in a sandbox or not at all. Prints one JSON object per line."""
    why_not = policy.available()
    if why_not:
        raise click.ClickException(
            f"No sandbox can be made here ({why_not}), and others' scripts are run in nothing less. {namespaces.PERMIT}"
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
            f"There is no script of {steps.label(number)} below {directory}: no file ends with {suffix}."
        )
    with Pool() as pool, ThreadPoolExecutor(jobs) as threads, Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("judging", total=len(files))
        judgements = [threads.submit(judge, file, number, pool) for file in files]
        for judgement in as_completed(judgements):
            click.echo(judgement.result().to_json())
            progress.advance(task)


main.add_command(hunt)

if __name__ == "__main__":
    main()
