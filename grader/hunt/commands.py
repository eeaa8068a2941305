"""The hunt's command line: python -m course hunt list, start, run, check, watch, hint and reset."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import click
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from course import steps
from course.hosts.cluster import HostsError
from course.hunt import cases, desk, play, tickets
from course.hunt.cases import DIAGNOSIS, Case
from course.internal import namespaces
from course.internal.failures import RunError
from grader.hunt import in_terminal, proving
from grader.hunt.checking import check as check_files
from grader.mutants import drawn
from grader.reading.parsing import NoScriptError, UnreadableError
from grader.runner.pool import NoVerdictError, Pool
from grader.sandbox import policy


class _Number(click.ParamType):
    """The number of a case."""

    name = "NUMBER"

    def convert(self, value: str | Case, param: click.Parameter | None, ctx: click.Context | None) -> Case:
        """Return the case."""
        try:
            return value if isinstance(value, Case) else drawn.find(int(value))
        except ValueError:
            self.fail(f"'{value}' is not a number.", param, ctx)
        except KeyError as error:
            self.fail(error.args[0], param, ctx)


@click.group()
def hunt() -> None:
    """Diagnose broken jobs, and mend them."""


@hunt.command("list")
def list_cases() -> None:
    """Show all cases, and what you have done with them."""
    console = Console(highlight=False)
    table = Table("Hunt", "Symptom", "Difficulty", "Your progress", box=None, pad_edge=False)
    for part in steps.PARTS:
        own = [case for case in cases.cases().values() if case.part == part.title]
        if own:
            table.add_row("", f"[bold]{part.title[:1].upper()}{part.title[1:]}[/]")
        for case in own:
            table.add_row(str(case.number), case.title, tickets.difficulty(case), tickets.done(case))
    console.print(table)
    console.print("\nTake one: python -m course hunt start 1. Have one made: python -m course hunt start --seed 2024")


@hunt.command()
@click.argument("case", type=_Number(), required=False)
@click.option("--seed", type=click.IntRange(drawn.FIRST), help="Make a new case, a mistake in a solution.")
def start(case: Case | None, seed: int | None) -> None:
    """Show the ticket of a case, and put its files into a folder of yours."""
    if (case is None) == (seed is None):
        raise click.UsageError("Give the number of a case, or --seed with a number of your choice.")
    console = Console(highlight=False)
    if seed is not None:
        with _pool(console) as pool, console.status("A mistake is made, and the judge proves that it is one"):
            try:
                case = proving.make(seed, pool)
            except NoVerdictError as error:
                raise click.ClickException(str(error)) from None
    assert case
    tickets.begin(case)
    console.print(Markdown(f"# {case.label.capitalize()}: {case.title}\n\n{case.ticket}"))
    folder = case.work.relative_to(steps.ROOT)
    console.print(f"\nYour files are in {folder}/. Mend {case.script}, and write your diagnosis into {DIAGNOSIS}.")
    for what in ("run", "check", "hint"):
        console.print(f"  python -m course hunt {what} {case.number}", style="bright_black")


@hunt.command()
@click.argument("case", type=_Number())
def run(case: Case) -> None:
    """Run the job of a case with your files, as its ticket says."""
    desk.start(case)
    try:
        play.run(case, click.echo)
    except RunError as error:
        sys.exit(f"\nThe job failed. {error.reason if case.job.slots else ''}".rstrip())
    except HostsError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. All processes have ended.")


@hunt.command()
@click.argument("case", type=_Number())
def check(case: Case) -> None:
    """Judge your diagnosis and your repair, each by itself. Exits with 0 if both are right."""
    console = Console(highlight=False)
    desk.start(case)
    try:
        with _pool(console) as pool, console.status("The check is getting ready") as status:
            verdict = check_files(case, pool, lambda where: status.update(f"The job is running ({where})"))
    except (UnreadableError, NoScriptError) as error:
        sys.exit(f"{DIAGNOSIS}: {error}")
    in_terminal.verdict(verdict, console)
    sys.exit(0 if verdict.solved else 1)


@hunt.command("watch")
@click.argument("case", type=_Number())
def watch_files(case: Case) -> None:
    """Check your files whenever one is saved, until Ctrl-C is pressed."""
    from grader import watch

    desk.start(case)
    with suppress(KeyboardInterrupt):
        watch.run(watch.of_hunt(case), Console(highlight=False), case.work / case.script, case.work / DIAGNOSIS)


@hunt.command()
@click.argument("case", type=_Number())
def hint(case: Case) -> None:
    """Take the next hint. Each of the three costs a point."""
    number, text = desk.hint(case)
    click.echo(f"Hint {number} of {desk.HINTS}: {text}")


@hunt.command()
@click.argument("case", type=_Number())
def reset(case: Case) -> None:
    """Begin a case again. Your files are kept as backups, and your hints stay taken."""
    saved = desk.reset(case)
    kept = f" Yours are kept as {', '.join(saved)}." if saved else ""
    click.echo(f"The files of {case.label} are as in the ticket.{kept}")


@contextmanager
def _pool(console: Console) -> Iterator[Pool]:
    """Give a pool; without a sandbox, where none can be made."""
    with Pool() as pool:
        if why_not := policy.available():
            pool.sandboxed = False
            console.print(f"No sandbox can be made here ({why_not}): your files run unprotected. {namespaces.PERMIT}")
        yield pool
