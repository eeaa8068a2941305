"""What several parts' checks share: clusters, comparisons of projections, whether ranks trained, what they printed."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from grader.terms.clusters import Fresh
from grader.terms.findings import Finding, Unclear, Untold
from grader.terms.runs import HorovodRank, HorovodRuns, Rank, Runs

# GPUs of a host: none, as many as its ranks but fewer than all ranks, more than its ranks, which are more than two.
CLUSTERS = (
    Fresh("one-host", "2 ranks on one host without GPUs", 1, 2, 0),
    Fresh("two-hosts", "2 hosts with a rank and a GPU each", 2, 1, 1),
    Fresh("three-ranks", "3 ranks on one host with 4 GPUs", 1, 3, 4),
)

CLOSE = 2e-3  # of the solution's: float32 sums in another order, and gradients compressed to 16 bits, still pass
TRAFFIC = 1 / 3  # of the solution's: gradients of 16 bits in place of 32 are half, and rightly so

# On standard error, a line of a library's: of a warning's text or source, or of TensorFlow's log.
WARNING = re.compile(
    r"[^:]*:\d+: \w*Warning:|(WARNING|INFO|ERROR):(tensorflow|absl):|\d{4}-\d\d-\d\d \d\d:\d\d:[\d.]+: [IWEF] "
    r"|[IWEF]\d{4} |\[(\d|$)"  # Horovod writes the bracket by itself, and may be ended right after it
    # In the sandbox, where matplotlib looks for fonts and finds neither settings nor a list that it has made before.
    r"|Fontconfig (error|warning): |Matplotlib is building the font cache"
    # How records of TensorFlow's log continue, where another worker is gone.
    r'|Additional GRPC error information|:{"created":|The error could be from a previous operation\.'
)
# A line of Horovod's log, which chance decides on where a rank ends before another one; or a progress bar.
UNSAID = re.compile(r"\[(\d{4}-\d\d-\d\d |$)|.*\d+%\|")
DEPRECATED = "Instructions for updating:"  # a line in TensorFlow's warnings; the next one has the instructions


def close(one: Sequence[float] | None, other: Sequence[float] | None, right: Sequence[float] | None) -> bool:
    """Return whether two projections are the same but for rounding.

    The size of what is projected in the solution's run, right, says what rounding may do: no script can increase that.
    """
    if one is None or other is None or right is None:
        return False
    difference = np.abs(np.asarray(one, float) - np.asarray(other, float)).max()
    return bool(difference <= CLOSE * max(np.abs(right).max(), 1e-9))


def trained(ranks: Iterable[HorovodRank]) -> Finding | None:
    """Return why there is nothing to compare, if a rank did not train."""
    for rank in ranks:
        if not rank.facts.fits or not rank.facts.fits[0].batches:
            return Untold(seen=f"{rank.where} does not reach training{_why(rank)}", line=rank.error_line)
    return None


def untrained(runs: HorovodRuns) -> bool:
    """Return whether a rank never trained, so that nothing can be seen of what training does."""
    return trained(runs.ranks()) is not None


def cut_short(rank: Rank[Any]) -> Untold:
    """Say that a rank does not get to where it would show what is asked for."""
    return Untold(seen=f"{rank.where} does not train to its end{_why(rank)}", line=rank.error_line)


def _why(rank: Rank[Any]) -> str:
    return f" ({rank.error})" if rank.error else ""


def not_run(cluster: str) -> Untold:
    """Say that a script was not run on a cluster, since an earlier run had to be ended."""
    return Untold(seen=f"the program had to be ended before it ran on {cluster}")


def hardly_communicated(runs: Runs[Any], expected: Runs[Any], line: int | None = None) -> Finding | None:
    """Return a Finding where processes sent each other much less than the solution's did, per step reported."""
    if _traffic(runs) >= TRAFFIC * _traffic(expected):
        return None
    return Unclear(
        seen="the processes report that they train together, but their host saw them exchange hardly any data",
        expected="about as much per step as the solution's processes exchange",
        line=line,
    )


def _traffic(runs: Runs[Any]) -> float:
    """Return the bytes that went between the processes for each training step that they report."""
    return runs.traffic / max(1, sum(fit.steps for rank in runs.ranks() for fit in rank.facts.fits))


def said(rank: Rank[Any]) -> list[str]:
    """Return the lines that a rank printed, by whatever logger, without Horovod's log and progress bars."""
    lines = (*rank.stdout.splitlines(), *rank.stderr.splitlines())
    return [line for line in lines if line.strip() and not UNSAID.match(line)]


def own_errors(rank: Rank[Any]) -> str:
    """Return what the script itself wrote to standard error."""
    own, warned, above = [], False, ""
    for line in rank.stderr.splitlines():
        if line.strip() and not line[0].isspace():  # what is indented belongs to the line above
            warned = bool(WARNING.match(line)) or (warned and DEPRECATED in (line, above))
        above = line
        if line.strip() and not warned:
            own.append(line)
    return "\n".join(own)
