"""The ring allreduce, message by message: which rank sends which chunk, and the sums that each rank holds."""

from collections.abc import Iterable

import numpy as np
from IPython.display import HTML

from course.moving.drawing import WIDTH, boxes, down, path, rank_kind, text
from course.moving.flipbook import Frame, flip_book
from course.ring import Message, State, allreduce

LEFT, RIGHT, TOP = 60, 22, 44  # around the chunks: ranks' names, the way back from the last rank, chunks' names
NAMES = 26  # the middle of the ranks' names
HEIGHT, PITCH = 36, 62  # of a chunk, and from rank to rank


def ring() -> HTML:
    """Return a figure of a ring allreduce on 2 to 5 ranks, with a picture before and after each message."""
    frames = {}
    for ranks in range(2, 6):
        states = allreduce([_gradient(rank, ranks) for rank in range(ranks)])
        for sent in range(len(states)):
            frames[ranks, f"{sent} of {len(states) - 1}"] = _frame(states, sent)
    return flip_book("Ring allreduce, message by message", ("ranks", "messages"), frames, (4, "1 of 6"), plays=True)


def _gradient(rank: int, ranks: int) -> np.ndarray:
    """Return an example: for each chunk a number, and a tally with a one for this rank, which is summed as well.

    Returns:
        An array of shape (ranks, 1 + ranks).
    """
    numbers = 1 + rank * ranks + np.arange(ranks)
    return np.column_stack([numbers, np.tile(np.eye(ranks, dtype=int)[rank], (ranks, 1))])


def _number(chunk: np.ndarray) -> int:
    return int(chunk[0, 0])


def _holds(chunk: np.ndarray) -> list[int]:
    """Return the ranks whose numbers are in the sum."""
    return [int(rank) for rank in np.flatnonzero(chunk[0, 1:])]


class _Grid:
    """Where the chunks of all ranks are: a row per rank, a column per chunk."""

    def __init__(self, ranks: int):
        self.ranks = ranks
        self.pitch = (WIDTH - LEFT - RIGHT) // ranks // 2 * 2
        self.width = self.pitch - 8
        self.bottom = self.top(ranks - 1) + HEIGHT

    def left(self, chunk: int) -> int:
        return LEFT + chunk * self.pitch

    def middle(self, chunk: int) -> int:
        return self.left(chunk) + self.width // 2

    def top(self, rank: int) -> int:
        return TOP + rank * PITCH

    def boxes(self, rank: int, chunks: Iterable[int], kind: str) -> str:
        """Return boxes for some chunks of a rank."""
        corners = [(self.left(chunk), self.top(rank)) for chunk in chunks]
        return boxes(corners, self.width, HEIGHT, f"{kind} {rank_kind(rank)}")

    def pip(self, middle: int, rank: int, other: int) -> str:
        """Return a small square for another rank, below what is in the middle of a rank's row."""
        return f"M{middle + 9 * other - 9 * (self.ranks - 1) // 2 - 3} {self.top(rank) + 28}h6"


def _frame(states: list[State], sent: int) -> Frame:
    state, ranks = states[sent], len(states[sent].chunks)
    grid = _Grid(ranks)
    drawn = [_row(grid, state, rank) for rank in range(ranks)]
    drawn += [_pips(grid, state, rank) for rank in range(ranks)]
    drawn += [_arrow(grid, message) for message in state.messages]
    drawn.append(f"<g class='m-small m-start'>{''.join(_sent(grid, message) for message in state.messages)}</g>")
    sends = [
        f"Rank {message.sender} to rank {message.receiver}: chunk {message.chunk}, {_number(message.content)}."
        for message in state.messages
    ]
    return Frame("".join(drawn), grid.bottom + 44, _caption(states, sent), " ".join(sends), _background(grid))


def _background(grid: _Grid) -> str:
    """Return all that a message does not change."""
    everything = range(grid.ranks)
    drawn = [text(grid.middle(chunk), 14, f"chunk {chunk}", "small") for chunk in everything]
    for rank in everything:
        drawn.append(text(NAMES, grid.top(rank) + 17, f"rank {rank}", "bold"))
        drawn.append(path(grid.pip(NAMES, rank, rank), f"pips {rank_kind(rank)}"))
        drawn.append(grid.boxes(rank, everything, "box"))
    legend = "Small squares: the ranks whose numbers are in the sum."
    return "".join(drawn) + text(WIDTH / 2, grid.bottom + 36, legend, "small")


def _row(grid: _Grid, state: State, rank: int) -> str:
    """Return a rank's numbers, those that have just arrived in bold, and its complete sums in a stronger colour."""
    own = state.chunks[rank]
    arrived = [message.chunk for message in state.messages if message.receiver == rank]
    complete = [chunk for chunk in range(grid.ranks) if len(_holds(own[chunk])) == grid.ranks]
    numbers = [
        text(grid.middle(chunk), grid.top(rank) + 18, _number(own[chunk]), "bold" if chunk in arrived else "")
        for chunk in range(grid.ranks)
    ]
    marks = grid.boxes(rank, complete, "full") + grid.boxes(rank, arrived, "new")
    return f"{marks}<g class='m-big'>{''.join(numbers)}</g>"


def _pips(grid: _Grid, state: State, rank: int) -> str:
    """Return the small squares of a rank, in all sums that hold its number."""
    squares = [
        grid.pip(grid.middle(chunk), holder, rank)
        for holder in range(grid.ranks)
        for chunk in range(grid.ranks)
        if rank in _holds(state.chunks[holder][chunk])
    ]
    return path("".join(squares), f"pips {rank_kind(rank)}")


def _arrow(grid: _Grid, message: Message) -> str:
    """Return the way of a message: to the next row, or from the last row around all others to the first one."""
    x, start, end = grid.middle(message.chunk), grid.top(message.sender) + HEIGHT, grid.top(message.receiver) - 3
    around = "" if message.receiver else f"v11H{WIDTH - 8}V23H{x}"
    return down(f"M{x} {start}{around}V{end}", f"line {rank_kind(message.sender)}")


def _sent(grid: _Grid, message: Message) -> str:
    """Return the number that a message carries, next to the head of its arrow."""
    return text(grid.middle(message.chunk) + 7, grid.top(message.receiver) - 9, _number(message.content))


def _caption(states: list[State], sent: int) -> str:
    last, ranks = len(states) - 1, len(states[0].chunks)
    if not sent:
        return f"Before the first message: each rank has cut its gradient, {ranks} numbers, into {ranks} chunks."
    message = f"Message {sent} of {last}:"
    if sent == last:
        numbers = sum(message.content.shape[0] for state in states for message in state.messages if not message.sender)
        return f"{message} all ranks hold all sums. Each rank has sent {numbers}/{ranks} of the size of its gradient."
    if not states[sent].messages[0].adds:
        return f"{message} each rank sends a complete sum, and the next rank keeps it."
    if not states[sent + 1].messages[0].adds:
        return f"{message} the last additions. Each rank now has one complete sum."
    return f"{message} each rank sends a chunk, and the next rank adds it to its own."
