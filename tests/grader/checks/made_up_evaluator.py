"""Made-up runs of step 16: those of a solution, and changes of them."""

from functools import partial

from grader.reading import parsing
from grader.terms.facts import Checkpoint, TaskFacts
from grader.terms.runs import Rank, Runs
from tests.grader.checks.made_up import MadeUp, of

SOURCE = parsing.read("resolver.task_type\nset_visible_devices()\nparse_args()\nSidecarEvaluator(steps=1)\n")
WHERE, LATE = "Evaluator (next to a training)", "after a training"
WEIGHTS = [[1.0, 2.0], [1.0, 2.001], [1.0, 2.002]]  # of each checkpoint


def rank(name, facts, cluster, exit_status=0):
    return Rank(0, 0, name, cluster, exit_status, None, "", "", "", facts, reported=True)


def evaluated(weights):
    """Return what an evaluator does that has evaluated these weights."""
    return TaskFacts(
        order=["tf_config", "evaluate"],
        lines={"tf_config": 20, "evaluate": 40},
        evaluations=weights,
        evaluated=[[3, 1, 2] for _ in weights],
        checkpoints=[Checkpoint(number, each) for number, each in enumerate(WEIGHTS, start=1)],
        logs=["left/evaluator/events"],
        newest=list(range(1, len(weights) + 1)),
        points=2 * len(weights),
    )


def solved():
    """Return the runs of a solution."""
    late = [rank(f"Evaluator {number}", evaluated(WEIGHTS[2:]), LATE) for number in range(3)]
    late[2].facts.order.append("wait")
    others = [rank(name, TaskFacts(order=["tf_config"]), "another task's TF_CONFIG", 1) for name in ("Chief", "Ps")]
    own = rank("Evaluator", evaluated(WEIGHTS), "next to a training")
    return Runs({"evaluator": [own]}, {"late": late, "roles": others}, traffic=1000)


EVALUATOR = MadeUp(solved, SOURCE)
own, late, other = partial(of, "evaluator"), partial(of, "late"), partial(of, "roles")
NOTHING = {"order": ["tf_config"], "evaluations": [], "evaluated": [], "logs": []}
ERROR = {"error": "ValueError: no", "error_kind": "ValueError"}
FAILED = own(**NOTHING, **ERROR), late(0, 1, **ERROR)
WAITED = {"order": ["tf_config", "evaluate", "wait"], "error": "it would wait indefinitely", "error_kind": "SystemExit"}
