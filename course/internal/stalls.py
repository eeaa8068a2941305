"""Explain a deadlock of ranks: which collective each of them waits in, and which ranks are at fault.

Launchers learn this from Horovod's stall report, the judge from the collectives that its ranks show. The explanation is
the same for both.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

VARIABLES = "the broadcast of the variables"
METRICS = "the average of the metrics"
GRADIENTS = "the average of the gradients"

# Names of tensors in Horovod's reports, and Horovod's own functions, in words.
_KNOWN = (
    (METRICS, r"\b_average_metrics_in_place\b"),
    (VARIABLES, r"\bHorovodBroadcast_|\bbroadcast_variables\b"),
    (GRADIENTS, r"Distributed\w*_Allreduce/|\bHorovodAllreduce_grads|\ballreduce_grads\b"),
)

RULE = "every rank joins every collective (allreduce, broadcast), as often as the others do"
EXPECTED = f"Expected: {RULE}."
_ADVICE = {
    VARIABLES: "Look for a broadcast, or its callback, that {} lacks.",
    METRICS: "Look for a MetricAverageCallback that {} lacks, and for a number of steps that differs between ranks.",
    GRADIENTS: "Look for a number of steps or epochs that differs between ranks.",
}

_REPORT = "Missing ranks"
_LINE = re.compile(r"^(\d+)(!?): \[(.*?)(?: \.\.\.)?\]$")


@dataclass(frozen=True)
class Wait:
    """A collective that some ranks have joined, and others have not."""

    collective: str  # in words
    inside: tuple[str, ...]  # ranks that wait in it
    missing: tuple[str, ...]
    late: bool = False  # whether Horovod marks all of these: they have kept the others waiting for too long


def in_words(collective: str) -> str:
    """Return what a collective does, if Horovod started it for the learner, and otherwise its name.

    Args:
        collective: a tensor's name in Horovod's report, or what a rank of the judge shows.
    """
    return next((words for words, pattern in _KNOWN if re.search(pattern, collective)), collective)


def reported(printed: Mapping[int, Collection[str]], size: int) -> list[Wait]:
    """Return the waits in Horovod's last stall report, which has all ranks; none where there is no report.

    The report lists, for each rank that others wait for, at most six of the tensors that it has not brought. Tensors
    that Horovod has in its cache come into it late or not at all: a rank without a place may wait in one of these.

    Args:
        printed: by rank, the lines that it printed.
        size: the number of ranks.
    """
    lines = next((list(lines) for lines in printed.values() if any(_REPORT in line for line in lines)), [])
    if not lines:
        return []
    last = max(number for number, line in enumerate(lines) if _REPORT in line)
    missing: dict[str, dict[str, set[int]]] = {}  # collective in words -> tensor -> ranks
    marked: set[int] = set()
    for line in lines[last + 1 :]:
        found = _LINE.match(line)
        if not found:
            break
        if found[2]:
            marked.add(int(found[1]))
        for tensor in found[3].split(", "):
            missing.setdefault(in_words(tensor), {}).setdefault(tensor, set()).add(int(found[1]))
    waits = []
    for collective, absent in ((words, ranks) for words, tensors in missing.items() for ranks in _apart(tensors, size)):
        inside = [rank for rank in range(size) if rank not in absent]
        words = _eager(collective, [line for rank in inside for line in printed.get(rank, ())])
        waits.append(Wait(words, _names(inside), _names(sorted(absent)), absent <= marked))
    return waits


def _apart(tensors: dict[str, set[int]], size: int) -> list[set[int]]:
    """Return the ranks that are missing in one kind of collective: all, unless some wait in one for others in another.

    That is so where variables have different names on different ranks.
    """
    everybody = set[int]().union(*tensors.values())
    if len(everybody) < size:
        return [everybody]
    return [set(ranks) for ranks in dict.fromkeys(map(frozenset, tensors.values()))]


def _eager(collective: str, lines: list[str]) -> str:
    """Return the words for a collective outside of tf.function, of which Horovod's report has only the kind.

    Args:
        collective: as reported.
        lines: that the ranks in it printed; with the error that ends the wait, they print where they waited.
    """
    if not re.fullmatch(r"Horovod[A-Z]\w*", collective):
        return collective if " " in collective else f"“{collective}”"
    if collective == "HorovodAllreduce" and any("_average_metrics_in_place" in line for line in lines):
        return METRICS
    kind = collective.removeprefix("Horovod").lower()
    return f"an {kind}" if kind[0] == "a" else f"a {kind}"


def shown(places: Mapping[str, str]) -> list[Wait]:
    """Return the waits of ranks that show where they are.

    Args:
        places: by the rank's name, the collective that it is in, or "".
    """
    words = {rank: in_words(place) for rank, place in places.items()}
    return [
        Wait(
            collective,
            tuple(rank for rank in words if words[rank] == collective),
            tuple(rank for rank in words if words[rank] != collective),
        )
        for collective in dict.fromkeys(filter(None, words.values()))
    ]


def at_fault(waits: list[Wait]) -> Wait | None:
    """Return the wait whose missing ranks are at fault; None if that cannot be known.

    Where ranks wait in two collectives, each group is missing in the other's. The one that has waited for longest was
    skipped. Otherwise it is the one that comes once, of a collective that comes in every step: a rank that waits there
    has left the other behind.
    """
    if len(waits) > 1 and _is_one_collective(waits):
        return None
    late = [wait for wait in waits if wait.late]
    if len(waits) == 1 or len(late) == 1:
        return (late or waits)[0]
    once = [wait for words in (VARIABLES, METRICS) for wait in waits if wait.collective == words]
    return once[0] if once else None


def _is_one_collective(waits: list[Wait]) -> bool:
    """Return whether all ranks wait in collectives that are for the same thing."""
    return len({wait.collective for wait in waits}) == 1


def explain(waits: list[Wait], elsewhere: Mapping[str, str] | None = None) -> str:
    """Say which ranks wait where and, if that can be known, which of them are at fault.

    Args:
        waits: at least one.
        elsewhere: what a rank that waits nowhere does, in words that follow its name; nothing is said of others.
    """
    first = at_fault(waits)
    if not first and _is_one_collective(waits):
        ranks = sorted({rank for wait in waits for rank in wait.inside})
        return f"{_join(ranks)} wait in {waits[0].collective}, each with tensors whose names the others do not have"
    if not first:
        return "; ".join(f"{_join(wait.inside)} {_verb(wait.inside, 'wait')} in {wait.collective}" for wait in waits)
    parts = [f"{_join(first.inside)} {_verb(first.inside, 'wait')} in {first.collective}"]
    others = [(wait, [rank for rank in first.missing if rank in wait.inside]) for wait in waits if wait != first]
    placed: set[str] = set()
    for wait, group in others:
        group = [rank for rank in group if rank not in placed]
        placed.update(group)
        if group:
            there = "it waits" if len(group) == 1 else "they wait"
            parts.append(f"{_join(group)} never {_verb(group, 'join')} it: {there} in {wait.collective}")
    for said in dict.fromkeys((elsewhere or {}).get(rank, "") for rank in first.missing if rank not in placed):
        group = [rank for rank in first.missing if rank not in placed and (elsewhere or {}).get(rank, "") == said]
        parts.append(f"{_join(group)} {said or 'never ' + _verb(group, 'join') + ' it'}")
    return "; ".join(parts)


def advice(waits: list[Wait]) -> str:
    """Return what was expected, and what to look at."""
    return f"{EXPECTED} {look_at(waits)}".strip()


def look_at(waits: list[Wait]) -> str:
    """Return what to look at; "" where the waits do not show it."""
    first = at_fault(waits)
    return _ADVICE.get(first.collective, "").format(_join(first.missing, "or")) if first and first.missing else ""


def _names(ranks: Collection[int]) -> tuple[str, ...]:
    return tuple(f"rank {rank}" for rank in ranks)


def _join(names: Collection[str], word: str = "and") -> str:
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last


def _verb(names: Collection[str], verb: str) -> str:
    return verb if len(names) > 1 else f"{verb}s"
