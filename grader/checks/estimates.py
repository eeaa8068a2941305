"""The part of estimates.toml, step 23: six questions about a training on many GPUs, whose numbers a seed draws.

The file is not run. Its numbers are compared with those of course.scaling.questions for the seed that it names.
"""

from course import steps
from course.scaling import questions
from course.scaling.questions import Question
from grader.checks import answer_file
from grader.reading.form import Form
from grader.reading.parsing import Source
from grader.terms.facts import NoFacts
from grader.terms.findings import Finding
from grader.terms.runs import Runs

STEP = steps.get(23)
TABLE = "answers"
SEED = 1  # where the file names none
LARGEST = 10**9  # of seeds

ASKED = {  # by field: what it is, as the lesson asks for it, and what to try
    "allreduce": (
        "how long an allreduce takes",
        "2(N - 1)/N of the gradients go through each cable, in each direction.",
    ),
    "efficiency": ("the efficiency", "Efficiency is the computation over the whole step. Which part is exposed?"),
    "batch": ("from which batch on communication is hidden", "How long has the computation to be, to hide all of it?"),
    "gpus": ("the cheapest number of GPUs", "Write down hours and price for 1, 2, 4, 8, … GPUs. Which way do both go?"),
    "limit": ("how many images per second are trained", "Calculate both limits. The lower one counts."),
    "energy": (
        "the energy of a whole training",
        "Steps of an epoch, epochs, seconds of a step: then hours, times GPUs.",
    ),
}
POINTS = {"gpus": 2, "limit": 2, "efficiency": 2, "energy": 2}  # the others have 1

part = answer_file.part_of(STEP.script)


def seed_of(form: Form) -> int | None:
    """Return the seed that the file names, SEED where it names none, and None where it is no seed."""
    seed = form.tables.get("seed", SEED)
    return seed if isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < LARGEST else None


def _judge(name: str, form: Form) -> Finding | None:
    """Compare one answer with the right one."""
    wanted, _ = ASKED[name]
    seed = seed_of(form)
    if seed is None:
        return Finding(
            seen=f"seed = {form.tables['seed']!r} is not valid", expected=f"a whole number from 0 on, below {LARGEST:,}"
        )
    if missing := answer_file.missing(form, TABLE, name, wanted, tables=[TABLE], fields=list(ASKED)):
        return missing
    question = next(each for each in questions.draw(seed) if each.name == name)
    value = form.tables[TABLE][name]
    number = questions.number_of(value)
    seen = f"[{TABLE}] {name} = {str(value)[:60]}"
    line = form.line_in(TABLE, name)
    if number is None:
        return Finding(seen=f"{seen} is not a number", expected=f"a number such as 26.3, in {question.unit}", line=line)
    if question.accepts(number):
        return None
    hint = question.mistake(number) or _factor(number, question)
    return Finding(
        seen=f"{seen} is not right (seed {seed})", expected=f"{wanted}, in {question.unit}", hint=hint, line=line
    )


def _factor(number: float, question: Question) -> str:
    """Return a hint where a number is right but for a power of ten, as with another unit."""
    if any(question.accepts(number * factor) for factor in (1e-9, 1e-6, 1e-3, 1e-2, 1e2, 1e3, 1e6, 1e9)):
        return f"The digits are right. The unit is {question.unit}."
    return ""


def _add(name: str) -> None:
    """Add the check of one field."""
    wanted, hint = ASKED[name]

    def judge(runs: Runs[NoFacts], expected: Runs[NoFacts], source: Source) -> Finding | None:
        assert isinstance(source, Form)
        return _judge(name, source)

    judge.__name__ = name  # names its cell in the gradebook
    judge.__doc__ = f"{wanted[0].upper()}{wanted[1:]}."
    part.check(STEP.number, asks=(wanted,), hint=hint, points=POINTS.get(name, 1))(judge)


for _name in ASKED:
    _add(_name)
