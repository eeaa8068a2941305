"""Made-up runs of step 24: what a training with its solution costs and reaches, next to one with step 6's program."""

from course.faster.training import TARGET
from course.steps import get
from grader.checks import faster
from grader.reading import parsing
from grader.terms.runs import Rank, Runs
from grader.terms.watched_facts import FasterFacts, Trained
from tests.grader.checks.made_up import MadeUp

NAME = faster.SLOW.name


def trained(**values):
    """Return what the solution's training costs and reaches, but for these values."""
    usual = {"size": 2, "updates": 94, "images": 3000, "seconds": 12.0, "received": 60_000_000, "exchanges": 120}
    usual |= {"communication": 4.8, "loss": TARGET, "evaluated": 1000, "apart": False}
    return Trained(**usual | values)


def runs():
    """Return the runs of the solution."""
    before = trained(updates=40, images=640, seconds=5.6, received=50_000_000, exchanges=90, communication=4.0)
    facts = FasterFacts(before, trained())
    description = faster.SLOW.description
    return Runs({NAME: [Rank(0, 0, "The script", description, 0, None, "", "", "", facts, reported=True)]})


def after(**values):
    """Return a change of what was seen of the training with the script."""
    return lambda made: setattr(made.clusters[NAME][0].facts, "after", trained(**values))


FASTER = MadeUp(runs, parsing.read(get(24).solution.read_text()))
