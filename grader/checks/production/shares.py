"""The check of step 9: a share of the images for every rank."""

from collections import Counter

from grader.checks.part import Finding
from grader.checks.production.program import part
from grader.checks.training import trained
from grader.facts import HorovodRuns
from grader.job import BATCH
from grader.runner.reading import Source
from grader.runner.synthetic_data import TRAIN_IMAGES, VAL_IMAGES


@part.check(
    9,
    needs={8},
    figure="images_trained_on",
    hint="Shuffle with a seed that is the same on all ranks and another one in each epoch, then take every "
    "hvd.size()-th image, from number hvd.rank() on.",
)
def shares(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """In every epoch the ranks share all images out among them, each in an order that is new.

    What is expected is counted out from the judge's own images, as any right solution does.
    """
    line = source.line_of("share_of", "shard", "permutation", "shuffle", "train_iter")
    never = []
    for ranks in runs.topologies.values():
        stop = trained(ranks)
        if stop:
            return stop
        where = ranks[0].topology
        epochs = list(zip(*(rank.facts.fits[0].epochs for rank in ranks), strict=False))
        for number, epoch in enumerate(epochs, 1):
            finding = _epoch(f"epoch {number}, {where}", [own.images for own in epoch], line)
            if finding:
                return finding
            finding = _validation(f"epoch {number}, {where}", [own.validation_images for own in epoch], source)
            if finding:
                return finding
        for rank in ranks:
            first, second, *_ = [own.images for own in rank.facts.fits[0].epochs] + [[], []]
            if first and first == second:
                message = f"{rank.where} trains on its images in the same order in every epoch. Expected: a new one."
                return Finding(message, line)
        seen = {image for epoch in epochs for own in epoch for image in own.images}
        never.append(TRAIN_IMAGES - len(seen))
    if all(never):
        return Finding(
            f"No rank ever trains on {never[0]} of the {TRAIN_IMAGES} images, in no epoch. Expected: what does not "
            "come out even is shared out too, or left out by turns.",
            line,
        )
    return None


def _epoch(where: str, shares: list[list[str]], line: int | None) -> Finding | None:
    """Compare the images of all ranks in an epoch."""
    size = len(shares)
    steps = {-(-len(share) // BATCH) for share in shares}
    if len(steps) > 1:
        message = f"The ranks take different numbers of steps: {sorted(steps)} ({where}). Expected: the same on all."
        return Finding(message, line)
    holders = Counter(image for share in shares for image in set(share))
    twice = sum(1 for count in holders.values() if count > 1)
    total = sum(map(len, shares))
    if total > TRAIN_IMAGES + size * BATCH:
        message = f"The ranks together train on {total} images, where there are {TRAIN_IMAGES} ({where})."
        return Finding(f"{message} Expected: each rank its share.", line)
    if twice >= size:
        message = f"{twice} of {len(holders)} images are trained on by more than one rank ({where})."
        return Finding(f"{message} Expected: shares that do not overlap.", line)
    if len(holders) <= TRAIN_IMAGES - size * BATCH:
        message = f"The ranks together train on {len(holders)} of {TRAIN_IMAGES} images ({where})."
        return Finding(f"{message} Expected: on all of them.", line)
    return None


def _validation(where: str, shares: list[list[str]], source: Source) -> Finding | None:
    """Compare the images that the ranks validate on in an epoch: shares, or all images on each."""
    line = source.line_of("validation_data", "val_iter")
    holders = Counter(image for share in shares for image in set(share))
    if all(len(share) >= VAL_IMAGES for share in shares):  # as many as there are, on every rank
        return None
    if sum(count > 1 for count in holders.values()) >= len(shares) or len(holders) <= VAL_IMAGES - len(shares) * BATCH:
        message = f"All ranks together validate on {len(holders)} of {VAL_IMAGES} images ({where})."
        return Finding(f"{message} Expected: on all of them, each rank on its share.", line)
    return None
