"""A part: the steps that take one program from its first form to its last, and a check for each thing they ask for.

A check is a function, as in check50: its docstring is the line that the learner reads, its result is None where a
script does what the step asks for, and otherwise a Finding. It compares what the script did with what the step's
solution did on the same clusters. A step has as many checks as its exercise has items.
"""

import functools
from bisect import insort
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic

from course import steps
from course.steps import Step
from grader.checks import ending
from grader.reading import parsing
from grader.reading.parsing import Enclosed, Source
from grader.terms.clusters import AnyCluster
from grader.terms.findings import Finding, Unclear, Untold, not_until
from grader.terms.report import Outcome, OutcomeStatus
from grader.terms.runs import Facts, Runs

NOT_RUN = Untold(seen="the program does not run").message
POINTS = 10  # of a step's checks together


Judge = Callable[[Runs[Facts], Runs[Facts], Source], Finding | None]


@dataclass(frozen=True)
class Check(Generic[Facts]):
    """One thing that a step asks for."""

    step: Step
    description: str  # in one line, for the learner; no two checks of a part have the same
    judge: Judge[Facts]
    hint: str  # what to try where it is missing
    points: int = POINTS  # for a script that passes; those of a step's checks are POINTS together
    asks: tuple[str, ...] = ()  # phrases of the lesson that ask for it, as they stand there
    # Names in a script: the line of the first one that it has goes with a finding that has no line.
    look_at: tuple[str, ...] = ()
    needs: tuple[Judge[Facts], ...] = ()  # the functions of checks that have to pass before this one can be judged
    clusters: tuple[AnyCluster, ...] = ()  # to run a script on from this step on; none: those of the step before
    references: tuple[AnyCluster, ...] = ()  # further ones, which the solution alone runs on
    figure: str | None = None  # of what the ranks did, to go with a failure: a function in grader.report.figures
    # Whether a failure leaves nothing to see for the checks that need this one.
    blocks: Callable[[Runs[Facts]], bool] = lambda runs: True

    def outcome(self, status: OutcomeStatus, message: str, line: int | None = None) -> Outcome:
        """Return the outcome of this check."""
        points = self.points if status == "passed" else 0
        hint = self.hint if status == "failed" else ""
        return Outcome(self.description, self.step.number, status, points, self.points, message, hint, line)

    def decide(self, found: Finding | None, source: Source) -> Outcome:
        """Return the outcome for what the judge of this check found."""
        if found is None:
            return self.outcome("passed", "Correct.")
        if isinstance(found, Untold):
            return self.outcome("skipped", found.message, found.line)
        status: OutcomeStatus = "error" if isinstance(found, Unclear) else "failed"
        return self.outcome(status, found.message, found.line or source.line_of(*self.look_at))


@dataclass
class Part(Generic[Facts]):
    """The steps of one program, whose file name is the same in each of them."""

    script: str  # the learner's file
    facts: type[Facts]  # that its ranks report
    checks: list[Check[Facts]] = field(default_factory=list)  # by step, then as defined
    read: Callable[[str], Source] = parsing.read_training  # raises NoScriptError where it is not such a script
    # Returns the program in a file of answers that has one, to be judged by another step's checks.
    enclosed: Callable[[Source], Enclosed | None] = lambda source: None
    # Returns the outcome of how a script ended, by its runs, the step, the time limit and its text.
    ended: Callable[[Runs[Facts], int, float, str], Outcome] = ending.judge
    whole: str = ending.RUNS  # the name of that outcome, in one line for the learner
    not_run: str = NOT_RUN  # what the checks say where that has failed

    def check(self, number: int, **fields: Any) -> Callable[[Judge[Facts]], Judge[Facts]]:
        """Return a decorator that makes a function a check of a step, with these fields of Check."""

        def add(judge: Judge[Facts]) -> Judge[Facts]:
            description = (judge.__doc__ or "").partition("\n")[0].removesuffix(".")
            check = Check(steps.get(number), description, judge, **fields)
            insort(self.checks, check, key=lambda other: other.step.number)
            return judge

        return add

    def adopt(
        self,
        other: "Part[Facts]",
        numbers: Collection[int],
        instead: Mapping[Judge[Facts], Judge[Facts] | None],
        on: Collection[str] = (),
        needs: Mapping[Judge[Facts], tuple[Judge[Facts], ...]] | None = None,
    ) -> Mapping[Judge[Facts], Judge[Facts]]:
        """Take over another part's checks of some steps, for this part's program, but for those that have others.

        Returns by the function of each check of theirs the one that it has here, for checks that need it.

        Args:
            other: the part.
            numbers: the steps.
            instead: for each function of a check that is left out, that of this part's own check in its place, if any.
            on: the names of the clusters that these checks are about; all, if none is named.
            needs: for functions of theirs, those of this part's own checks that have to pass first.
        """
        new = dict(instead)
        for check in other.checks:
            if check.step.number in numbers and check.judge not in instead:
                judge = new[check.judge] = _on(check.judge, on) if on else check.judge
                own = (needs or {}).get(check.judge, ())
                theirs = tuple(needed for each in check.needs if (needed := new.get(each, each)))
                adopted = replace(check, judge=judge, needs=own + theirs, clusters=(), references=())
                insort(self.checks, adopted, key=lambda other: other.step.number)
        return {theirs: ours for theirs, ours in new.items() if ours}

    def up_to(self, number: int) -> list[Check[Facts]]:
        """Return the checks of the steps up to this one."""
        return [check for check in self.checks if check.step.number <= number]

    def of(self, number: int) -> list[Check[Facts]]:
        """Return the checks of a step of this part."""
        return [check for check in self.checks if check.step.number == number]

    def clusters(self, number: int) -> tuple[AnyCluster, ...]:
        """Return the clusters that a script for a step runs on; none if the file is no program."""
        return next((check.clusters for check in reversed(self.up_to(number)) if check.clusters), ())

    def references(self, number: int) -> tuple[AnyCluster, ...]:
        """Return further clusters, which the solution of a step alone runs on."""
        return next(check.references for check in reversed(self.up_to(number)) if check.clusters)

    def figure(self, outcome: Outcome | None) -> str | None:
        """Return the figure that goes with the outcome of a check of this part; None with any other."""
        return next((check.figure for check in self.checks if outcome and check.description == outcome.name), None)

    def compare(
        self, number: int, runs: Runs[Facts], expected: Runs[Facts], source: Source
    ) -> tuple[list[Outcome], bool]:
        """Return the outcomes of the checks up to a step, in order, and whether one explains why the program fails."""
        checks = self.up_to(number)
        nothing_ran = self.clusters(number) and not runs.clusters
        if nothing_ran or not all(rank.reported for rank in runs.ranks()):
            return [check.outcome("skipped", self.not_run) for check in checks], False
        outcomes: list[Outcome] = []
        blocked: dict[Judge[Facts], Check[Facts]] = {}  # by function: a check that cannot be judged or that failed
        explained = False
        for check in checks:
            cause = next((blocked[needed] for needed in check.needs if needed in blocked), None)
            if cause:
                outcomes.append(check.outcome("skipped", _not_until(cause, check.step.number)))
                blocked[check.judge] = cause
                continue
            found = check.judge(runs, expected, source)
            outcomes.append(check.decide(found, source))
            if found:
                explained |= found.explains
                if check.blocks(runs):
                    blocked[check.judge] = check
        return outcomes, explained


def _on(judge: Judge[Facts], clusters: Collection[str]) -> Judge[Facts]:
    """Return the function of a check, for runs of which it is to see some clusters only."""

    @functools.wraps(judge)
    def judge_these(runs: Runs[Facts], expected: Runs[Facts], source: Source) -> Finding | None:
        own = runs.on(clusters)
        if not own.clusters:
            return Untold(seen="the program had to be ended before it ran on this kind of cluster")
        return judge(own, expected.on(clusters), source)

    return judge_these


def _not_until(cause: Check[Facts], number: int) -> str:
    """Say which check has to pass before one of this step can be judged."""
    if cause.step.number < number:
        return not_until(f"{cause.step.label} passes")
    return not_until(f"this passes: {cause.description}")
