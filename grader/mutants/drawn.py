"""Endless cases: mutants of a solution, drawn by a seed, of which the judge has proved one wrong: see proving.

The number of such a case is its seed, from FIRST on. A seed always gives the same mutants in the same order; which of
them the judge has found wrong is kept in the folder of the case.
"""

import contextlib
import random
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from course import launch, steps
from course.hunt import cases
from course.hunt.cases import STEP_COMMENT, Case, Cause, Change, Diagnosis, Job
from course.steps import Step
from grader import mutants
from grader.mutants import Mutant
from grader.mutants.mutators import MUTATORS

FIRST = 1000
OF_DRILL = 1, 2, 3, 4, 5, 6
STEPS = *OF_DRILL, 13
DRAWN = 12  # mutants of a seed: some do what the solution does, and are no cases
CHOICES = 5  # causes to choose from
ALIKE = (
    {"moved", "moved far", "moved out", "moved in", "other callback order", "swapped arguments"},
    {"deleted", "dropped argument", "dropped element", "peeled", "one operand"},
    {"under a condition", "without its head", "other choice", "moved in", "moved out"},
    {"other constant", "other name", "other rank", "other flag", "other data"},
)
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
    mutant = kept(number)
    if mutant is None:
        raise KeyError(f"There is no hunt {number} yet. Make it: python -m course hunt start --seed {number}")
    return of_mutant(number, mutant)


def kept(seed: int) -> Mutant | None:
    """Return the mutant of a seed that the judge has found wrong; None if no case was made of the seed yet."""
    with contextlib.suppress(OSError, msgspec.MsgspecError, KeyError):
        found = msgspec.json.decode((_folder(seed) / KEPT).read_bytes(), type=Kept)
        return next((each for each in mutants.of(steps.get(found.step)) if each.id == found.id), None)
    return None


def keep(seed: int, mutant: Mutant) -> None:
    """Keep which mutant of a seed the judge has found wrong."""
    _folder(seed).mkdir(parents=True, exist_ok=True)
    (_folder(seed) / KEPT).write_bytes(msgspec.json.encode(Kept(mutant.step, mutant.id)))


def _folder(seed: int) -> Path:
    return cases.WORK / str(seed)


def candidates(seed: int, numbers: Sequence[int] = STEPS) -> list[Mutant]:
    """Return the mutants of a seed, in the order in which they are tried.

    Args:
        seed: a number.
        numbers: the steps of whose solutions one is taken.
    """
    draw = random.Random(seed)
    step = steps.get(draw.choice(numbers))
    return draw.sample(mutants.of(step), DRAWN)


def of_mutant(seed: int, mutant: Mutant) -> Case:
    """Return a mutant as a case."""
    step, draw = steps.get(mutant.step), random.Random(seed)
    works, broken = (STEP_COMMENT.sub("", text) for text in (step.solution.read_text(), mutant.text))
    names = draw.sample([name for name in MUTATORS if not _alike(name, mutant.mutator)], CHOICES - 1)
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


def _alike(one: str, other: str) -> bool:
    """Whether two mutators are one, or could be said of the same change."""
    return one == other or any(one in family and other in family for family in ALIKE)


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
