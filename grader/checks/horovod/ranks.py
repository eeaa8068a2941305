"""Checks of steps 1 and 2: each rank knows its place, and one of them reports."""

import ast
import re

from grader.checks.horovod.program import FEW, part
from grader.checks.part import Finding
from grader.checks.training import trained
from grader.facts import Fit, HorovodRank, HorovodRuns
from grader.runner.reading import Source

# Where these are missing, it is for the steps that bring them to say so.
METRIC_AVERAGE = "MetricAverageCallback"
OF_LATER_STEPS = {"BroadcastGlobalVariablesCallback", METRIC_AVERAGE}

# --- Step 1 -----------------------------------------------------------------------------------------------------------


def _uninitialised(runs: HorovodRuns) -> bool:
    """Whether a rank never initialised Horovod, so that nothing of the later steps can be seen."""
    return any("init" not in rank.facts.order for rank in runs.ranks())


@part.check(
    1,
    clusters=FEW.clusters(),
    figure="visible_gpus",
    blocks=_uninitialised,
    hint="Call hvd.init() right after the imports. Where there are GPUs, make only gpus[hvd.local_rank()] visible, "
    "and let its memory grow, before the model is built.",
)
def initialised_and_pinned(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Horovod is initialised before the model is built, and each rank sees the one GPU of its local rank.

    Expected are the GPUs that the solution sees on each rank, with growing memory.
    """
    return _initialised(runs, source) or _pinned(runs, expected, source)


def _initialised(runs: HorovodRuns, source: Source) -> Finding | None:
    for rank in runs.ranks():
        if "init" not in rank.facts.order:
            if rank.error:
                return Finding(f"{rank.where} ends before Horovod is initialised: {rank.error}", rank.error_line)
            return Finding(
                f"{rank.where} never initialises Horovod, so it knows of no other rank.", source.line_of("init")
            )
        if "model" in rank.facts.order and rank.facts.order.index("init") > rank.facts.order.index("model"):
            return Finding(
                f"{rank.where} initialises Horovod only after the model is built.", rank.facts.lines.get("init")
            )
        if "model" not in rank.facts.order and (rank.error or not rank.number):
            return Finding(
                f"{rank.where} ends before it builds a model: {rank.error or 'no reason given'}", rank.error_line
            )
    return None


def _pinned(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    for rank, right in zip(runs.ranks(), expected.ranks(), strict=False):
        if "model" not in rank.facts.order:
            continue  # rank 0 has one: it is step 2's to say that all have to
        line = rank.facts.lines.get("gpu") or source.line_of("set_visible_devices", "CUDA_VISIBLE_DEVICES")
        if rank.facts.gpus != right.facts.gpus:
            seen, expected_gpus = _gpus(rank.facts.gpus), _gpus(right.facts.gpus)
            return Finding(f"{rank.where} can see {seen}. Expected: {expected_gpus}, by its local rank.", line)
        if not set(right.facts.memory_growth) <= set(rank.facts.memory_growth):
            line = source.line_of("set_memory_growth") or line
            return Finding(
                f"{rank.where} takes all memory of {_gpus(right.facts.gpus)} at once. Expected: memory growth.", line
            )
    return None


def _gpus(numbers: list[int]) -> str:
    if not numbers:
        return "no GPU"
    return f"GPU {numbers[0]}" if len(numbers) == 1 else f"GPUs {', '.join(map(str, numbers))}"


# --- Step 2 -----------------------------------------------------------------------------------------------------------


@part.check(
    2,
    needs={1},
    figure="lines_printed",
    hint="verbose decides what is printed: 1 where hvd.rank() is 0, and 0 elsewhere.",
)
def one_voice(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Rank 0 reports progress, and no other rank prints anything.

    Looks at what the host saw on each rank's standard output, and that nothing but output is rank 0's alone.
    """
    for rank in runs.ranks():
        if rank.number and rank.stdout.strip():
            line = _line_of_output(rank, source)
            shown = rank.stdout.strip().splitlines()[0].split("\r")[-1].replace("\b", "").strip()
            shown = re.sub(r"\d[\d.]*", "#", shown.split(" - ETA")[0])[:80]  # times differ from one run to the next
            return Finding(f"{rank.where} prints too: “{shown}”. Expected: rank 0 alone reports.", line)
    for rank in runs.ranks():
        if rank.number == 0:
            if not rank.facts.fits or not (rank.facts.fits[0].batches or rank.error or rank.ended_for):
                return trained([rank])
            cut_short = (rank.error or rank.ended_for) and not rank.facts.fits[0].epochs[1:]
            if not rank.facts.fits[0].verbose or not (rank.stdout.strip() or cut_short):
                line = source.line_of("verbose")
                return Finding(f"{rank.where} reports nothing. Expected: the progress of training, on rank 0.", line)
    for name, ranks in runs.topologies.items():
        for rank, right in zip(ranks[1:], expected.topologies[name][1:], strict=False):
            finding = _silent(ranks[0], rank, right, source)
            if finding:
                return finding
    return None


def _line_of_output(rank: HorovodRank, source: Source) -> int | None:
    """Return where a rank prints what it should not; what says how verbose it is, where that is a variable."""
    line = rank.facts.lines.get("print")
    by_variable = isinstance(source.keyword("verbose", line), ast.Name)
    in_silent_fit = line == rank.facts.lines.get("fit") and not (rank.facts.fits and rank.facts.fits[0].verbose)
    return source.line_of("verbose") if by_variable and not in_silent_fit else line


def _silent(zero: HorovodRank, rank: HorovodRank, right: HorovodRank, source: Source) -> Finding | None:
    """Whether a rank that reports nothing does all else that rank 0 does."""
    if rank.error or zero.error or rank.ended_for:
        return None
    if not rank.facts.fits:
        message = f"{rank.where} ends without training. Expected: all ranks train, and rank 0 alone reports."
        return Finding(message, rank.facts.lines.get("exit") or source.line_of("epochs", "fit"), explains=True)
    own, first, should = rank.facts.fits[0], zero.facts.fits[0], right.facts.fits[0]
    of_others = set(OF_LATER_STEPS)
    if METRIC_AVERAGE in should.callbacks:  # step 6 is judged too, and what reads metrics is its affair
        of_others |= {callback for _, callback, _, _ in right.facts.fits[0].reads}
    for callback in should.callbacks:
        if callback in first.callbacks and callback not in own.callbacks and callback not in of_others:
            message = f"{rank.where} trains without {callback}, which rank 0 has. Expected: on all ranks, as before."
            return Finding(message, source.line_of(callback, "callbacks"))
    if set(own.log_dirs) & set(first.log_dirs):
        message = f"{rank.where} writes TensorBoard's logs where rank 0 writes its own. Expected: rank 0 alone does."
        return Finding(message, source.line_of("TensorBoard"))
    if _validates(first) and not _validates(own):
        message = f"{rank.where} never validates, and rank 0 does. Expected: all ranks do the same work."
        return Finding(message, source.line_of("validation_data", "fit"))
    return None


def _validates(fit: Fit) -> bool:
    return any(epoch.validation_steps for epoch in fit.epochs)
