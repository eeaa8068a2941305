"""Correct estimates of step 23: the right numbers, written in other ways."""

from course.scaling.questions import draw
from tests.corpus.variant import right

_SEED_7 = {question.name: question.answer for question in draw(7)}
_LINES = {question.name: f"{question.name} = {question.answer:.4g}" for question in draw(1)}

CORRECT = (
    right(23, "the solution of step 23", in_ci=True)(),
    right(23, "a percent less than exact")(("allreduce = 249.8", "allreduce = 247.5")),
    right(23, "units in texts")(
        ("allreduce = 249.8", 'allreduce = "250 ms"'), ("efficiency = 26.3", 'efficiency = "26 %"')
    ),
    right(23, "commas and underscores in numbers")(("limit = 1100", 'limit = "1,100 images/s"'), ("= 537", "= 5_37")),
    right(23, "no seed")(("seed = 1\n", "")),
    right(23, "an exponent")(("allreduce = 249.8", "allreduce = 2.5e2")),
    right(23, "another seed", in_ci=True)(
        ("seed = 1", "seed = 7"), *((line, f"{name} = {_SEED_7[name]}") for name, line in _LINES.items())
    ),
    right(23, "a table of one line, and notes")(
        ("[answers]\n", "[notes]\nwhy = 1\n\n[answers]\n"),
    ),
    right(23, "Windows line ends")(("\n", "\r\n")),
)
