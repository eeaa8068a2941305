"""Watches a training that is to be faster: first a short one with step 6's program, then a whole one with the script.

Both run on the same two hosts, with the same arguments but for the number of images. The bytes are those of a host's
interface, and the exchanges those of Horovod's timeline. Images, seconds and the loss are noted in the ranks: see
course.faster.rank.
"""

import contextlib
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from course import data
from course.faster import training
from course.faster.training import Training
from course.hosts.cluster import Cluster, HostsError
from course.steps import SOLUTIONS
from grader.terms.job import Result
from grader.terms.watched_facts import FasterFacts, Trained
from grader.watchers.clock import Clock
from grader.watchers.head_script import HeadScript

HOSTS = {"rate": training.RATE}
BEFORE = SOLUTIONS / "fashion_mnist_after_step_06.py"
LATEST = 100  # seconds of a Clock for a training
APART = 1e-4  # by which a weight may differ between ranks, as a share of it


@dataclass(frozen=True)
class Situation:
    """Two hosts with one rank each, to which nothing happens."""

    slots: dict[str, int] = field(default_factory=lambda: {"node1": 1, "node2": 1})


SITUATIONS = {"slow": Situation()}


def watch(cluster: Cluster, situation: Situation, script: Path, clock: Path) -> Result:
    """Train with both programs, and return how the script ended, with FasterFacts.

    Args:
        cluster: the head and the hosts, which are up.
        situation: nothing happens in it.
        script: the file.
        clock: see grader.watchers.clock.

    Raises:
        HostsError: step 6's program failed, or the machine is too busy with other programs.
    """
    images = Path(data.SHIPPED, "shipped")  # the sandbox has the judge's own images above it
    arguments = "--data-dir", str(images if images.exists() else data.SHIPPED)
    started, before = _train(cluster, BEFORE, (*training.SHORT, *arguments), clock)
    if before is None:
        raise HostsError(f"Step 6's program failed: {started.printed.decode(errors='replace')[-1000:]}")
    started, after = _train(cluster, script, (*training.WHOLE, *arguments), clock)
    return started.result(FasterFacts(before, after, Clock(clock, 0).busy))


def _train(
    cluster: Cluster, program: Path, arguments: tuple[str, ...], clock: Path
) -> tuple[HeadScript, Trained | None]:
    """Return how a training ended, and what was seen of it, if it reached its end on all ranks.

    Raises:
        HostsError: it did not, on a machine that is so busy with other programs that this proves nothing.
    """
    folder = training.empty_folder(cluster)
    began = cluster.received(cluster.hosts[1])["eth0"]
    started = HeadScript(cluster, training.command(cluster, program, arguments), training.variables())
    until = Clock(clock, LATEST)
    until.until(lambda: started.over)
    if started.end():
        until.check()
        return started, None
    received = cluster.received(cluster.hosts[1])["eth0"] - began
    with contextlib.suppress(OSError, msgspec.MsgspecError):  # the script may have ended its ranks, or written these
        return started, seen(training.read(folder, received))
    return started, None


def seen(trained: Training) -> Trained:
    """Return a training as facts."""
    first, *others = trained.ranks
    return Trained(
        size=first.size,
        updates=first.updates,
        images=trained.images,
        seconds=trained.seconds,
        received=trained.received,
        exchanges=trained.exchanges,
        communication=trained.communication,
        loss=first.loss,
        evaluated=first.evaluated,
        apart=any(_differ(first.weights, other.weights) for other in others),
    )


def _differ(first: list[float], second: list[float]) -> bool:
    """Whether two ranks have different weights."""
    pairs = list(zip(first, second, strict=False))
    return len(first) != len(second) or any(abs(one - other) > APART * (abs(one) + 1e-3) for one, other in pairs)
