"""Checks of steps 1 and 2: each rank knows its place, and one of them reports."""

import ast
import re

from grader.checks.horovod.fashion_mnist import FEW, QUICK, SHORT_OF_GPUS, WHOLE, part
from grader.checks.output import own_errors
from grader.checks.training import trained
from grader.reading.parsing import Source
from grader.terms.facts import ARGUMENTS
from grader.terms.findings import Finding, Untold
from grader.terms.runs import HorovodRank, HorovodRuns

# Where these are missing, it is for the steps that bring them to say so.
METRIC_AVERAGE = "MetricAverageCallback"
OF_LATER_STEPS = {"BroadcastGlobalVariablesCallback", METRIC_AVERAGE}

# --- Step 1 -----------------------------------------------------------------------------------------------------------


def _uninitialised(runs: HorovodRuns) -> bool:
    """Whether a rank never initialised Horovod, so that nothing of the later steps can be seen."""
    return any("init" not in rank.facts.order for rank in runs.ranks())


@part.check(
    1,
    points=2,
    asks=("Import Horovod's API for Keras as `hvd`", "Initialise it, before the model is built"),
    figure="visible_gpus",
    clusters=FEW.clusters(WHOLE, QUICK),
    blocks=_uninitialised,
    hint="Horovod has a function that finds the other ranks. Call it right after the imports, on every rank.",
)
def initialised(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Horovod is initialised before the model is built."""
    for rank in runs.ranks():
        order = rank.facts.order
        if "init" not in order:
            if rank.error and "model" not in order:
                return Untold(seen=f"{rank.where} ends before Horovod is initialised.", line=rank.error_line)
            return Finding(
                seen=f"{rank.where} never initialises Horovod, so it knows of no other rank. Expected: every rank does, "
                "before the model is built.",
                line=source.line_of("init"),
            )
        if "model" in order and order.index("init") > order.index("model"):
            return Finding(
                seen=f"{rank.where} initialises Horovod only after the model is built. Expected: before.",
                line=rank.facts.lines.get("init"),
            )
    return None


@part.check(
    1,
    points=3,
    asks=("Let the process see only the GPU of its local rank",),
    needs=(initialised,),
    figure="visible_gpus",
    blocks=lambda runs: False,
    hint="GPUs are numbered from 0 on each host. Which of a rank's numbers is, too? A GPU is chosen before anything of "
    "TensorFlow uses one.",
)
def pinned(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Each rank sees the one GPU of its local rank, when the model is built.

    Expected are the GPUs that the solution sees on each rank.
    """
    for rank, right in _with_gpus(runs, expected):
        if _takes_missing_gpu(rank, source):
            expects = f"Expected: it takes {_gpus(right.facts.gpus)}, by its local rank."
            return Finding(seen=f"{rank.where} fails: {rank.error}. {expects}", line=rank.error_line, explains=True)
    for rank, right in _with_gpus(runs, expected):
        seen, should = _gpus(rank.facts.gpus), _gpus(right.facts.gpus)
        if "model" in rank.facts.order and rank.facts.gpus != right.facts.gpus:
            line = rank.facts.lines.get("gpu") or source.line_of("set_visible_devices", "CUDA_VISIBLE_DEVICES")
            return Finding(seen=f"{rank.where} can see {seen}. Expected: {should}, by its local rank.", line=line)
    return _modelless(runs, expected)


@part.check(
    1,
    points=2,
    asks=("let its memory grow as needed",),
    needs=(initialised,),
    figure="visible_gpus",
    blocks=lambda runs: False,
    hint="TensorFlow's configuration has a setting for the memory of a GPU. It is for the GPU that this rank sees.",
)
def memory_grows(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Each rank lets the memory of its GPU grow.

    Looks at the GPUs that the rank sees, whether they are those that it should see or not.
    """
    for rank, _ in _with_gpus(runs, expected):
        if "model" in rank.facts.order and not set(rank.facts.gpus) <= set(rank.facts.memory_growth):
            line = source.line_of("set_memory_growth") or rank.facts.lines.get("gpu")
            what = f"{rank.where} takes all memory of {_gpus(rank.facts.gpus)} at once"
            return Finding(seen=f"{what}. Expected: memory growth.", line=line)
    blind = next((rank for rank, _ in _with_gpus(runs, expected) if not rank.facts.gpus), None)
    if blind and "model" in blind.facts.order:
        return Untold(seen=f"{blind.where} can see no GPU.")
    return _modelless(runs, expected)


@part.check(
    1,
    points=1,
    asks=("The program must still run on a host without GPUs",),
    needs=(initialised,),
    blocks=lambda runs: False,
    hint="On a host without GPUs the list of GPUs is empty, and there is none to choose.",
)
def without_gpus(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The program runs on a host without GPUs, too."""
    for name, ranks in runs.clusters.items():
        if expected.clusters[name][0].facts.gpus:
            continue
        for rank in ranks:
            if "model" not in rank.facts.order:
                if rank.ended_for:
                    return Untold(seen=f"{rank.where} had to be ended before it builds a model.")
                for other, _ in _with_gpus(runs, expected):
                    if "model" not in other.facts.order:  # so that is not for want of a GPU
                        return Untold(seen=f"{other.where} ends before it builds a model.", line=other.error_line)
                return Finding(
                    seen=f"{rank.where} builds no model: {rank.error or 'it ends before'}. Expected: the program runs there "
                    "as it does on hosts with GPUs.",
                    line=rank.error_line or rank.facts.lines.get("exit"),
                    explains=True,
                )
    return None


@part.check(
    1,
    points=2,
    asks=("When a host has GPUs, but fewer than ranks, end with an error message of your own", "One rank's is enough"),
    needs=(initialised,),
    blocks=lambda runs: False,
    hint="One of Horovod's numbers counts the ranks on a host. Where there are GPUs, compare it with their number.",
)
def enough_gpus(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The program ends with a message when a host has fewer GPUs than ranks.

    One rank that ends with an error is enough, since the launcher then ends the others.
    """
    ranks = runs.reserved.get(SHORT_OF_GPUS.name, [])
    if not ranks:
        return Untold(seen=f"Not run on {SHORT_OF_GPUS.description}, since the program had to be ended before.")
    refusal = next((rank for rank in ranks if _refuses(rank, source)), None)
    if not refusal:
        return _goes_on(ranks, source)
    with_gpus = [rank for rank, _ in _with_gpus(runs, expected)]
    same = [rank for rank in runs.ranks() if refusal.error and _plain(rank.error) == _plain(refusal.error)]
    wrong = next((rank for rank in same if rank in with_gpus), None)
    if wrong and all(rank in with_gpus for rank in same) and "model" not in wrong.facts.order:
        message = (
            f"{wrong.where} ends: {wrong.error}. Expected: it trains, as its host has a GPU for each of its ranks."
        )
        return Finding(seen=message, line=wrong.error_line, explains=True)
    if wrong:  # it ends everywhere, whatever GPUs there are
        return Untold(seen=f"{wrong.where} ends before it is known how many GPUs there are.", line=wrong.error_line)
    return None


def _refuses(rank: HorovodRank, source: Source) -> bool:
    """Whether a rank ends with an error and a text, which are the program's own."""
    error = rank.facts.error
    if not error:
        return bool(rank.exit and not rank.ended_for and rank.stdout.strip())
    if error.kind == "SystemExit" and re.fullmatch(r"\d*", error.message):
        return bool(rank.stdout.strip() or rank.stderr.strip())
    return bool(error.message) and (error.kind in ("SystemExit", ARGUMENTS) or source.raises(error.kind, error.line))


def _goes_on(ranks: list[HorovodRank], source: Source) -> Finding:
    """Say what ranks do that are more than their host has GPUs, where none of them refuses to start."""
    last = ranks[-1]
    failed = next((rank for rank in ranks if rank.error), None)
    line = source.line_of("set_visible_devices", "CUDA_VISIBLE_DEVICES")
    if "model" in last.facts.order:
        shares = (rank.number for rank in ranks[:-1] if set(rank.facts.gpus) & set(last.facts.gpus))
        seen = f"{_gpus(last.facts.gpus)}, which is rank {next(shares, 0)}'s" if last.facts.gpus else "no GPU"
        what = f"{last.where} sees {seen}, and continues"
    elif failed:
        what, line = f"{failed.where} fails: {failed.error}", failed.error_line
    elif last.ended_for:
        what = f"{last.where} does not end"
    else:
        silently = " and no message" if last.exit else ", as after success"
        what, line = f"{last.where} ends with exit status {last.exit}{silently}", last.facts.lines.get("exit")
    return Finding(
        seen=f"{what}. Expected: an error with a message of its own, that the host has too few GPUs.", line=line
    )


def _takes_missing_gpu(rank: HorovodRank, source: Source) -> bool:
    """Whether a rank fails since it takes a GPU by a number that its host does not have."""
    if rank.error_kind != "IndexError" or not rank.error_line or "model" in rank.facts.order:
        return False
    lines = source.text.splitlines()[rank.error_line - 1 : rank.error_line]
    return any(re.search(r"gpu|rank|size", line) for line in lines)


def _plain(error: str | None) -> str:
    return re.sub(r"\d+", "#", error or "")


def _with_gpus(runs: HorovodRuns, expected: HorovodRuns) -> list[tuple[HorovodRank, HorovodRank]]:
    """Return the ranks on hosts with GPUs, each with the solution's rank."""
    pairs = zip(runs.ranks(), expected.ranks(), strict=False)
    return [(rank, right) for rank, right in pairs if right.facts.gpus]


def _modelless(runs: HorovodRuns, expected: HorovodRuns) -> Finding | None:
    """Say which rank on a host with GPUs builds no model, so that nothing can be seen of its GPU."""
    for rank, _ in _with_gpus(runs, expected):
        if "model" not in rank.facts.order and (rank.error or rank.ended_for or not rank.number):
            return Untold(seen=f"{rank.where} ends before it builds a model.", line=rank.error_line)
    return None  # a rank that ends by itself while rank 0 continues is step 2's


def _gpus(numbers: list[int]) -> str:
    if not numbers:
        return "no GPU"
    return f"GPU {numbers[0]}" if len(numbers) == 1 else f"GPUs {', '.join(map(str, numbers))}"


# --- Step 2 -----------------------------------------------------------------------------------------------------------


@part.check(
    2,
    points=4,
    asks=("make `verbose` 1 on rank 0", "`fit`, `evaluate`, the callbacks and the last two lines use it already"),
    needs=(initialised,),
    figure="lines_printed",
    hint="Which of a rank's numbers is 0 on one rank of the whole job?",
)
def rank_0_reports(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Rank 0 reports progress."""
    for rank in runs.ranks():
        if rank.number == 0:
            if not rank.facts.fits or not (rank.facts.fits[0].batches or rank.error or rank.ended_for):
                return trained([rank])
            cut_short = (rank.error or rank.ended_for) and not rank.facts.fits[0].epochs[1:]
            if not rank.facts.fits[0].verbose or not (rank.stdout.strip() or cut_short):
                line = source.line_of("verbose")
                return Finding(
                    seen=f"{rank.where} reports nothing. Expected: the progress of training, on rank 0.", line=line
                )
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
    for rank in runs.ranks():
        said = rank.number and (rank.stdout.strip() or own_errors(rank))
        if said:
            line = _line_of_output(rank, source)
            shown = said.splitlines()[0].split("\r")[-1].replace("\b", "").strip()
            shown = re.sub(r"\d[\d.]*", "#", shown.split(" - ETA")[0])[:80]  # times differ from one run to the next
            return Finding(seen=f"{rank.where} prints too: “{shown}”. Expected: rank 0 alone reports.", line=line)
    for rank in runs.ranks():
        if rank.number and (rank.error or rank.ended_for) and trained([rank]):
            return trained([rank])
    return None


@part.check(
    2,
    points=2,
    asks=("All ranks still do the same work",),
    needs=(initialised,),
    hint="Under a condition on the rank there is only what prints or writes.",
)
def same_work(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """All ranks do the same work, and rank 0 alone writes logs."""
    for name, ranks in runs.clusters.items():
        for rank, right in zip(ranks[1:], expected.clusters[name][1:], strict=False):
            finding = _differs(ranks[0], rank, right, source)
            if finding:
                return finding
    return trained(runs.ranks())


def _line_of_output(rank: HorovodRank, source: Source) -> int | None:
    """Return where a rank prints what it should not; what says how verbose it is, where that is a variable."""
    line = rank.facts.lines.get("print")
    by_variable = isinstance(source.keyword("verbose", line), ast.Name)
    in_silent_fit = line == rank.facts.lines.get("fit") and not (rank.facts.fits and rank.facts.fits[0].verbose)
    return source.line_of("verbose") if by_variable and not in_silent_fit else line


def _differs(zero: HorovodRank, rank: HorovodRank, right: HorovodRank, source: Source) -> Finding | None:
    """Whether a rank that reports nothing does all else that rank 0 does."""
    cut_short = rank.error or zero.error or rank.ended_for
    if not (rank.facts.fits or cut_short) and zero.facts.fits:
        message = f"{rank.where} ends without training. Expected: all ranks train, and rank 0 alone reports."
        return Finding(
            seen=message, line=rank.facts.lines.get("exit") or source.line_of("epochs", "fit"), explains=True
        )
    if not (rank.facts.fits and zero.facts.fits):
        return None
    own, first, should = rank.facts.fits[0], zero.facts.fits[0], right.facts.fits[0]
    of_others = set(OF_LATER_STEPS)
    if METRIC_AVERAGE in should.callbacks:  # step 6 is judged too, and what reads metrics is its affair
        of_others |= {callback for _, callback, _, _ in right.facts.fits[0].reads}
    for callback in should.callbacks:
        if callback in first.callbacks and callback not in own.callbacks and callback not in of_others:
            message = f"{rank.where} trains without {callback}, which rank 0 has. Expected: on all ranks, as before."
            return Finding(seen=message, line=source.line_of(callback, "callbacks"))
    # From step 5 on, it is for that step to say so.
    if own.steps_per_epoch != first.steps_per_epoch and should.steps_per_epoch == FEW.train_batches and not cut_short:
        message = f"{rank.where} has steps_per_epoch={own.steps_per_epoch}, and rank 0 {first.steps_per_epoch}."
        return Finding(
            seen=f"{message} Expected: all ranks do the same work.", line=source.line_of("steps_per_epoch", "fit")
        )
    for one, fit in ((zero, first), (rank, own)):
        if len(fit.epochs) != len(should.epochs) and METRIC_AVERAGE not in should.callbacks and not cut_short:
            message = f"{one.where} trains for another number of epochs in model.fit: {len(fit.epochs)}. Expected: "
            return Finding(seen=f"{message}{len(should.epochs)}, on all ranks.", line=source.line_of("epochs", "fit"))
    if own.log_dirs:
        message = f"{rank.where} writes TensorBoard's logs, too. Expected: rank 0 alone does."
        return Finding(seen=message, line=source.line_of("TensorBoard"))
    validates = [any(epoch.validation_steps for epoch in fit.epochs) for fit in (first, own)]
    if validates == [True, False] and not cut_short:
        message = f"{rank.where} never validates, and rank 0 does. Expected: all ranks do the same work."
        return Finding(seen=message, line=source.line_of("validation_data", "fit"))
    return None
