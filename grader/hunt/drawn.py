"""Endless cases: a mutant of a solution, drawn by a seed, of which the judge has proved that it is wrong.

The number of such a case is its seed, from FIRST on. A seed always gives the same mutants in the same order; which of
them the judge has found wrong is kept in the folder of the case.
"""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from course import launch, steps
from course.hunt import cases
from course.hunt.cases import STEP_COMMENT, Case, Cause, Change, Diagnosis, Job
from course.steps import Step
from grader import mutants
from grader.judge import judge
from grader.mutants import Mutant
from grader.mutants.mutators import MUTATORS
from grader.runner.pool import NoVerdictError, Pool

FIRST = 1000
STEPS = 1, 2, 3, 4, 5, 6, 13
TRIES = 12  # mutants that are judged until one is found wrong: some do what the solution does
CHOICES = 5  # causes to choose from
KEPT = ".seed.json"
JOBS = {
    "fashion_mnist.py": Job(np=2, flags={**launch.PROFILES["cpu"], "epochs": 2, "train_samples": 512}),
    "mnist_multi_worker.py": Job(tasks=["worker:2=mnist_multi_worker.py --epochs 2"]),
}
TICKET = """\
From: {name}, to: whom it may concern

Since last night, `{script}` no longer does what it did. Somebody changed one place, and the history is lost.
It is the program after {step} of the course. Run it, compare the ranks, and find the place.
"""
PEOPLE = "Ada", "Bao", "Chidi", "Dana", "Emre", "Farah"


class Kept(Struct):
    """The mutant of a seed."""

    step: int
    id: str


def find(number: int) -> Case:
    """Return a case: of the course, or of a seed that a case was made of.

    Raises:
        KeyError: there is none of this number.
    """
    if number < FIRST:
        return cases.get(number)
    try:
        kept = msgspec.json.decode((_folder(number) / KEPT).read_bytes(), type=Kept)
        mutant = next(each for each in mutants.of(steps.get(kept.step)) if each.id == kept.id)
    except (OSError, msgspec.MsgspecError, KeyError, StopIteration):
        raise KeyError(f"There is no hunt {number} yet. Make it: python -m course hunt start --seed {number}") from None
    return _case(number, mutant)


def make(seed: int, pool: Pool, begins: Callable[[str], object] = lambda cluster: None) -> Case:
    """Return the case of a seed, made now if it is not there yet.

    Args:
        seed: a number from FIRST on.
        pool: where to prove that the program is wrong.
        begins: called with the description of a cluster when the program starts there.

    Raises:
        NoVerdictError: the judge found none of its mutants wrong.
    """
    try:
        return find(seed)
    except KeyError:
        pass
    for mutant in _drawn(seed):
        if is_wrong(mutant, pool, begins):
            _folder(seed).mkdir(parents=True, exist_ok=True)
            (_folder(seed) / KEPT).write_bytes(msgspec.json.encode(Kept(mutant.step, mutant.id)))
            return _case(seed, mutant)
    raise NoVerdictError(f"The seed {seed} gives no case: take another one.")


def is_wrong(mutant: Mutant, pool: Pool, begins: Callable[[str], object] = lambda cluster: None) -> bool:
    """Return whether a mutant runs to its end and fails a check. One that Python reports needs no hunt."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(steps.get(mutant.step).script).name
        path.write_text(STEP_COMMENT.sub("", mutant.text))
        report = judge(path, mutant.step, pool, figure=False, begins=begins)
    failure = report.first_failure
    return report.status == "failed" and failure is not None and failure.max_points > 0


def _folder(seed: int) -> Path:
    return cases.WORK / str(seed)


def _drawn(seed: int) -> list[Mutant]:
    """Return the mutants of a seed, in the order in which they are tried."""
    draw = random.Random(seed)
    step = steps.get(draw.choice(STEPS))
    return draw.sample(mutants.of(step), TRIES)


def _case(seed: int, mutant: Mutant) -> Case:
    """Return a mutant as a case."""
    step, draw = steps.get(mutant.step), random.Random(seed)
    works, broken = (STEP_COMMENT.sub("", text) for text in (step.solution.read_text(), mutant.text))
    names = draw.sample([name for name in MUTATORS if name != mutant.mutator], CHOICES - 1)
    names.insert(draw.randrange(CHOICES), mutant.mutator)
    script = Path(step.script).name
    return Case(
        title="Since last night",
        part=_part(step),
        difficulty=2,
        diagnosis=Diagnosis(who=[], cause=_word(mutant.mutator)),
        causes={_word(name): Cause(_says(name), _because(name, mutant)) for name in names},
        hints=[
            "Run the job, and compare the ranks: what they print, their weights, their number of steps.",
            f"The change is in what {step.label} or a step before it adds to the program.",
            f"Somebody did this: {_says(mutant.mutator)}.",
        ],
        job=JOBS[script],
        changes=[Change(works, broken)],
        judged=step.short,
        name=str(seed),
        told=TICKET.format(name=draw.choice(PEOPLE), script=script, step=step.label),
    )


def _part(step: Step) -> str:
    return next(part.title for part, those in steps.by_part() if step in those)


def _word(name: str) -> str:
    return name.replace(" ", "_")


def _says(name: str) -> str:
    """Return what a mutator does, from its docstring."""
    text = (MUTATORS[name].__doc__ or "").strip().removesuffix(".")
    return text[:1].lower() + text[1:]


def _because(name: str, mutant: Mutant) -> str:
    return f"It was: {mutant.before}" if name == mutant.mutator else "Nothing of this kind was done."
