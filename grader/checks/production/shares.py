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
from grader.checks.training import trained
from grader.reading.parsing import Source
from grader.terms.clusters import BATCH, TRAIN_IMAGES, VAL_IMAGES
from grader.terms.facts import Epoch
from grader.terms.findings import Finding, Untold
from grader.terms.runs import HorovodRuns

# Training images that a right script may lose where shares are cut in another place than steps: see Drawn.lost.
SLACK = 1
# A share has another one's order where a longer part of it than this is in both, or, on all ranks, than that.
ALIKE, ALL_ALIKE = 0.85, 0.6


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
    def distinct(self) -> int:
        """How many images at least one rank drew."""
        return len({image for share in self.shares for image in share})

    @property
    def total(self) -> int:
        """How many images all ranks drew, counted as often as they did."""
        return sum(map(len, self.shares))

    @property
    def steps(self) -> list[int]:
        """How many batches each rank drew."""
        return [-(-len(share) // self.batch) for share in self.shares]

    @property
    def lengths(self) -> list[int]:
        """How many images each rank drew."""
        return [len(share) for share in self.shares]

    @property
    def uneven(self) -> bool:
        """Whether the ranks drew different numbers of images."""
        return len(set(self.lengths)) > 1

    @property
    def lost(self) -> int:
        """How many images were left out while others were drawn again."""
        return min(self.total, self.images) - self.distinct

    @property
    def too_many(self) -> bool:
        """Whether the ranks drew more images than it takes to fill the last batches."""
        return self.total >= self.images + len(self.shares) * self.batch

    @property
    def too_few(self) -> bool:
        """Whether the ranks left out more images than those of a last step that is not full."""
        return self.total <= self.images - len(self.shares) * self.batch

    def repetition(self) -> str:
        """Say which images were drawn more than once, and by which ranks."""
        alike, one, other = max(
            (len({*self.shares[one]} & {*self.shares[other]}), one, other)
            for one, other in combinations(range(len(self.shares)), 2)
        )
        again, rank = max((len(share) - len(set(share)), number) for number, share in enumerate(self.shares))
        if again > alike:
            return f"rank {rank} takes {_images(again)} more than once"
        return f"ranks {one} and {other} both take the same {_images(alike).removeprefix('1 ')}"


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
    asks=(
        "**all ranks shuffle alike**",
        "write a generator that is given epochs",
        "Shuffle the numbers of all images, with the epoch as the seed",
        "Take every `hvd.size()`-th, from number `hvd.rank()` on, and yield the batches of these.",
    ),
    needs=(staged,),
    clusters=SHARED,
    figure="images_trained_on",
    hint="All ranks need the same order, so its seed may not differ from rank to rank: neither args.seed nor hash() of "
    "a text will do. Each rank takes every hvd.size()-th image of it, from number hvd.rank() on.",
)
def shares(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """In every epoch the ranks' shares are cut from one order and do not overlap"""
    stop = trained(runs.ranks())
    if stop:
        return stop
    line = source.line_of("default_rng", "permutation", "shuffle", "shard", "share_of", "train_iter")
    # An epoch that begins with what the one before it has left shows its steps to be wrong, not its shares.
    aligned = (drawn for epochs in _training(runs) for drawn in epochs if drawn.lengths == epochs[0].lengths)
    for drawn in aligned:
        if drawn.lost > SLACK:
            left = TRAIN_IMAGES - drawn.distinct
            message = f"In {drawn.where}, {drawn.repetition()}, and no rank takes {left} of the {TRAIN_IMAGES} images."
            return Finding(seen=f"{message} Expected: every image once, on one of the ranks.", line=line)
    return None


@part.check(
    9,
    points=1,
    asks=("in a generator of its own", "shifts, zooms and flips still differ between ranks"),
    needs=(shares,),
    hint="numpy.random.default_rng(epoch) is a generator of its own. numpy.random.seed(epoch) seeds the one that Keras "
    "draws shifts, zooms and flips from.",
)
def own_generator(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The order has a generator of its own, so images are still changed in another way on each rank"""
    for ranks in runs.clusters.values():
        for one, other in combinations(ranks, 2):
            if one.facts.fits[0].generator == other.facts.fits[0].generator:
                return Finding(
                    seen=f"When training begins, NumPy's global generator is in the same state on ranks {one.number} and "
                    f"{other.number} ({one.cluster}). From it, Keras draws shifts, zooms and flips, which are the "
                    "same on both then. Expected: the order from a generator of its own.",
                    line=source.line_of("seed", "set_random_seed"),
                )
            both = [seed for seed in one.facts.fits[0].seeds if seed in other.facts.fits[0].seeds]
            if both:
                return Finding(
                    seen=f"{other.where} seeds NumPy's global generator with {both[0]} in training, as rank {one.number} "
                    "does. From it, Keras draws shifts, zooms and flips, which are the same on both ranks then. "
                    "Expected: the order from a generator of its own.",
                    line=source.line_of("seed", "set_random_seed"),
                )
    return None


@part.check(
    9,
    points=2,
    asks=(
        "append the first numbers again, until all ranks can have as many.",
        "say how many steps that is",
        "the same number of steps",
    ),
    needs=(staged,),
    figure="images_trained_on",
    hint="A rank's share is the images divided by hvd.size(), rounded up, and its steps are the share divided by the "
    "batch size, rounded up.",
)
def share_steps(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Every rank takes the steps of its share: as many as every other, and one pass over all images together"""
    stop = trained(runs.ranks())
    if stop:
        return stop
    line = source.line_of("steps_per_epoch", "steps_of", "train_iter")
    for epochs in _training(runs):
        for drawn in epochs:
            steps = f"{drawn.steps[0]} steps per epoch"
            if drawn.uneven:
                taken = f"{_listed(drawn.lengths)} images, in {_listed(drawn.steps)} steps"
                return Finding(
                    seen=f"In {drawn.where}, the ranks take {taken}. Expected: as many on every rank.", line=line
                )
            if drawn.too_many or drawn.too_few:
                message = f"With {steps}, all ranks together take {drawn.total} images in {drawn.where}."
                images = f"the {TRAIN_IMAGES} images of the data set, up to a step's remainder"
                return Finding(seen=f"{message} Expected: {images}.", line=line)
            if drawn.lengths != epochs[0].lengths:
                message = f"With {steps}, rank 0 takes {epochs[0].lengths[0]} images in {epochs[0].where} and then "
                message += (
                    f"{drawn.lengths[0]}. Expected: as many steps as its share has batches, or what is left of a "
                )
                return Finding(seen=f"{message}share is taken in the next epoch.", line=line)
    return None


@part.check(
    9,
    points=2,
    asks=("every epoch has another order, and other shares",),
    needs=(staged,),
    hint="Shuffle the numbers of all images first, in each epoch by another seed, and take the rank's share of them "
    "then. What is left over is then another image each time.",
)
def new_shares(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Every epoch has another order and other shares, and each image is used in time"""
    stop = trained(runs.ranks())
    if stop:
        return stop
    line = source.line_of("default_rng", "permutation", "shuffle", "shard", "share_of", "train_iter")
    several = [epochs for epochs in _training(runs) if len(epochs) > 1]
    if not several:
        return Untold(seen="no rank reaches a second epoch.")
    for first, second, *_ in several:
        nearest = [
            max((_in_one_order(once, again), -rank, -other) for other, once in enumerate(first.shares))
            for rank, again in enumerate(second.shares)
        ]
        part, rank, other = max(nearest)  # of the first rank, if all are alike
        if part > ALIKE or min(nearest)[0] > ALL_ALIKE:
            whose = "it" if rank == other else f"rank {-other}"
            message = f"In epoch 2 ({first.cluster}), rank {-rank} takes its images in the order that {whose} had in"
            return Finding(seen=f"{message} epoch 1. Expected: another order in each epoch.", line=line)
    pairs = (pair for first, second, *_ in several for pair in zip(first.shares, second.shares, strict=True))
    if all({*once} == {*again} for once, again in pairs):
        message = f"Every rank takes the same images in epochs 1 and 2 ({several[0][0].cluster})."
        return Finding(
            seen=f"{message} Expected: shares that are cut after shuffling, other ones in each epoch.", line=line
        )
    ranks = [*runs.ranks(), *(rank for name in FIRST for rank in runs.reserved.get(name, []))]
    used = {image for rank in ranks for fit in rank.facts.fits for epoch in fit.epochs for image in epoch.images}
    if len(used) < TRAIN_IMAGES:
        message = f"{TRAIN_IMAGES - len(used)} of {TRAIN_IMAGES} images are never used, in any epoch on any cluster."
        return Finding(
            seen=f"{message} Expected: share out the remainder too, or leave out other images each time.", line=line
        )
    return None


@part.check(
    9,
    points=2,
    asks=("Train on the epochs from `initial_epoch` on",),
    needs=(staged,),
    hint="The generator for model.fit counts epochs from initial_epoch on, and the number of an epoch is the seed "
    "of its order.",
)
def resumed_shares(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """A training that is resumed continues with the orders of later epochs"""
    name = next((name for name in FIRST if runs.reserved.get(name)), None)
    if not name:
        return Untold(seen="the program was not started a second time.")
    before, after = runs.clusters[FIRST[name]], runs.reserved[name]
    if trained(before) or trained(after):
        failed = next((rank for rank in after if rank.error), None)
        why = f" Rank {failed.number} fails: {failed.error}" if failed else ""
        return Untold(seen=f"started again, the ranks do not reach training.{why}")
    line = source.line_of("count", "share_of", "default_rng", "fit")
    first = [(number, epoch) for rank in before for number, epoch in enumerate(rank.facts.fits[0].epochs)]
    for again in after:
        fit = again.facts.fits[0]
        own = list(enumerate(fit.epochs, fit.initial_epoch))
        for (later, epoch), (number, earlier) in product(own, [*first, *own]):
            if epoch.images and number != later and epoch.images == earlier.images:
                message = (
                    f"Started again, rank {again.number} has the order of epoch {number + 1} in epoch {later + 1}."
                )
                return Finding(seen=f"{message} Expected: the order of epoch {later + 1}.", line=line)
    return None


@part.check(
    9,
    points=2,
    asks=(
        "Validate on shares too, in one pass",
        "so that every validation sees all images",
        "may be left out here too",
    ),
    needs=(staged,),
    hint="Give validation_data a generator of val_iter's shares, with the same epoch again and again, and "
    "validation_steps as many steps as such a share has.",
)
def validation_shares(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Every validation is one pass over all images, a share on each rank"""
    stop = trained(runs.ranks())
    if stop:
        return stop
    line = source.line_of("validation_data", "val_iter")
    used = {image for epochs in _training(runs) for drawn in epochs for share in drawn.shares for image in share}
    for epochs in _drawn(runs, lambda epoch: epoch.validation_images, VAL_IMAGES, val_batch):
        for drawn in epochs:
            known = len(used & {image for share in drawn.shares for image in share})
            if known:
                message = f"In {drawn.where}, the ranks validate on {_images(known)} that they train on."
                return Finding(seen=f"{message} Expected: images of val_iter alone.", line=line)
            finding = _validation(drawn, line, source.line_of("validation_steps") or line)
            if finding:
                return finding
    return None


def _validation(drawn: Drawn, line: int | None, steps_line: int | None) -> Finding | None:
    """Compare the images that the ranks validate on in an epoch."""
    each = f"the ranks validate on {_listed(drawn.lengths)} images"
    if drawn.uneven or drawn.too_many or drawn.too_few:
        message = f"In {drawn.where}, {each}, where there are {VAL_IMAGES}."
        return Finding(
            seen=f"{message} Expected: one pass over all of them together, a share on each rank.", line=steps_line
        )
    if drawn.lost > 0:
        message = (
            f"In {drawn.where}, {drawn.repetition()} for validation, and no rank takes {VAL_IMAGES - drawn.distinct}"
        )
        return Finding(
            seen=f"{message} of the {VAL_IMAGES}. Expected: every image once, on one of the ranks.", line=line
        )
    return None


def _in_one_order(once: list[str], again: list[str]) -> float:
    """Return how much of a share comes image after image in another share, too."""
    return SequenceMatcher(None, once, again, autojunk=False).find_longest_match().size / max(1, len(again))


def _images(count: int) -> str:
    return "1 image" if count == 1 else f"{count} images"


def _listed(numbers: list[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
