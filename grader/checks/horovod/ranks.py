"""Checks of steps 1 and 2: each rank knows its place, and one of them reports."""

import ast
import re
from collections.abc import Iterator

from grader.checks.horovod.fashion_mnist import FEW, ONE_GPU_EACH, QUICK, SHORT_OF_GPUS, WHOLE, part
from grader.checks.training import not_run, own_errors, trained
from grader.reading.parsing import Source
from grader.terms.facts import ARGUMENTS
from grader.terms.findings import Finding, Untold, counted, listed
from grader.terms.runs import HorovodRank, HorovodRuns

# Where these are missing, it is for the steps that bring them to say so.
METRIC_AVERAGE = "MetricAverageCallback"
OF_LATER_STEPS = {"BroadcastGlobalVariablesCallback", METRIC_AVERAGE}
CHOICE = "set_visible_devices", "CUDA_VISIBLE_DEVICES"  # where scripts choose a GPU

# --- Step 1 -----------------------------------------------------------------------------------------------------------


def _uninitialised(runs: HorovodRuns) -> bool:
    """Whether a rank never initialised Horovod, so that nothing of the later steps can be seen."""
    return any("init" not in rank.facts.order for rank in runs.ranks())


@part.check(
    1,
    points=2,
    asks=("Initialise it, before the model is built",),
    look_at=("init",),
    figure="visible_gpus",
    clusters=FEW.clusters(WHOLE, QUICK),
    blocks=_uninitialised,
    hint="Horovod has a function that finds the other ranks. Call it right after the imports, on every rank.",
)
def initialised(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Horovod is initialised before the model is built."""
    for rank in runs.ranks():
        order = rank.facts.order
        if "init" not in order and "model" not in order and rank.error:
            return Untold(seen=f"{rank.where} ends before Horovod is initialised", line=rank.error_line)
        if "init" not in order:
            return Finding(
                seen=f"{rank.where} never initialises Horovod, so it knows of no other rank",
                expected="every rank does, before the model is built",
            )
        if "model" in order and order.index("init") > order.index("model"):
            seen = f"{rank.where} initialises Horovod only after the model is built"
            return Finding(seen=seen, expected="before", line=rank.facts.lines.get("init"))
    return None


@part.check(
    1,
    points=3,
    asks=("Let the process see only the GPU of its local rank",),
    look_at=CHOICE,
    needs=(initialised,),
    figure="visible_gpus",
    hint="GPUs are numbered from 0 on each host. Which of a rank's numbers is, too? A process that is shown one GPU "
    "only takes that one. A GPU is chosen before anything of TensorFlow uses one.",
)
def pinned(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Each rank sees one GPU when the model is built: the GPU of its local rank, or the only one that it is shown.

    Expected are the GPUs that the solution sees on each rank. A rank that is shown one GPU only may also end with an
    error, as Horovod's own examples do: what is wrong there is to train without the GPU.
    """
    for rank, right in _with_gpus(runs, expected):
        should = f"{_gpus(right.facts.gpus)}, by its local rank"
        if rank.error_kind == "IndexError" and "model" not in rank.facts.order:  # there is no such GPU
            seen = f"{rank.where} fails: {rank.error}"
            return Finding(seen=seen, expected=f"it takes {should}", line=rank.error_line, explains=True)
        if "model" in rank.facts.order and rank.facts.gpus != right.facts.gpus:
            seen = f"{rank.where} can see {_gpus(rank.facts.gpus)}"
            return Finding(seen=seen, expected=should, line=rank.facts.lines.get("gpu"))
    for rank in runs.reserved.get(ONE_GPU_EACH.name, []):
        if "model" in rank.facts.order and not rank.facts.gpus:
            seen = f"{rank.where} can see no GPU"
            return Finding(seen=seen, expected="the GPU that it is shown", line=rank.facts.lines.get("gpu"))
    return _without_model(runs, expected)


@part.check(
    1,
    points=2,
    asks=("let its memory grow as needed",),
    look_at=("set_memory_growth", *CHOICE),
    needs=(initialised,),
    figure="visible_gpus",
    hint="TensorFlow's configuration has a setting for the memory of a GPU. It is for the GPU that this rank sees.",
)
def memory_grows(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Each rank lets the memory of its GPU grow.

    Looks at the GPUs that the rank sees, whether they are those that it should see or not.
    """
    untold = None
    for rank, _ in _with_gpus(runs, expected):
        if "model" in rank.facts.order and not set(rank.facts.gpus) <= set(rank.facts.memory_growth):
            seen = f"{rank.where} takes all memory of {_gpus(rank.facts.gpus)} at once"
            return Finding(seen=seen, expected="memory growth")
        if "model" in rank.facts.order and not rank.facts.gpus:
            untold = Untold(seen=f"{rank.where} can see no GPU")
    return untold or _without_model(runs, expected)


@part.check(
    1,
    points=1,
    asks=("The program must still run on a host without GPUs",),
    needs=(initialised,),
    hint="On a host without GPUs the list of GPUs is empty, and there is none to choose.",
)
def without_gpus(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The program runs on a host without GPUs, too."""
    pairs = zip(runs.ranks(), expected.ranks(), strict=False)
    rank = next((rank for rank, right in pairs if not right.facts.gpus and "model" not in rank.facts.order), None)
    if not rank:
        return None
    if rank.ended_for:
        return Untold(seen=f"{rank.where} had to be ended before it builds a model")
    if anyway := _without_model(runs, expected):  # so that is not for want of a GPU
        return anyway
    return Finding(
        seen=f"{rank.where} builds no model: {rank.error or 'it ends before'}",
        expected="the program runs there as it does on hosts with GPUs",
        line=rank.error_line or rank.facts.lines.get("exit"),
        explains=True,
    )


@part.check(
    1,
    points=2,
    asks=("end with an error",),
    look_at=CHOICE,
    needs=(initialised,),
    hint="A list of GPUs that is indexed by the local rank raises an error by itself. hvd.local_size() counts the "
    "ranks on a host.",
)
def enough_gpus(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The program ends with an error when a host has fewer GPUs than ranks.

    One rank that ends with an error is enough, since the launcher then ends the others. Any error will do.
    """
    ranks = runs.reserved.get(SHORT_OF_GPUS.name, [])
    if not ranks:
        return not_run(SHORT_OF_GPUS.description)
    refusal = next((rank for rank in ranks if rank.exit and not rank.ended_for), None)
    if not refusal:
        return _continues(ranks)
    with_gpus = [rank for rank, _ in _with_gpus(runs, expected)]
    same = [rank for rank in runs.ranks() if refusal.error and _plain(rank.error) == _plain(refusal.error)]
    wrong = next((rank for rank in same if rank in with_gpus), None)
    own = refusal.error_kind in ("SystemExit", ARGUMENTS) or source.raises(refusal.error_kind, refusal.error_line)
    if wrong and own and all(rank in with_gpus for rank in same) and "model" not in wrong.facts.order:
        return Finding(
            seen=f"{wrong.where} ends: {wrong.error}",
            expected="it trains, as its host has a GPU for each of its ranks",
            line=wrong.error_line,
            explains=True,
        )
    if wrong:  # it ends everywhere, whatever GPUs there are
        return Untold(seen=f"{wrong.where} ends before it knows how many GPUs there are", line=wrong.error_line)
    return None


def _continues(ranks: list[HorovodRank]) -> Finding:
    """Say what ranks do that are more than their host has GPUs, where none of them refuses to start."""
    last, line = ranks[-1], None
    if "model" in last.facts.order:
        shares = (rank.number for rank in ranks[:-1] if set(rank.facts.gpus) & set(last.facts.gpus))
        sees = f"{_gpus(last.facts.gpus)}, which is rank {next(shares, 0)}'s" if last.facts.gpus else "no GPU"
        seen = f"{last.where} sees {sees}, and continues"
    elif last.ended_for:
        seen = f"{last.where} does not end"
    else:
        seen, line = f"{last.where} ends with exit status 0, as after success", last.facts.lines.get("exit")
    return Finding(seen=seen, expected="an error, since the host has too few GPUs", line=line)


def _plain(error: str | None) -> str:
    return re.sub(r"\d+", "#", error or "")


def _with_gpus(runs: HorovodRuns, expected: HorovodRuns) -> Iterator[tuple[HorovodRank, HorovodRank]]:
    """Yield the ranks on hosts with GPUs, each with the solution's rank."""
    pairs = zip(runs.ranks(), expected.ranks(), strict=False)
    return ((rank, right) for rank, right in pairs if right.facts.gpus)


def _without_model(runs: HorovodRuns, expected: HorovodRuns) -> Finding | None:
    """Say which rank on a host with GPUs builds no model, so that nothing can be seen of its GPU."""
    ended = (rank for rank, _ in _with_gpus(runs, expected) if "model" not in rank.facts.order)
    untold = (Untold(seen=f"{rank.where} ends before it builds a model", line=rank.error_line) for rank in ended)
    return next(untold, None)


def _gpus(numbers: list[int]) -> str:
    return f"GPU{'s' * (len(numbers) > 1)} {listed(numbers)}" if numbers else "no GPU"


# --- Step 2 -----------------------------------------------------------------------------------------------------------


@part.check(
    2,
    points=4,
    asks=("make `verbose` 1 on rank 0",),
    look_at=("verbose",),
    needs=(initialised,),
    figure="lines_printed",
    hint="Which of a rank's numbers is 0 on one rank of the whole job?",
)
def rank_0_reports(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Rank 0 reports progress."""
    for rank in (ranks[0] for ranks in runs.clusters.values()):
        fit = rank.facts.fits[0] if rank.facts.fits else None
        ended = bool(rank.error or rank.ended_for)
        if not fit or not (fit.batches or ended):
            return trained([rank])
        if not fit.verbose or not (rank.stdout.strip() or (ended and len(fit.epochs) < 2)):
            return Finding(seen=f"{rank.where} reports nothing", expected="the progress of training, on rank 0")
    return None


@part.check(
    2,
    points=4,
    asks=("0 on every other rank",),
    needs=(initialised,),
    figure="lines_printed",
    hint="verbose decides what is printed. Where does the program print without it, or with another value of it?",
)
def others_are_silent(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """No other rank prints anything.

    Looks at what the host saw on each rank's standard output and error, but for warnings of libraries.
    """
    others = [rank for rank in runs.ranks() if rank.number]
    for rank in others:
        said = rank.stdout.strip() or own_errors(rank)
        if said:
            shown = said.splitlines()[0].split("\r")[-1].replace("\b", "").strip()
            shown = re.sub(r"\d[\d.]*", "#", shown.split(" - ETA")[0])[:80]  # times differ from one run to the next
            seen, line = f"{rank.where} prints too: “{shown}”", _line_of_output(rank, source)
            return Finding(seen=seen, expected="rank 0 alone reports", line=line)
    return trained(rank for rank in others if rank.error or rank.ended_for)


def _line_of_output(rank: HorovodRank, source: Source) -> int | None:
    """Return where a rank prints what it should not; what says how verbose it is, where that is a variable."""
    line = rank.facts.lines.get("print")
    by_variable = isinstance(source.keyword("verbose", line), ast.Name)
    in_silent_fit = line == rank.facts.lines.get("fit") and not (rank.facts.fits and rank.facts.fits[0].verbose)
    return source.line_of("verbose") if by_variable and not in_silent_fit else line


@part.check(
    2,
    points=2,
    asks=("All ranks still do the same work",),
    look_at=("fit",),
    needs=(initialised,),
    hint="Under a condition on the rank there is only what prints or writes.",
)
def same_work(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """All ranks do the same work, and rank 0 alone writes logs."""
    for name, ranks in runs.clusters.items():
        for rank, right in zip(ranks[1:], expected.clusters[name][1:], strict=False):
            if finding := _differs(ranks[0], rank, right, source):
                return finding
    return trained(runs.ranks())


def _differs(zero: HorovodRank, rank: HorovodRank, right: HorovodRank, source: Source) -> Finding | None:
    """Whether a rank that reports nothing does all else that rank 0 does."""
    ended = rank.error or zero.error or rank.ended_for
    if not (rank.facts.fits or ended) and zero.facts.fits:
        return Finding(
            seen=f"{rank.where} ends without training",
            expected="all ranks train, and rank 0 alone reports",
            line=rank.facts.lines.get("exit") or source.line_of("epochs"),
            explains=True,
        )
    if not (rank.facts.fits and zero.facts.fits):
        return None
    own, first, should = rank.facts.fits[0], zero.facts.fits[0], right.facts.fits[0]
    averages = METRIC_AVERAGE in should.callbacks
    of_others = set(OF_LATER_STEPS)
    if averages:  # step 6 is judged too, and what reads metrics is its affair
        of_others |= {callback for _, callback, _, _ in right.facts.fits[0].reads}
    lacks = {*should.callbacks} & {*first.callbacks} - {*own.callbacks} - of_others
    if lacks:
        seen = f"{rank.where} trains without {min(lacks)}, which rank 0 has"
        line = source.line_of(min(lacks), "callbacks")
        return Finding(seen=seen, expected="on all ranks, as before", line=line)
    if own.log_dirs:
        seen, line = f"{rank.where} writes TensorBoard's logs, too", source.line_of("TensorBoard")
        return Finding(seen=seen, expected="rank 0 alone does", line=line)
    if ended:
        return None
    work = "all ranks do the same work"
    # From step 5 on, it is for that step to say so.
    if own.steps_per_epoch != first.steps_per_epoch and should.steps_per_epoch == FEW.train_batches:
        seen = f"{rank.where} has steps_per_epoch={own.steps_per_epoch}, and rank 0 {first.steps_per_epoch}"
        return Finding(seen=seen, expected=work, line=source.line_of("steps_per_epoch"))
    epochs, expected = (len(own.epochs), len(first.epochs)), len(should.epochs)
    if epochs != (expected, expected) and not averages:
        seen = f"In model.fit, {rank.where} trains for {counted(epochs[0], 'epoch')}, and rank 0 for {epochs[1]}"
        return Finding(seen=seen, expected=f"{expected}, on all ranks", line=source.line_of("epochs"))
    if [any(epoch.validation_steps for epoch in fit.epochs) for fit in (first, own)] == [True, False]:
        seen, line = f"{rank.where} never validates, and rank 0 does", source.line_of("validation_data")
        return Finding(seen=seen, expected=work, line=line)
    return None
