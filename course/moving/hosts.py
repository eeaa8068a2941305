"""Who is who: the rank, local rank and cross rank of each process, for hosts and slots."""

from IPython.display import HTML

from course.internal.simulated_hosts import Slot, slot
from course.moving.drawing import WIDTH, box, rank_kind, text
from course.moving.flipbook import Frame, flip_book

HOST, GAP = 72, 10  # the height of a host, and the distance to the next one


def who_is_who() -> HTML:
    """Return a figure of 1 to 4 hosts with 1 to 4 slots each, and of the processes that fill them."""
    frames = {(hosts, slots): _frame(hosts, slots) for hosts in range(1, 5) for slots in range(1, 5)}
    return flip_book("Who is who on hosts with slots", ("hosts", "slots per host"), frames, (2, 2))


def _frame(hosts: int, slots: int) -> Frame:
    processes = [slot(rank, hosts, slots) for rank in range(hosts * slots)]
    first = processes[0]
    drawn = [_host(host, hosts, slots) for host in range(hosts)]
    drawn += [_process(process) for process in processes]
    sizes = f"size {first.size} · local size {first.local_size} · cross size {first.cross_size}"
    bottom = hosts * (HOST + GAP)
    drawn.append(text(WIDTH / 2, bottom + 14, sizes, "bold"))
    return Frame("".join(drawn), bottom + 22, _caption(processes), _described(processes))


def _host(host: int, hosts: int, slots: int) -> str:
    top = host * (HOST + GAP)
    same = slot(host * slots, hosts, slots)  # the cross rank is that of all its processes
    name = text(10, top + 17, f"host {host}", "start bold")
    cross = text(WIDTH - 10, top + 17, f"cross rank {same.cross_rank}", "end")
    return box(1, top + 1, WIDTH - 2, HOST - 2, "host") + name + cross


def _process(process: Slot) -> str:
    top = process.cross_rank * (HOST + GAP)
    pitch = (WIDTH - 12) / process.local_size
    left = 8 + process.local_rank * pitch
    middle = left + (pitch - 4) / 2
    return (
        box(left, top + 24, pitch - 4, 40, f"box {rank_kind(process.rank)}")
        + text(middle, top + 41, f"rank {process.rank}", "bold")
        + text(middle, top + 57, f"local rank {process.local_rank}", "small")
    )


def _caption(processes: list[Slot]) -> str:
    first = processes[0]
    if first.cross_size == 1:
        return f"1 host, {first.size} {_plural('process', first.size)}: rank and local rank are the same number."
    same = [str(process.rank) for process in processes if process.local_rank == 0]
    ranks = f"{', '.join(same[:-1])} and {same[-1]}"
    return f"{first.cross_size} hosts, {first.size} processes: ranks {ranks} have local rank 0, one per host."


def _described(processes: list[Slot]) -> str:
    return " ".join(f"Rank {each.rank}: host {each.cross_rank}, local rank {each.local_rank}." for each in processes)


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}es"
