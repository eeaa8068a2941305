"""What capstones share: trainings on several hosts that have to learn as much as one process, from as many images."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from grader.checks import ending
from grader.checks.part import Finding
from grader.job import Topology
from grader.runner.reading import Source
from grader.runs import HorovodRank, HorovodRuns

# What an accuracy may differ by, for chance. In the trainings of the capstones, the number of updates times their
# length decides what is learned: with the rate of one process, 2 hosts reach 0.07 less than one process, and 4 hosts
# 0.2 less. In another order of the images, the same training differs by 0.007 (one standard deviation), and with a
# warm-up of an epoch it reaches 0.01 less.
MARGIN = 0.04
HOSTS = 2, 4
HINT = (
    "An epoch has fewer updates than on one process, and each of them averages over more images. What makes up for the "
    "updates that are missing?"
)


@dataclass(frozen=True)
class Learning:
    """A training whose accuracy is looked at, and the clusters that it is run on."""

    one: Topology  # one process; the solution alone is run on it
    several: tuple[tuple[Topology, ...], ...]  # for each number of hosts its runs: each one resumes the one before
    batch: int  # images per step and rank

    @property
    def clusters(self) -> tuple[Topology, ...]:
        """All clusters, those of one number of hosts after another."""
        return self.one, *(cluster for runs in self.several for cluster in runs)

    def images(self, runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
        """Whether all ranks together train on no more images than one process does; steps may be rounded up."""
        one = expected.reserved[self.one.name]
        for clusters in self.several:
            ranks = [rank for cluster in clusters for rank in runs.reserved.get(cluster.name, [])]
            for cluster in clusters:
                finding = _unfinished(cluster, runs.reserved.get(cluster.name, []))
                if finding:
                    return finding
            # A step more of each rank per epoch.
            rounded = self.batch * clusters[0].size * sum(len(fit.epochs) for rank in one for fit in rank.facts.fits)
            if self._images(ranks) > self._images(one) + rounded:
                return Finding(
                    f"All ranks together train on {self._images(ranks)} images ({clusters[-1].description}). Expected: "
                    f"no more than the {self._images(one)} of one process, but for what rounding adds.",
                    source.line_of("steps_per_epoch", "take", "shard") or ranks[0].facts.lines.get("fit"),
                )
        return None

    def accuracy(self, runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
        """Whether the validation accuracy after the last epoch is as good as that of the solution on one process."""
        one = _accuracy(expected.reserved[self.one.name])
        assert one
        for clusters in self.several:
            reached = _accuracy(runs.reserved[clusters[-1].name])
            if reached is None:
                return Finding(f"No validation accuracy is measured ({clusters[-1].description}).", untold=True)
            if not reached >= one - MARGIN:
                return Finding(
                    f"After the last epoch, the validation accuracy is {reached:.2f} ({clusters[-1].description}). "
                    f"Expected: {one:.2f}, which one process reaches with as many images, less {MARGIN:g} for chance.",
                    source.line_of("SGD", "learning_rate", "compile"),
                )
        return None

    def _images(self, ranks: Iterable[HorovodRank]) -> int:
        """Return how many images ranks have trained on, each as often as it was; by steps, where they were not seen."""
        trained = (epoch for rank in ranks for fit in rank.facts.fits for epoch in fit.epochs)
        return sum(len(epoch.images) or self.batch * epoch.steps for epoch in trained)


def cluster(hosts: int, arguments: tuple[str, ...]) -> Topology:
    """Return a cluster of so many hosts with a rank each, on which a training learns."""
    description = f"{hosts} hosts with a rank each" if hosts > 1 else "one process"
    return Topology(f"learning-{hosts}", description, hosts, 1, 1, arguments, reserved=True, learns=True)


def reference(arguments: tuple[str, ...]) -> Topology:
    """Return the one process that the others are compared with."""
    return replace(cluster(1, arguments), reference=True)


def _unfinished(cluster: Topology, ranks: list[HorovodRank]) -> Finding | None:
    """Say why a training cannot be looked at: it was not run, or did not run to its end on every rank."""
    if not ranks:
        message = f"Not run on {cluster.description}, since the program had to be ended before."
        return Finding(message, untold=True)
    apart = ending.deadlock(ranks) or ending.torn(ranks)
    if apart:
        return Finding(apart, ranks[0].error_line)
    for rank in sorted(ranks, key=lambda rank: bool(rank.causes & {"shut down", "connection"})):
        if rank.error:
            return Finding(f"{rank.where} fails: {rank.error}", rank.error_line)
        if rank.ended_for or rank.exit or not rank.facts.fits:
            return Finding(f"{rank.where} does not train to its end.", rank.facts.lines.get("waiting"))
    return None


def _accuracy(ranks: list[HorovodRank]) -> float | None:
    """Return the mean of the validation accuracies that ranks measured last; None where one measured none."""
    last = [
        [epoch.own["val_accuracy"] for fit in rank.facts.fits for epoch in fit.epochs if "val_accuracy" in epoch.own]
        for rank in ranks
    ]
    return float(np.mean([measured[-1] for measured in last])) if ranks and all(last) else None
