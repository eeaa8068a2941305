"""What capstones share: several processes that together have to learn as much as one, from as many images."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from grader.checks import ending
from grader.checks.part import Judge, Part
from grader.checks.training import not_run
from grader.reading.parsing import Source
from grader.terms.clusters import AnyCluster, Fresh
from grader.terms.facts import TaskFit
from grader.terms.findings import Finding, Untold
from grader.terms.runs import Rank, Runs

# What an accuracy may differ by, for chance. In the trainings of the capstones, the number of updates times their
# length decides what is learned: with the rate of one process, 2 hosts reach 0.07 less than one process, and 4 hosts
# 0.2 less. In another order of the images, the same training differs by 0.007 (one standard deviation), and with a
# warm-up of an epoch it reaches 0.01 less.
MARGIN = 0.04
HOSTS = 2, 4
HINT = "Does an epoch have fewer updates than on one process? What makes up for those that are missing?"


@dataclass(frozen=True)
class Learning:
    """A training whose accuracy is looked at, and the clusters that it is run on."""

    one: AnyCluster  # one process; the solution alone is run on it
    several: tuple[tuple[AnyCluster, ...], ...]  # for each number of processes its runs: each resumes the one before
    batch: int  # images per step and process
    margin: float = MARGIN

    def ask(
        self,
        part: Part[Any],
        number: int,
        where: str,
        *,
        hint: str,
        who: str = "all ranks",
        clusters: tuple[AnyCluster, ...],
        needs: tuple[Judge[Any], ...],
        learns: tuple[Judge[Any], ...] = (),
    ) -> tuple[Judge[Any], Judge[Any]]:
        """Add the two checks of a capstone to its part, and return their functions.

        Args:
            part: the part.
            number: the capstone's.
            where: on which clusters a script is trained, in words.
            hint: what to try where it trains on too many images.
            who: trains there, as the lesson calls the processes.
            clusters: those of the part's other checks.
            needs: the functions of checks that have to pass first,
            learns: and of further ones, for the accuracy.
        """

        def no_more_images(runs: Runs[Any], expected: Runs[Any], source: Source) -> Finding | None:
            return self._more_images(runs, expected)

        def accuracy(runs: Runs[Any], expected: Runs[Any], source: Source) -> Finding | None:
            return self._less_accurate(runs, expected)

        no_more_images.__doc__ = f"{where}, {who} together train on no more images than one process does."
        accuracy.__doc__ = f"{where}, training reaches the accuracy that one process reaches."
        part.check(
            number,
            points=5,
            asks=(f"{who} together see no more images than one process sees",),
            look_at=("steps_per_epoch", "take", "shard", "fit"),
            needs=needs,
            clusters=(*clusters, *(cluster for runs in self.several for cluster in runs)),
            references=(self.one,),
            hint=hint,
        )(no_more_images)
        part.check(
            number,
            points=5,
            asks=("the validation accuracy that one process reaches",),
            look_at=("SGD", "learning_rate", "compile"),
            needs=(*learns, no_more_images),
            hint=HINT,
        )(accuracy)
        return no_more_images, accuracy

    def _more_images(self, runs: Runs[Any], expected: Runs[Any]) -> Finding | None:
        """Whether all processes together train on more images than one does; steps may be rounded up."""
        one = self._epochs(expected.reserved[self.one.name])
        for clusters in self.several:
            for cluster in clusters:
                ended = runs.reserved.get(cluster.name)
                if finding := ending.unfinished(ended) if ended else not_run(cluster.description):
                    return finding
            ranks = [rank for cluster in clusters for rank in runs.reserved[cluster.name]]
            rounded = self.batch * clusters[0].size * len(one)  # a step more of each process per epoch
            seen, wanted = (sum(images for images, _ in epochs) for epochs in (self._epochs(ranks), one))
            if seen > wanted + rounded:
                return Finding(
                    seen=f"All processes together train on {seen} images ({clusters[-1].description})",
                    expected=f"no more than the {wanted} of one process, and what rounding adds",
                )
        return None

    def _less_accurate(self, runs: Runs[Any], expected: Runs[Any]) -> Finding | None:
        """Whether the validation accuracy after the last epoch is less than that of the solution on one process."""
        one = self._reached(expected.reserved[self.one.name])
        assert one
        for clusters in self.several:
            reached = self._reached(runs.reserved[clusters[-1].name])
            if reached is None:
                return Untold(seen=f"no validation accuracy is measured ({clusters[-1].description})")
            if not reached >= one - self.margin:
                return Finding(
                    seen=f"After the last epoch, the validation accuracy is {reached:.2f} ({clusters[-1].description})",
                    expected=f"{one:.2f}, which one process reaches with as many images, less {self.margin:g} at most",
                )
        return None

    def _epochs(self, ranks: Iterable[Rank[Any]]) -> list[tuple[int, float | None]]:
        """Return the epochs of ranks: on how many images, each as often as it was seen, and the accuracy after it."""
        fits = [fit for rank in ranks for fit in rank.facts.fits]
        if all(isinstance(fit, TaskFit) for fit in fits):
            return [
                (self.batch * steps, accuracy)
                for fit in fits
                for steps, accuracy in zip_longest(fit.epochs, fit.accuracies[: len(fit.epochs)])
            ]
        return [
            (len(epoch.images) or self.batch * epoch.steps, epoch.own.get("val_accuracy"))
            for fit in fits
            for epoch in fit.epochs
        ]

    def _reached(self, ranks: list[Rank[Any]]) -> float | None:
        """Return the mean of the accuracies that ranks measured last; None where one measured none."""
        measured = [[accuracy for _, accuracy in self._epochs([rank]) if accuracy is not None] for rank in ranks]
        return float(np.mean([each[-1] for each in measured])) if ranks and all(measured) else None


def cluster(hosts: int, arguments: tuple[str, ...]) -> Fresh:
    """Return a cluster of so many hosts with a rank each, on which a training learns."""
    description = f"{hosts} hosts with a rank each" if hosts > 1 else "one process"
    return Fresh(f"learning-{hosts}", description, hosts, 1, 1, arguments, reserved=True, learns=True)
