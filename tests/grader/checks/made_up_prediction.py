"""Made-up runs of step 22: what a file's functions return, with an allreduce and a step that are calculated."""

from course import scaling
from course.steps import get
from grader.checks import prediction
from grader.reading import parsing
from grader.terms.runs import Rank, Runs
from grader.terms.watched_facts import StepCase
from grader.watchers import prediction_process
from grader.watchers.prediction_process import Measured
from tests.grader.checks.made_up import MadeUp

NAME = prediction.NETWORK.name
ALPHA, BETA = 1e-4, 8 / 150e6
CASE = StepCase(4e6, 4, ALPHA, BETA, 0.2, 0.5, "ring")
SECONDS = scaling.step_seconds(4e6, 4, ALPHA, BETA, 0.2, 0.5)
MEASURED = Measured(
    [(size, 2, scaling.allreduce_seconds(size, 2, ALPHA, BETA)) for size in (4000, 1_000_000, 4_000_000)],
    CASE,
    SECONDS,
    SECONDS,
    "150mbit",
)


SOLUTION = get(22).solution


def predicted(program=SOLUTION):
    """Return the runs of a file with step 22's functions."""
    facts = prediction_process.answers(str(program), MEASURED)
    description = prediction.NETWORK.description
    return Runs({NAME: [Rank(0, 0, "The script", description, 0, None, "", "", "", facts, reported=True)]})


PREDICTION = MadeUp(predicted, parsing.read(SOLUTION.read_text()))
