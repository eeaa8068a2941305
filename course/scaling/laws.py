"""Speed-up and efficiency, and the two laws about them."""


def speed_up(seconds_on_one: float, seconds: float) -> float:
    """Return how many times as fast the same work is on several ranks."""
    return seconds_on_one / seconds


def efficiency(base_rate: float, base_ranks: int, rate: float, ranks: int) -> float:
    """Return the rate per rank as a share of the rate per rank of a smaller run; rates are images per second."""
    return rate / ranks / (base_rate / base_ranks)


def amdahl(serial: float, ranks: int) -> float:
    """Return the speed-up of a fixed amount of work (Amdahl, 1967).

    Args:
        serial: share of the time on one rank that only one rank can work, from 0 to 1.
        ranks: their number.
    """
    return 1 / (serial + (1 - serial) / ranks)


def gustafson(serial: float, ranks: int) -> float:
    """Return the speed-up of an amount of work that grows with the ranks (Gustafson, 1988).

    Args:
        serial: share of the time on all ranks that only one rank works, from 0 to 1.
        ranks: their number.
    """
    return ranks - serial * (ranks - 1)
