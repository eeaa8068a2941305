"""The checks of step 9: a share of the images for every rank, in training and in validation.

What is expected is counted out from the judge's own images: any right script takes each of them once per epoch, apart
from the few that do not come out even.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations, product

from grader.checks.production.imagenet_resnet50 import FIRST, SHARED, part, val_batch
from grader.checks.production.staging import staged
from grader.checks.training import not_run, trained
from grader.reading.parsing import Source
from grader.terms.clusters import BATCH, TRAIN_IMAGES, VAL_IMAGES
from grader.terms.facts import Epoch
from grader.terms.findings import Finding, Untold, counted, listed
from grader.terms.runs import HorovodRank, HorovodRuns

# Training images that a right script may lose where shares are cut in another place than steps: see Drawn.lost.
SLACK = 1
# A share has another one's order where a longer part of it than this is in both, or, on all ranks, than that.
ALIKE, ALL_ALIKE = 0.85, 0.6
ORDER = "default_rng", "permutation", "shuffle", "shard", "share_of", "train_iter"  # where scripts shuffle and share
SEED = "seed", "set_random_seed"


@dataclass
class Drawn:
    """The images that each rank drew in an epoch, in order; how many images there are; and the size of a batch."""

    epoch: int
    cluster: str  # in words
    shares: list[list[str]]
    images: int
    batch: int

    @property
    def where(self) -> str:
        """The epoch and its cluster, in words."""
        return f"epoch {self.epoch} ({self.cluster})"

    @property
    def lengths(self) -> list[int]:
        """How many images each rank drew."""
        return [len(share) for share in self.shares]

    @property
    def steps(self) -> list[int]:
        """How many batches each rank drew."""
        return [-(-length // self.batch) for length in self.lengths]

    @property
    def even(self) -> bool:
        """Whether all ranks drew the same number of images."""
        return len(set(self.lengths)) == 1

    @property
    def one_pass(self) -> bool:
        """Whether there are as many images as the ranks drew, but for a last step that is filled up or left out."""
        return abs(sum(self.lengths) - self.images) < len(self.shares) * self.batch

    @property
    def left_out(self) -> int:
        """How many images no rank drew."""
        return self.images - len({image for share in self.shares for image in share})

    @property
    def lost(self) -> int:
        """How many images were left out while others were drawn again."""
        return self.left_out - max(0, self.images - sum(self.lengths))

    def repetition(self) -> str:
        """Say which images were drawn more than once, and by which ranks."""
        alike, one, other = max(
            (len({*self.shares[one]} & {*self.shares[other]}), one, other)
            for one, other in combinations(range(len(self.shares)), 2)
        )
        again, rank = max((len(share) - len(set(share)), number) for number, share in enumerate(self.shares))
        if again > alike:
            return f"rank {rank} takes {counted(again, 'image')} more than once"
        return f"ranks {one} and {other} both take the same {counted(alike, 'image').removeprefix('1 ')}"


def _drawn(
    runs: HorovodRuns, of: Callable[[Epoch], list[str]], images: int, batch: Callable[[str], int]
) -> Iterator[list[Drawn]]:
    """Yield the epochs of each cluster."""
    for name, ranks in runs.clusters.items():
        epochs = zip(*(rank.facts.fits[0].epochs for rank in ranks), strict=False)
        yield [
            Drawn(number, ranks[0].cluster, [of(own) for own in epoch], images, batch(name))
            for number, epoch in enumerate(epochs, 1)
        ]


def _training(runs: HorovodRuns) -> list[list[Drawn]]:
    return list(_drawn(runs, lambda epoch: epoch.images, TRAIN_IMAGES, lambda cluster: BATCH))


@part.check(
    9,
    points=1,
    asks=("Shuffle all images, with the epoch as the seed",),
    look_at=ORDER,
    needs=(staged,),
    clusters=SHARED,
    figure="images_trained_on",
    hint="All ranks need the same order, so its seed may not differ from rank to rank, as hash() of "
    "a text does. Each rank takes every hvd.size()-th image of it, from number hvd.rank() on.",
)
def shares(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """In every epoch the ranks' shares are cut from one order and do not overlap"""
    if stop := trained(runs.ranks()):
        return stop
    # An epoch that begins with what the one before it has left shows its steps to be wrong, not its shares.
    aligned = (drawn for epochs in _training(runs) for drawn in epochs if drawn.lengths == epochs[0].lengths)
    return next((_overlap(drawn) for drawn in aligned if drawn.lost > SLACK), None)


def _overlap(drawn: Drawn, purpose: str = "") -> Finding:
    left = f"no rank takes {drawn.left_out} of the {drawn.images} images"
    seen = f"In {drawn.where}, {drawn.repetition()}{purpose}, and {left}"
    return Finding(seen=seen, expected="every image once, on one of the ranks")


@part.check(
    9,
    points=1,
    asks=("Shifts, zooms and flips must still differ between ranks",),
    look_at=SEED,
    needs=(shares,),
    hint="numpy.random.default_rng(epoch) is a generator of its own. numpy.random.seed(epoch) seeds the one that Keras "
    "draws shifts, zooms and flips from.",
)
def own_generator(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The order has a generator of its own, so images are still changed in another way on each rank"""
    for one, other in (pair for ranks in runs.clusters.values() for pair in combinations(ranks, 2)):
        first, second = one.facts.fits[0], other.facts.fits[0]
        both = [seed for seed in first.seeds if seed in second.seeds]
        if first.generator == second.generator:
            seen = f"in the same state when training begins as on rank {one.number}"
        elif both:
            seen = f"seeded with {both[0]} in training, as on rank {one.number}"
        else:
            continue
        return Finding(
            seen=f"On {other.where}, NumPy's global generator is {seen}. From it, Keras draws shifts, zooms and flips, "
            "which are the same on both ranks then",
            expected="the order from a generator of its own",
        )
    return None


@part.check(
    9,
    points=2,
    asks=("Compute how many steps each rank then takes",),
    look_at=("steps_per_epoch", "steps_of", "train_iter"),
    needs=(staged,),
    figure="images_trained_on",
    hint="A rank's share is the images divided by hvd.size(), rounded up, and its steps are the share divided by the "
    "batch size, rounded up.",
)
def share_steps(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Every rank takes the steps of its share: as many as every other, and one pass over all images together"""
    if stop := trained(runs.ranks()):
        return stop
    for first, drawn in ((epochs[0], drawn) for epochs in _training(runs) for drawn in epochs):
        if not drawn.even:
            taken = f"{listed(drawn.lengths)} images, in {listed(drawn.steps)} steps"
            return Finding(seen=f"In {drawn.where}, the ranks take {taken}", expected="as many on every rank")
        steps = f"With {drawn.steps[0]} steps per epoch"
        if not drawn.one_pass:
            return Finding(
                seen=f"{steps}, all ranks together take {sum(drawn.lengths)} images in {drawn.where}",
                expected=f"the {TRAIN_IMAGES} images of the data set, up to a step's remainder",
            )
        if drawn.lengths != first.lengths:
            then = f"{first.lengths[0]} images in {first.where} and then {drawn.lengths[0]}"
            return Finding(
                seen=f"{steps}, rank 0 takes {then}",
                expected="as many steps as its share has batches, or what is left of it taken in the next epoch",
            )
    return None


@part.check(
    9,
    points=2,
    asks=("every epoch has another order, and other shares",),
    look_at=ORDER,
    needs=(staged,),
    hint="Shuffle all images first, in each epoch with another seed, and then take the rank's share. The images that "
    "are left over then differ from epoch to epoch.",
)
def new_shares(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Every epoch has another order and other shares, and each image is used in time"""
    if stop := trained(runs.ranks()):
        return stop
    several = [epochs for epochs in _training(runs) if len(epochs) > 1]
    if not several:
        return Untold(seen="no rank reaches a second epoch")
    for first, second, *_ in several:
        nearest = [
            max((_in_one_order(once, again), -rank, -other) for other, once in enumerate(first.shares))
            for rank, again in enumerate(second.shares)
        ]
        alike, rank, other = max(nearest)  # of the first rank, if all are alike
        if alike > ALIKE or min(nearest)[0] > ALL_ALIKE:
            whose = "it" if rank == other else f"rank {-other}"
            order = f"the order that {whose} had in epoch 1"
            seen = f"In epoch 2 ({first.cluster}), rank {-rank} takes its images in {order}"
            return Finding(seen=seen, expected="another order in each epoch")
    pairs = (pair for first, second, *_ in several for pair in zip(first.shares, second.shares, strict=True))
    if all({*once} == {*again} for once, again in pairs):
        seen = f"Every rank takes the same images in epochs 1 and 2 ({several[0][0].cluster})"
        return Finding(seen=seen, expected="shares that are cut after shuffling, other ones in each epoch")
    resumed = [rank for name in FIRST for rank in runs.reserved.get(name, [])]
    left = TRAIN_IMAGES - len(_used([*runs.ranks(), *resumed]))
    if left > 0:
        return Finding(
            seen=f"{left} of {TRAIN_IMAGES} images are never used, in any epoch on any cluster",
            expected="the remainder shared out too, or other images left out in each epoch",
        )
    return None


def _in_one_order(once: list[str], again: list[str]) -> float:
    """Return how much of a share comes image after image in another share, too."""
    return SequenceMatcher(None, once, again, autojunk=False).find_longest_match().size / max(1, len(again))


def _used(ranks: list[HorovodRank]) -> set[str]:
    """Return the images that ranks trained on."""
    return {image for rank in ranks for fit in rank.facts.fits for epoch in fit.epochs for image in epoch.images}


@part.check(
    9,
    points=2,
    asks=("Train on the epochs from `initial_epoch` on",),
    look_at=("count", "share_of", "default_rng", "fit"),
    needs=(staged,),
    hint="The data for model.fit begin with epoch initial_epoch, and the number of an epoch is the seed of its order.",
)
def resumed_shares(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """A training that is resumed continues with the orders of later epochs"""
    name = next((name for name in FIRST if runs.reserved.get(name)), None)
    if not name:
        return not_run(SHARED[-1].description)
    before, after = runs.clusters[FIRST[name]], runs.reserved[name]
    if stop := trained(before) or trained(sorted(after, key=lambda rank: not rank.error)):
        return stop
    first = [(number, epoch) for rank in before for number, epoch in enumerate(rank.facts.fits[0].epochs)]
    for again in after:
        fit = again.facts.fits[0]
        own = list(enumerate(fit.epochs, fit.initial_epoch))
        for (later, epoch), (number, earlier) in product(own, [*first, *own]):
            if epoch.images and number != later and epoch.images == earlier.images:
                seen = f"{again.where} has the order of epoch {number + 1} in epoch {later + 1}"
                return Finding(seen=seen, expected=f"the order of epoch {later + 1}")
    return None


@part.check(
    9,
    points=2,
    asks=("Validate on shares too, in one pass",),
    look_at=("validation_data", "val_iter"),
    needs=(staged,),
    hint="Give validation_data this rank's share of the validation images: one epoch of a data set, or a generator "
    "that repeats the order of one epoch, with validation_steps as many steps as the share has.",
)
def validation_shares(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Every validation is one pass over all images, a share on each rank"""
    if stop := trained(runs.ranks()):
        return stop
    used = _used([*runs.ranks()])
    every = _drawn(runs, lambda epoch: epoch.validation_images, VAL_IMAGES, val_batch)
    for drawn in (drawn for epochs in every for drawn in epochs):
        known = len(used & {image for share in drawn.shares for image in share})
        if known:
            seen = f"In {drawn.where}, the ranks validate on {counted(known, 'image')} that they train on"
            return Finding(seen=seen, expected="validation images alone")
        if not (drawn.even and drawn.one_pass):
            return Finding(
                seen=f"In {drawn.where}, the ranks validate on {listed(drawn.lengths)} images, where there are "
                f"{VAL_IMAGES}",
                expected="one pass over all of them together, a share on each rank",
                line=source.line_of("validation_steps"),
            )
        if drawn.lost > 0:
            return _overlap(drawn, " for validation")
    return None
