"""Made-up runs of step 15: those of a solution, and changes of them."""

from functools import partial

from grader.checks import parameter_server as checks
from grader.reading import parsing
from grader.terms.facts import Disk, Input, Progress, Save, TaskFacts, TaskFit
from grader.terms.runs import Rank, Runs
from tests.grader.checks.made_up import MadeUp, of, of_fit

SOURCE = parsing.read(
    "resolver.task_type\nset_visible_devices()\nMinSizePartitioner()\ncallbacks = [BackupAndRestore()]\n"
    "get_per_replica_batch_size()\nsteps_per_epoch = 6\nrepeat()\nshuffle()\nfit()\n"
)
WHERE = "Chief (3 parameter servers and 2 workers)"
ORDERED = list(range(13))


def rank(name, facts, exit_status=0, cluster="3 parameter servers and 2 workers"):
    return Rank(0, 0, name, cluster, exit_status, None, "", "", "", facts, reported=True)


def disk(*names):
    """Return a disk with these files in --log-dir."""
    return Disk({f"left/{name}": 10 for name in names})


def solved():
    """Return the runs of a solution."""
    fit = TaskFit(
        strategy=checks.STRATEGY,
        callbacks=[],
        steps_per_epoch=6,
        in_parts=[[3, 427, 512]],
        places=["ps"],
        epochs=[6],
        begin=Progress([1.0], 6),
        end=Progress([2.0], 12),
        data="DatasetCreator",
        input=Input([2, 1], ORDERED + ORDERED[::-1] + ORDERED, ORDERED[::-1] + ORDERED),
    )
    facts = TaskFacts(
        order=["tf_config", "strategy", "model", "fit"],
        lines={"tf_config": 20, "strategy": 30, "model": 50, "fit": 90},
        strategies=[(checks.STRATEGY, 1)],
        parts=[(256, 1), (512, 2), (8192, 3)],
        fits=[fit],
        saved=["/left/model.keras"],
        saves=[Save("/left/checkpoints/after-2", 12), Save("/left/model.keras", 12)],
    )
    others = [rank(name, TaskFacts(order=["tf_config"]), 1, "another task's TF_CONFIG") for name in ("Worker", "Ps")]
    killed = rank("Chief", TaskFacts(), -9)
    right = rank("Chief", facts)
    right.found = disk("backup/chief/checkpoint", "checkpoints/after-1.index", "tensorboard/train/events")
    right.left = disk("checkpoints/after-1.index", "checkpoints/after-2.index", "model.keras")
    return Runs({"restarted": [right]}, {"killed": [killed], "roles": others}, traffic=1000)


COORDINATOR = MadeUp(solved, SOURCE)
chief, fit, other = partial(of, "restarted"), partial(of_fit, "restarted"), partial(of, "roles")
ended_early = chief(
    **{"order": [], "strategies": [], "lines": {"exit": 25}, "fits": []},
    **{"error": "not the chief", "error_kind": "SystemExit", "error_line": 25},
)
