"""Judge one script: read it, run it beside the solution, and make the report. The learner's code never runs here."""

import hashlib
import json
import os
import time
from dataclasses import replace
from pathlib import Path

from course import steps
from course.steps import ROOT
from grader import facts, plans, rubric, source
from grader.pool import SECONDS, NoVerdictError, OverrunError, Pool
from grader.report import Check, Report

LARGEST = 200_000  # bytes of a script

# The grader's own text, as this process has it imported: what another version found out is no expectation.
GRADER = "".join(path.read_text() for path in sorted((ROOT / "grader").glob("*.py")))

WORKS = "fit", "evaluate", "SidecarEvaluator"  # a lesson's program calls one of these

UNFINISHED = "Looks right, and counts once the program runs to its end."
RUNS = "The program runs to its end on every rank"


class UnreadableError(Exception):
    """There is no file to read; the message says why."""


class NoScriptError(Exception):
    """The file is not the learner's program; the message, for the learner, says what it is."""


def judge(path: str | Path, number: int, pool: Pool, seconds: float = SECONDS) -> Report:
    """Return the report on a script for a step.

    Args:
        path: the learner's file.
        number: the step.
        pool: where to run it.
        seconds: how long it may take.
    """
    began = time.monotonic()
    report = Report(number, str(path), "not_graded")
    try:
        _judge_text(report, _read(Path(path)), pool, seconds)
    except UnreadableError as error:
        report.checks = [_ending("error", number, f"{path} cannot be read: {error}.")]
    except NoVerdictError as error:
        _untold(report, "error", str(error))
    except (NoScriptError, OverrunError) as error:
        report.status = "failed"
        _untold(report, "failed", str(error))
    except Exception as error:  # whatever broke here is not the learner's doing, and no verdict
        report.status = "not_graded"
        _untold(report, "error", f"The grader broke: {error!r}")
    report.seconds = time.monotonic() - began
    return report


def _read(path: Path) -> str:
    """Return a script's text.

    Raises:
        UnreadableError: there is no such file to read.
        NoScriptError: it is no script.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise UnreadableError(error.strerror or error) from None
    if len(raw) > LARGEST:
        raise NoScriptError(f"The file is larger than {LARGEST // 1000} kB. A script is not.")
    if b"\0" in raw:
        raise NoScriptError("The file is binary, not a Python script.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise NoScriptError(f"The file is not UTF-8 text: see line {line}. Save it as UTF-8.") from None
    if not text.strip():
        raise NoScriptError("The file is empty.")
    return text


def _ending(status: str, number: int, message: str, line: int | None = None) -> Check:
    return Check(RUNS, number, status, 0, 0, message, "", line)


def _untold(report: Report, status: str, message: str, line: int | None = None) -> None:
    """Report why there is nothing to hold the steps' properties against."""
    report.checks = [_ending(status, report.step, message, line)]
    for step in steps.up_to(report.step):
        check = step.check
        report.checks.append(Check(check.description, step.number, "skipped", 0, check.points, rubric.UNTOLD))


def _judge_text(report: Report, text: str, pool: Pool, seconds: float) -> None:
    """Fill in the report on a script.

    Raises:
        NoScriptError: it is another script.
        OverrunError, NoVerdictError: see Pool.run.
    """
    covered = steps.up_to(report.step)
    try:
        read = source.read(text, source.FILES if report.step >= plans.PRODUCTION else frozenset())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        report.status = "failed"
        message = f"The file is not valid Python: {getattr(error, 'msg', None) or error}."
        _untold(report, "failed", message, getattr(error, "lineno", None))
        return
    if not any(map(read.calls, WORKS)):
        raise NoScriptError("The script never calls model.fit: is it another file?")
    topologies = plans.plan(covered)
    expected = expected_runs(covered[-1], topologies, pool)
    report.runs = facts.parse(pool.run(text, covered[-1].script, topologies, seconds), topologies)
    ending = _judge_ending(report.runs, report.step, seconds)
    checks, explained = rubric.judge(covered, report.runs, expected, read)
    if ending.status == "failed" and checks[-1].status == "passed":  # no step is done that breaks the program
        checks[-1] = replace(checks[-1], status="skipped", points=0, message=UNFINISHED)
    report.checks = [*checks, ending] if explained else [ending, *checks]
    statuses = {check.status for check in report.checks}
    if read.suspicious and "failed" not in statuses:
        report.checks.insert(0, _out_of_place(report.step, read))
        statuses.add("error")
    report.status = "failed" if "failed" in statuses else "needs_review" if "error" in statuses else "passed"


def _out_of_place(number: int, read: source.Source) -> Check:
    where = "; ".join(f"line {line} {what}" for line, what in read.suspicious[:5])
    message = f"The script does what no step asks for, so a person has to look at it: {where}."
    name = "Nothing in the script is out of place"
    return Check(name, number, "error", 0, 0, message, "", read.suspicious[0][0])


def _judge_ending(runs: facts.Runs, number: int, seconds: float) -> Check:
    """Say how the ranks ended, by what was seen from outside first."""
    for where, rank in runs.ranks():
        if rank.ended_for == "output":
            return _ending("failed", number, f"{where} prints without end.")
        if rank.ended_for == "memory":
            return _ending("failed", number, f"{where} was ended: the ranks together took too much memory.")
    stalled = _stall(runs)
    if stalled:
        return _ending("failed", number, stalled)
    for where, rank in sorted(runs.ranks(), key=lambda ranked: _is_aftermath(ranked[1])):
        if "is already running here" in (rank.error or ""):  # see course.tf_config; which of them was first is chance
            told = "Two processes do the same task of the cluster: each has an index of its own, and TF_CONFIG has it."
            return _ending("failed", number, told, rank.error_line)
        if rank.error:
            told = rank.error
            if "unrecognized arguments" in rank.stderr:
                told = "the program's arguments are not accepted any more: "
                told += rank.stderr.strip().splitlines()[-1].split("error: ")[-1]
            if "Horovod has been shut down" in told:
                told = "it waits in a collective for a rank that has ended already"
            shown = f"\n{rank.traceback}" if rank.traceback and told == rank.error else ""
            return _ending("failed", number, f"{where} fails: {told}{shown}", rank.error_line)
        if rank.ended_for == "others":
            return _ending("failed", number, f"{where} waits for a rank that has ended already.")
        if rank.ended_for:
            return _ending("failed", number, f"{where} does not end: it was ended after {seconds:g} s.")
        if rank.exit < 0:
            return _ending("failed", number, f"{where} was killed by signal {-rank.exit}.")
        if not rank.reported:
            return _ending("failed", number, f"{where} ends before the program does (exit status {rank.exit}).")
        if rank.exit:
            return _ending("failed", number, f"{where} ends with exit status {rank.exit}.")
        if not rank.fits and not rank.evaluations:
            return _ending("failed", number, f"{where} ends without training.")
    return _ending("passed", number, "As it should be.")


def _is_aftermath(rank: facts.RankFacts) -> bool:
    """Whether a rank's end looks like the consequence of another's."""
    told = rank.error or rank.stderr
    return (
        "Horovod has been shut down" in told
        or "HorovodInternalError" in told
        or "gloo" in told
        or "UnavailableError" in told
        or rank.ended_for == "others"
    )


def _stall(runs: facts.Runs) -> str | None:
    """Say who waits where, if the ranks of a topology wait for each other for good."""
    for ranks in runs.topologies.values():
        if any(rank.ended_for == "stall" for rank in ranks):
            places = [
                f"{rank.name.lower()} {_place(rank)}" for rank in sorted(ranks, key=lambda rank: not rank.collective)
            ]
            return f"The ranks wait for each other for good ({ranks[0].topology}): {', '.join(places)}."
    return None


def _place(rank: facts.RankFacts) -> str:
    if rank.ended_for != "stall":
        return "has ended"
    return f"is in {rank.collective}" if rank.collective else "never gets to a collective"


def expected_runs(step: steps.Step, topologies: tuple[plans.Topology, ...], pool: Pool) -> facts.Runs:
    """Return what the step's solution does, from the store if it has been run before, as it is, by this grader."""
    text = step.solution.read_text()
    key = hashlib.sha256(f"{text}{GRADER}{topologies}".encode()).hexdigest()
    store = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "distributed-training-course"
    kept = store / f"{key}.json"
    if kept.exists():
        answer = json.loads(kept.read_text())
    else:
        answer = pool.run(text, step.script, topologies)
        for where, rank in facts.parse(answer, topologies).ranks():
            if rank.exit or not rank.reported:
                raise NoVerdictError(f"{where}: the solution itself did not run: {rank.error or rank.stderr[-2000:]}")
        store.mkdir(parents=True, exist_ok=True)
        partial = kept.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(answer))
        partial.replace(kept)
    return facts.parse(answer, topologies)
