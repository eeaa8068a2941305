"""An epoch that does not divide evenly: the steps of all ranks together, and the images that each rank gets."""

import math

import numpy as np
from IPython.display import HTML

from course.moving.drawing import WIDTH, boxes, letters, path, rank_kind, text
from course.moving.flipbook import Frame, flip_book

RANKS = range(2, 6)
BATCHES = range(7, 13)  # no more than 15 boxes, rounded up
IMAGES = range(6, 11)  # numbers of one digit each


def epoch_steps() -> HTML:
    """Return a figure of the steps that 2 to 5 ranks take in an epoch, rounded down and rounded up."""
    frames = {(ranks, batches): _steps_frame(ranks, batches) for ranks in RANKS for batches in BATCHES}
    return flip_book("Steps of an epoch", ("ranks", "batches"), frames, (3, 10))


def shares() -> HTML:
    """Return a figure of the images that each of 2 to 5 ranks gets in two epochs."""
    frames = {(ranks, images): _shares_frame(ranks, images) for ranks in RANKS for images in IMAGES}
    return flip_book("Shares of an epoch", ("ranks", "images"), frames, (4, 10))


def rounded(batches: int, ranks: int) -> tuple[int, int]:
    """Return the steps per rank and epoch if an epoch's batches are divided among the ranks: rounded down, and up."""
    return batches // ranks, math.ceil(batches / ranks)


def dealt(images: int, ranks: int, epoch: int) -> np.ndarray:
    """Return an epoch's order of the images, with the first ones again at the end, so that it divides evenly.

    The order is that of step 9's solution. Rank R's share is every image number `ranks`, from place R on.
    """
    order = np.random.default_rng(epoch).permutation(images)
    return np.resize(order, math.ceil(images / ranks) * ranks)


def _steps_frame(ranks: int, batches: int) -> Frame:
    down, up = rounded(batches, ranks)
    missing, excess = batches - down * ranks, up * ranks - batches
    drawn = _pass(0, f"Rounded down: {_count(down, 'step')} per rank", ranks, batches, down)
    drawn += _pass(138, f"Rounded up: {_count(up, 'step')} per rank", ranks, batches, up)
    if missing:
        is_missing = f"{missing} of {batches} batches {'is' if missing == 1 else 'are'} missing"
        caption = f"Rounded down: {is_missing}. Rounded up: {_count(excess, 'batch', 'es')} too many."
    else:
        caption = f"{batches} batches on {ranks} ranks: {down} steps per rank are exactly one pass."
    legend = text(WIDTH / 2, 282, "Each box is a batch, with the rank that takes it.", "small")
    return Frame(drawn, 290, caption, background=legend)


def _pass(top: int, title: str, ranks: int, batches: int, steps: int) -> str:
    """Return the batches that all ranks take in so many steps, below a bracket over the batches of one pass."""
    pitch, width, height = 24, 20, 26
    taken = ranks * steps
    y = top + 46
    drawn = [text(0, top + 13, title, "start bold")]
    drawn.append(_bracket(0, pitch * batches, y - 9, 4))
    drawn.append(text(pitch * batches / 2, y - 14, f"one pass: {batches} batches", "small"))
    for rank in range(ranks):
        corners = [(2 + pitch * place, y) for place in range(rank, min(taken, batches), ranks)]
        drawn.append(boxes(corners, width, height, f"box {rank_kind(rank)}"))
    for place in range(batches, taken):
        drawn.append(boxes([(2 + pitch * place, y)], width, height, f"again {rank_kind(place % ranks)}"))
    digits = "".join(str(place % ranks) for place in range(taken))
    drawn.append(letters((12 + pitch * place for place in range(taken)), y + 18, digits))
    drawn.append(boxes([(2 + pitch * place, y) for place in range(taken, batches)], width, height, "empty"))
    for step in range(steps):
        left, right = pitch * step * ranks, pitch * (step + 1) * ranks
        drawn.append(_bracket(left, right, y + 34, -4))
        drawn.append(text((left + right) / 2, y + 48, f"step {step}", "small"))
    if taken != batches:
        words = f"{batches - taken} missing" if taken < batches else f"{taken - batches} too many"
        drawn.append(text(min(pitch * (taken + batches) / 2, WIDTH - 46), y + 68, words, "bold"))
    return "".join(drawn)


def _bracket(left: float, right: float, y: float, teeth: float) -> str:
    """Return a horizontal bracket whose ends point down, or up if teeth is negative."""
    return path(f"M{left + 2} {y + teeth}v{-teeth}H{right - 2}v{teeth}", "bracket")


def _shares_frame(ranks: int, images: int) -> Frame:
    orders = [dealt(images, ranks, epoch) for epoch in (0, 1)]
    drawn = [_order(88 * epoch, epoch, order, ranks, images) for epoch, order in enumerate(orders)]
    drawn += [text(146, 190, "share in epoch 0", "small"), text(284, 190, "share in epoch 1", "small")]
    described = []
    for rank in range(ranks):
        y = 198 + 30 * rank
        drawn.append(text(0, y + 17, f"rank {rank}", "start bold"))
        drawn.append(boxes([(80, y), (218, y)], 132, 24, f"box {rank_kind(rank)}"))
        own = [" ".join(map(str, order[rank::ranks])) for order in orders]
        drawn += [text(146, y + 17, own[0]), text(284, y + 17, own[1])]
        described.append(f"Rank {rank}: images {own[0]}, then {own[1]}.")
    again = len(orders[0]) - images
    each = f"{images} images on {ranks} ranks: {len(orders[0]) // ranks} per rank"
    repeated = "image comes" if again == 1 else f"{again} images come"
    caption = f"{each}. The first {repeated} again at the end of the order." if again else f"{each}, each image once."
    return Frame("".join(drawn), 198 + 30 * ranks, caption, " ".join(described))


def _order(top: float, epoch: int, order: np.ndarray, ranks: int, images: int) -> str:
    """Return the order of an epoch, with the rank that takes each image."""
    pitch, width, height = 26, 22, 26
    lefts = [40 + pitch * place + (8 if place >= images else 0) for place in range(len(order))]
    y = top + 22
    drawn = [text(0, top + 14, f"epoch {epoch}: {'a new order' if epoch else 'one order'}", "start bold")]
    for rank in range(ranks):
        drawn.append(boxes([(left, y) for left in lefts[rank:images:ranks]], width, height, f"box {rank_kind(rank)}"))
    for place in range(images, len(order)):
        drawn.append(boxes([(lefts[place], y)], width, height, f"box again {rank_kind(place % ranks)}"))
    middles = [left + width / 2 for left in lefts]
    drawn.append(text(0, y + 18, "image", "start small") + letters(middles, y + 18, "".join(map(str, order)), "bold"))
    taken = "".join(str(place % ranks) for place in range(len(order)))
    drawn.append(text(0, y + 42, "rank", "start small") + letters(middles, y + 42, taken, "small"))
    if len(order) > images:
        drawn.append(text((lefts[images] + lefts[-1] + width) / 2, top + 14, "again", "small"))
    return "".join(drawn)


def _count(number: int, word: str, ending: str = "s") -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}{ending}"
