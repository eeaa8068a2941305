"""A ring allreduce: every message of it, with the numbers that it carries."""

from typing import NamedTuple

import numpy as np


class Message(NamedTuple):
    """One chunk on its way to the next rank of the ring."""

    sender: int
    receiver: int
    chunk: int
    adds: bool  # the receiver adds the content to its own chunk; otherwise the content replaces it
    content: np.ndarray


class State(NamedTuple):
    """What all ranks hold: chunks[rank][chunk], and the messages that have just arrived, one from each rank."""

    chunks: list[list[np.ndarray]]
    messages: list[Message]


def allreduce(tensors: list[np.ndarray]) -> list[State]:
    """Sum one tensor of each rank over a ring, and return the states: the first one, and one after each message.

    Each of N ranks sends 2(N-1) messages, one after another, each to the next rank. It sums in the first half of them,
    after which every rank holds one complete sum. In the second half, the complete sums go around the ring.

    Args:
        tensors: one per rank, all of the same shape; the first axis is cut into as many chunks as there are ranks.
    """
    ranks = len(tensors)
    chunks = [np.array_split(tensor, ranks) for tensor in tensors]
    states = [State(chunks, [])]
    for number in range(2 * (ranks - 1)):
        messages = []
        for rank in range(ranks):
            chunk = (rank - number) % ranks
            messages.append(Message(rank, (rank + 1) % ranks, chunk, number < ranks - 1, chunks[rank][chunk]))
        chunks = [list(own) for own in chunks]
        for message in messages:
            own = chunks[message.receiver]
            own[message.chunk] = own[message.chunk] + message.content if message.adds else message.content
        states.append(State(chunks, messages))
    return states
