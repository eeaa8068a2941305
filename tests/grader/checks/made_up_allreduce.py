"""Made-up runs of step 21, as its watcher sees them: those of the solution, and changes of them."""

from course.steps import get
from grader.checks import allreduce
from grader.reading import parsing
from grader.terms.runs import Rank, Runs
from grader.terms.watched_facts import AllreduceFacts, Attempt, Case
from tests.grader.checks.made_up import MadeUp

NAME = allreduce.RANKS.name
EVEN, ODD, EMPTY = Case(3, 6, "float32", "new"), Case(3, 7, "float64", "new"), Case(3, 0, "float32", "new")
INTO, OTHER = Case(3, 6, "float64", "array"), Case(3, 6, "float64", "other")
LARGE = Case(3, 2_000_001, "float64", "new")
CASES = EVEN, ODD, EMPTY, INTO, OTHER, LARGE
MEGABYTES = LARGE.length * 8 * 4 // 3 // 1e6


def summed():
    """Return the runs of step 21's solution."""
    attempts = []
    for case in CASES:
        size = case.length * int(case.kind[-2:]) // 8
        attempts += [Attempt(case, rank, True, 4, size * 4 // 3) for rank in range(case.ranks)]
    facts = AllreduceFacts(attempts)
    description = allreduce.RANKS.description
    return Runs({NAME: [Rank(0, 0, "The script", description, 0, None, "", "", "", facts, reported=True)]})


def of_attempts(case, *numbers, **values):
    """Return a change of the attempts of some ranks in a case, or of all."""

    def change(runs):
        for attempt in runs.clusters[NAME][0].facts.attempts:
            if attempt.case == case and attempt.rank in (numbers or range(case.ranks)):
                for name, value in values.items():
                    setattr(attempt, name, value)

    return change


ALLREDUCE = MadeUp(summed, parsing.read(get(21).solution.read_text()))
