"""Checks of step 13: the strategy that makes several processes workers of one training, and the model in its scope."""

from collections.abc import Iterator

from grader.checks.multi_worker.mnist_multi_worker import CONTINUED, TWO, part
from grader.checks.training import close, hardly_communicated
from grader.reading.parsing import Source
from grader.terms.facts import TaskFit
from grader.terms.findings import Finding, Untold, counted
from grader.terms.runs import TaskRank, TaskRuns

STRATEGY = "CollectiveAllReduceStrategy"  # what MultiWorkerMirroredStrategy is called inside TensorFlow


@part.check(
    13,
    points=2,
    asks=("Before anything else, call `tf_config.check()`", "Make the strategy"),
    look_at=("MultiWorkerMirroredStrategy", "strategy"),
    clusters=(TWO, CONTINUED),
    hint="First the arguments, then tf_config.check(), then tf.distribute.MultiWorkerMirroredStrategy, then the rest.",
)
def strategy_first(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """Every worker makes the strategy before anything else, and it knows of all workers"""
    for rank in runs.ranks():
        if finding := _too_late(rank, source):
            return finding
    for workers in runs.clusters.values():
        for rank in workers:
            made = [replicas for kind, replicas in rank.facts.strategies if kind == STRATEGY]
            if not made and rank.error:
                return not_seen(rank, "makes its strategy")
            if not made:
                seen = f"{rank.where} makes no MultiWorkerMirroredStrategy, so it knows of no other worker"
                return Finding(seen=seen, expected="every worker makes one")
            if made[0] != len(workers):
                return Finding(
                    seen=f"{rank.where}: the strategy has {counted(made[0], 'replica')}",
                    expected=f"{len(workers)}, one per worker",
                    hint="The strategy takes the workers' addresses from TF_CONFIG.",
                )
    return None


def _too_late(rank: TaskRank, source: Source) -> Finding | None:
    """Return why a worker that ends with an error made its strategy too late, or asks too late which worker it is."""
    if rank.error and "late strategy" in rank.causes:
        return Finding(
            seen=f"{rank.where}: the strategy is made after TensorFlow has been used, for a tensor or a device",
            expected="before anything else of TensorFlow's",
            explains=True,
        )
    if rank.error and "port taken" in rank.causes and STRATEGY in [kind for kind, _ in rank.facts.strategies]:
        return Finding(
            seen=f"{rank.where}: tf_config.check() finds this worker's port in use, by the server of the strategy that "
            "the script itself has made before",
            expected="check() first, then the strategy",
            line=rank.error_line or source.line_of("check"),
            explains=True,
        )
    return None


@part.check(
    13,
    points=1,
    asks=("with the `CommunicationImplementation` that `args.communication` names",),
    look_at=("implementation", "communication_options", "communication", "MultiWorkerMirroredStrategy"),
    needs=(strategy_first,),
    hint="The strategy takes communication_options=CommunicationOptions(implementation=…).",
)
def communication(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The strategy communicates in the way that --communication names"""
    right = expected.clusters | expected.reserved
    for name, workers in (runs.clusters | runs.reserved).items():
        for rank, solution in zip(workers, right.get(name, []), strict=False):
            own, named = rank.facts.communication, solution.facts.communication
            if own and named and own[0] != named[0]:
                return Finding(
                    seen=f"{rank.where} makes its strategy with {own[0]}, where --communication is {named[0]}",
                    expected="the implementation that args.communication names",
                )
    return None


@part.check(
    13,
    points=2,
    asks=("Make the model in the strategy's scope", "holds all weights", "Then all get the sum of the gradients"),
    look_at=("scope", "fit"),
    needs=(strategy_first,),
    hint="Build and compile the model in a block that begins with strategy.scope().",
)
def in_scope(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The model is made in the strategy's scope, and its weights are equal on all workers"""
    for rank in runs.ranks():
        fit = rank.facts.fits[0] if rank.facts.fits else None
        if (rank.facts.built and rank.facts.built != STRATEGY) or (fit and fit.strategy != STRATEGY):
            return Finding(
                seen=f"{rank.where} makes its model outside of the strategy's scope, so each worker has its own model",
                expected="the model is built and compiled under strategy.scope()",
                line=rank.facts.lines.get("model"),
                explains=True,
            )
    if unseen := untrained(runs):
        return unseen
    for workers, rank, fit in trainings(runs):
        first = workers[0].facts.fits[0]
        for when in ("begin", "end"):
            own, others = (getattr(each, when).weights for each in (fit, first))
            if not close(own, others, others):
                return Finding(
                    seen=f"{rank.where} {when}s training with weights other than {low(workers[0])}'s",
                    expected="the same on all workers",
                )
    return hardly_communicated(runs, expected)


def low(rank: TaskRank) -> str:
    """Return a worker's name, for the middle of a sentence."""
    return rank.name.lower()


def not_seen(rank: TaskRank, what: str) -> Finding:
    """Return a Finding where a worker ends before it shows what a check looks at."""
    return Untold(seen=f"{low(rank)} ({rank.cluster}) ends before it {what}", line=rank.error_line)


def untrained(runs: TaskRuns) -> Finding | None:
    """Return a Finding where a worker did not train to the end, which hides what checks look at."""
    for rank in runs.ranks():
        if rank.error or not rank.facts.fits or not rank.facts.fits[0].end:
            return not_seen(rank, "has trained")
    return None


def trainings(runs: TaskRuns) -> Iterator[tuple[list[TaskRank], TaskRank, TaskFit]]:
    """Yield each worker with those of its cluster, and its training."""
    for workers in runs.clusters.values():
        for rank in workers:
            yield workers, rank, rank.facts.fits[0]
