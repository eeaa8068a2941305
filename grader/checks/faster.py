"""The part of step 24: step 6's program on a slow network, which has to reach the same target in less time.

What the script's training costs is compared with what a short training with step 6's program costs on the same hosts,
a moment before: see grader.watchers.faster_watcher.
"""

from course.faster import training
from course.faster.training import FASTER, SHARE, TARGET, TOLERANCE
from grader.checks import on_hosts
from grader.checks.on_hosts import of
from grader.checks.part import Part
from grader.reading import parsing
from grader.reading.parsing import Source
from grader.terms.findings import Finding, Untold, counted
from grader.terms.runs import FasterRuns
from grader.terms.watched_facts import FasterFacts, Trained

SLOW = on_hosts.cluster("faster_watcher", "slow", "2 hosts at 100 Mbit/s", 2, reserved=False)

RANKS = 2
# Times as fast that are measured at least where the model of step 22 says FASTER: what else runs on the machine may
# slow the second training more than the first one.
NOISY = 1.2


def _failure(runs: FasterRuns) -> Finding | None:
    """Return why the training did not reach its end, if so."""
    ran = of(runs, SLOW)
    if ran.facts.after is not None:
        return None
    how = "does not end" if ran.ended_for == "time" else "prints endlessly" if ran.ended_for else "fails"
    status = "" if ran.ended_for else f" with status {ran.exit}"
    return Finding(
        seen=f"The training {how}{status} ({ran.cluster})",
        expected="it runs to its end on both ranks",
        hint=on_hosts.printed(ran.stdout),
    )


part = Part("fashion_mnist.py", FasterFacts, read=parsing.read, ended=on_hosts.ends(_failure))


@part.check(
    24,
    points=2,
    clusters=(SLOW,),
    asks=("still train one model",),
    look_at=("DistributedOptimizer", "BroadcastGlobalVariablesCallback"),
    hint="All ranks begin with rank 0's weights, and all take the same updates, with gradients of all ranks.",
)
def together(runs: FasterRuns, expected: FasterRuns, source: Source) -> Finding | None:
    """All ranks train one model."""
    after = of(runs, SLOW).facts.after
    if after is None:
        return Untold(seen="the training does not reach its end")
    if after.size != RANKS:
        return Finding(seen=f"Horovod has {counted(after.size, 'rank')}", expected=f"{RANKS}")
    if not after.images:
        return Untold(seen="no image was counted: Model.fit trains nothing, or with a loss that Keras does not know")
    if after.apart:
        return Finding(seen="The ranks have different weights after training", expected="the same on all ranks")
    return None


@part.check(
    24,
    points=3,
    asks=("reach the same target",),
    look_at=("learning_rate", "backward_passes_per_step", "batch_size", "epochs"),
    needs=(together,),
    hint="A larger batch has fewer updates: each has to go further. If it still misses, the batch is too large.",
)
def target(runs: FasterRuns, expected: FasterRuns, source: Source) -> Finding | None:
    """The test loss is not larger than that of step 6's program, within a tolerance."""
    after, right = _both(runs)[1], _both(expected)[1]
    if after.loss is None:
        return Finding(
            seen="No loss was evaluated after training, or it is not a number", expected="model.evaluate, as in step 6"
        )
    if after.evaluated * RANKS < right.evaluated:
        seen = f"{after.evaluated} test images were evaluated after training"
        return Finding(seen=seen, expected=f"{right.evaluated}", line=source.line_of("evaluate"))
    if after.loss <= TARGET + TOLERANCE:
        return None
    return Finding(
        seen=f"The test loss is {after.loss:.2f}, after {counted(after.updates, 'update')} with {after.images} images",
        expected=f"at most {TARGET + TOLERANCE:.2f}, which is {TOLERANCE:g} more than step 6's program reaches",
    )


@part.check(
    24,
    points=3,
    asks=("at most a third of the communication",),
    look_at=("compression", "backward_passes_per_step", "DistributedOptimizer"),
    needs=(together,),
    hint="Fewer bytes per exchange, or fewer exchanges: compression, accumulation, larger batches.",
)
def communication(runs: FasterRuns, expected: FasterRuns, source: Source) -> Finding | None:
    """The ranks communicate at most a third of the time of step 6's program, by their bytes and messages."""
    before, after = _both(runs)
    times = training.share(before.images)
    most = SHARE * before.communication * times
    if after.communication <= most:
        return None
    return Finding(
        seen=f"A host received {_megabytes(after.received)} MB in {counted(after.exchanges, 'allreduce')}, which take "
        f"{after.communication:.1f} s at 100 Mbit/s",
        expected=f"at most {most:.1f} s, a third of step 6's {_megabytes(before.received * times)} MB in "
        f"{before.exchanges * times:.0f} allreduces",
    )


@part.check(
    24,
    points=2,
    asks=("at least 1.5 times as fast",),
    look_at=("fit", "compression"),
    needs=(communication,),
    hint="With less communication, computation and input are left: do they take longer than before?",
)
def time(runs: FasterRuns, expected: FasterRuns, source: Source) -> Finding | None:
    """The training is at least 1.5 times as fast as that of step 6's program."""
    before, after = _both(runs)
    whole = before.seconds * training.share(before.images)
    ratio = training.ratio(before.seconds, before.images, after.seconds)
    computing = max(0.0, before.seconds - before.communication) / max(1, before.images)
    predicted = whole / max(computing * after.images + after.communication, 1e-9)
    if ratio >= FASTER or (ratio >= NOISY and predicted >= FASTER):
        return None
    if of(runs, SLOW).facts.busy and after.images <= before.images * training.share(before.images):
        return None  # the communication is a third, and seconds of such a machine prove nothing
    return Finding(
        seen=f"All batches take {after.seconds:.1f} s, and with step 6's program {whole:.1f} s: {ratio:.2f} times as "
        f"fast. By its bytes, messages and images, it would be {predicted:.2f} times",
        expected=f"{FASTER:g} times, or {NOISY:g} times where bytes, messages and images say {FASTER:g}",
    )


def _both(runs: FasterRuns) -> tuple[Trained, Trained]:
    """Return the trainings with step 6's program and with the script."""
    facts = of(runs, SLOW).facts
    assert facts.before and facts.after
    return facts.before, facts.after


def _megabytes(size: float) -> str:
    return f"{size / 1e6:.0f}"
