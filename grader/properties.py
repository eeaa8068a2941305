"""The properties of steps 1 to 4, one function each: what a script did, held beside what the step's solution did.

Each judge_… function takes the runs and returns None where the property is there; otherwise a Finding says what was
found, what was expected, and which part of the script is the place to look. Expectations are read off the solution's
own runs.
"""

import ast
import re
from dataclasses import dataclass

import numpy as np

from grader.facts import RankFacts, Runs
from grader.source import Source

# Where these are missing, it is the steps that bring them to say so.
BROADCAST, METRIC_AVERAGE = "BroadcastGlobalVariablesCallback", "MetricAverageCallback"
OF_LATER_STEPS = {BROADCAST, METRIC_AVERAGE}

CLOSE = 2e-3  # relative: float32 sums in another order, and gradients compressed to 16 bits, still pass


@dataclass
class Finding:
    """Why a property is missing, or cannot be told."""

    message: str
    line: int | None = None
    unclear: bool = False
    untold: bool = False  # since the program does not run
    explains: bool = False  # why the program does not run to its end, too


def close(one, other) -> bool:
    """Return whether two projections are the same but for rounding."""
    one, other = np.asarray(one, float), np.asarray(other, float)
    scale = max(np.abs(one).max(), np.abs(other).max(), 1e-9)
    return bool(np.isfinite(scale) and np.abs(one - other).max() <= CLOSE * scale)


def uninitialised(runs: Runs) -> bool:
    """Return whether a rank never initialised Horovod, so that nothing of the later steps can be told."""
    return any("init" not in facts.order for _, facts in runs.ranks())


def untrained(runs: Runs) -> bool:
    """Return whether a rank never trained, so that nothing can be told of what training does."""
    return any(not facts.fits or not facts.fits[0]["batches"] for _, facts in runs.ranks())


# --- Step 1 -----------------------------------------------------------------------------------------------------------


def judge_initialised_and_pinned(runs: Runs, expected: Runs, source: Source) -> Finding | None:
    """Horovod before the model, and on each rank the GPUs that the solution sees there, with growing memory."""
    for where, facts in runs.ranks():
        if "init" not in facts.order:
            if facts.error:
                return Finding(f"{where} ends before Horovod is initialised: {facts.error}", facts.error_line)
            return Finding(f"{where} never initialises Horovod, so it knows of no other rank.", source.line_of("init"))
        if "model" in facts.order and facts.order.index("init") > facts.order.index("model"):
            return Finding(f"{where} initialises Horovod only after the model is built.", facts.lines.get("init"))
        if "model" not in facts.order and (facts.error or not facts.rank):
            return Finding(
                f"{where} ends before it builds a model: {facts.error or 'no reason given'}", facts.error_line
            )
    for (where, facts), (_, right) in zip(runs.ranks(), expected.ranks(), strict=False):
        if "model" not in facts.order:
            continue  # rank 0 has one: it is step 2's to say that all have to
        line = facts.lines.get("gpu") or source.line_of("set_visible_devices", "CUDA_VISIBLE_DEVICES")
        if facts.gpus != right.gpus:
            return Finding(
                f"{where} can see {_gpus(facts.gpus)}. Expected: {_gpus(right.gpus)}, by its local rank.", line
            )
        if not set(right.memory_growth) <= set(facts.memory_growth):
            line = source.line_of("set_memory_growth") or line
            return Finding(f"{where} takes all memory of {_gpus(right.gpus)} at once. Expected: memory growth.", line)
    return None


def _gpus(numbers: list[int]) -> str:
    if not numbers:
        return "no GPU"
    return f"GPU {numbers[0]}" if len(numbers) == 1 else f"GPUs {', '.join(map(str, numbers))}"


# --- Step 2 -----------------------------------------------------------------------------------------------------------


def judge_one_voice(runs: Runs, expected: Runs, source: Source) -> Finding | None:
    """What the host saw on each rank's standard output, and that nothing but output is rank 0's alone."""
    for where, facts in runs.ranks():
        if facts.rank and facts.stdout.strip():
            line = _line_of_output(facts, source)
            shown = facts.stdout.strip().splitlines()[0].split("\r")[-1].replace("\b", "").strip()
            shown = re.sub(r"\d[\d.]*", "#", shown.split(" - ETA")[0])[:80]  # times differ from one run to the next
            return Finding(f"{where} prints too: “{shown}”. Expected: rank 0 alone reports.", line)
    for where, facts in runs.ranks():
        if facts.rank == 0:
            if not facts.fits or not (facts.fits[0]["batches"] or facts.error or facts.ended_for):
                return trained([facts])
            cut_short = (facts.error or facts.ended_for) and not facts.fits[0]["epochs"][1:]
            if not facts.fits[0]["verbose"] or not (facts.stdout.strip() or cut_short):
                line = source.line_of("verbose")
                return Finding(f"{where} reports nothing. Expected: the progress of training, on rank 0.", line)
    for name, ranks in runs.topologies.items():
        for facts, right in zip(ranks[1:], expected.topologies[name][1:], strict=False):
            finding = _judge_silent(ranks[0], facts, right, source)
            if finding:
                return finding
    return None


def _line_of_output(facts: RankFacts, source: Source) -> int | None:
    """Return where a rank prints what it should not; what says how verbose it is, where that is a variable."""
    line = facts.lines.get("print")
    by_variable = isinstance(source.keyword("verbose", line), ast.Name)
    in_silent_fit = line == facts.lines.get("fit") and not (facts.fits and facts.fits[0]["verbose"])
    return source.line_of("verbose") if by_variable and not in_silent_fit else line


def _judge_silent(zero: RankFacts, facts: RankFacts, right: RankFacts, source: Source) -> Finding | None:
    """Whether a rank that reports nothing does all else that rank 0 does."""
    if facts.error or zero.error or facts.ended_for:
        return None
    if not facts.fits:
        message = f"{facts.where} ends without training. Expected: all ranks train, and rank 0 alone reports."
        return Finding(message, facts.lines.get("exit") or source.line_of("epochs", "fit"), explains=True)
    own, first, should = facts.fits[0], zero.fits[0], right.fits[0]
    of_others = set(OF_LATER_STEPS)
    if METRIC_AVERAGE in should["callbacks"]:  # step 6 is judged too, and who reads metrics is its affair
        of_others |= {callback for _, callback, _, _ in right.fits[0]["reads"]}
    for callback in should["callbacks"]:
        if callback in first["callbacks"] and callback not in own["callbacks"] and callback not in of_others:
            message = f"{facts.where} trains without {callback}, which rank 0 has. Expected: on all ranks, as before."
            return Finding(message, source.line_of(callback, "callbacks"))
    if set(own["log_dirs"]) & set(first["log_dirs"]):
        message = f"{facts.where} writes TensorBoard's logs where rank 0 writes its own. Expected: rank 0 alone does."
        return Finding(message, source.line_of("TensorBoard"))
    if _validates(first) and not _validates(own):
        message = f"{facts.where} never validates, and rank 0 does. Expected: all ranks do the same work."
        return Finding(message, source.line_of("validation_data", "fit"))
    return None


def _validates(fit: dict) -> bool:
    return any(epoch["validation_steps"] for epoch in fit["epochs"])


# --- Step 3 -----------------------------------------------------------------------------------------------------------


def judge_mean_gradient(runs: Runs, expected: Runs, source: Source) -> Finding | None:
    """What each rank adds to its weights, beside the gradients that the ranks computed by themselves."""
    line = source.line_of("DistributedOptimizer", "opt", "compile")
    for name, ranks in runs.topologies.items():
        stop = trained(ranks)
        if stop:
            return stop
        right = expected.topologies[name][0].fits[0]
        for facts in ranks:
            own, should = facts.fits[0]["optimizer"], right["optimizer"]
            different = [key for key in should if key in own and own[key] != should[key]]
            if different:
                return Finding(
                    f"The optimizer is another one: its {different[0]} is {own[different[0]]}. Expected: "
                    f"{should[different[0]]}, as before.",
                    source.line_of("opt"),
                )
            if facts.fits[0]["loss_weights"] not in ([], [1.0], right["loss_weights"]):
                return Finding(
                    f"The loss is weighted with {facts.fits[0]['loss_weights'][0]:g}. Expected: as before. The mean "
                    "of the gradients is divided by the number of ranks already.",
                    source.line_of("loss_weights"),
                )
        batches = min(len(facts.fits[0]["batches"]) for facts in ranks)
        for number in range(min(batches, len(right["batches"]))):
            batch = [facts.fits[0]["batches"][number] for facts in ranks]
            if any(entry.get("local") is None or "before" not in entry for entry in batch):
                return Finding(
                    "No gradient was computed in a training step, as far as can be seen.", line, unclear=True
                )
            finding = _judge_batch(runs.describe(name), batch, right["batches"][number]["rate"], line)
            if finding:
                return finding
    if _traffic(runs) < _traffic(expected) / 3:  # 16 bits in place of 32 are half, and rightly so
        message = (
            "The ranks report the mean of their gradients, but hardly sent each other anything, as their host saw."
        )
        return Finding(message, line, unclear=True)
    return None


def _traffic(runs: Runs) -> float:
    """Return the bytes that went between the ranks for each batch that they report."""
    return runs.traffic / sum(len(fit["batches"]) for _, facts in runs.ranks() for fit in facts.fits)


def trained(ranks) -> Finding | None:
    """Return why there is nothing to compare, if a rank did not train."""
    for facts in ranks:
        if not facts.fits or not facts.fits[0]["batches"]:
            message = f"{facts.where} does not get as far as training."
            return Finding(message, facts.error_line, unclear=not facts.error, untold=bool(facts.error))
    return None


def _judge_batch(where: str, batch: list[dict], rate: float, line: int | None) -> Finding | None:
    local = [np.asarray(entry["local"], float) for entry in batch]
    update = [np.asarray(entry["updated"], float) - np.asarray(entry["before"], float) for entry in batch]
    mean, total = -rate * np.mean(local, axis=0), -rate * np.sum(local, axis=0)
    scale = max(np.abs(own).max() for own in local) * rate + 1e-9
    noise = 2e-6 * max(
        np.abs(entry["before"]).max() for entry in batch
    )  # weights are float32, updates small beside them

    def same(one, other):
        return bool(np.abs(np.asarray(one) - np.asarray(other)).max() <= 0.02 * scale + noise)

    if all(same(own, mean) for own in update):
        return None
    if abs(batch[0]["rate"] - rate) > 1e-6 * rate:
        return Finding(f"The learning rate is {batch[0]['rate']:g}. Expected: {rate:g}, as before ({where}).", line)
    if all(same(own, -rate * gradient) for own, gradient in zip(update, local, strict=True)):
        return Finding(
            f"Each rank applies its own gradient, and none knows of the others' ({where}). Expected: the mean of all.",
            line,
        )
    if all(same(own, total) for own in update):
        return Finding(f"The ranks apply the sum of their gradients ({where}). Expected: their mean.", line)
    if all(same(own, update[0]) for own in update):
        return Finding(f"The ranks apply the same update, but not the mean of their gradients ({where}).", line)
    return Finding(f"The ranks apply different updates ({where}). Expected: the mean of all gradients on each.", line)


# --- Step 4 -----------------------------------------------------------------------------------------------------------


def judge_same_weights(runs: Runs, expected: Runs, source: Source) -> Finding | None:
    """Weights and the optimizer's variables after each batch, beside rank 0's."""
    for ranks in runs.topologies.values():
        stop = trained(ranks) or _judge_first_batch(ranks, source)
        if stop:
            return stop
        zero = ranks[0].fits[0]
        for facts in ranks[1:]:
            fit = facts.fits[0]
            for number, (own, first) in enumerate(zip(fit["batches"], zero["batches"], strict=False)):
                if "after" not in own or "after" not in first:
                    break
                if not close(own["after"], first["after"]):
                    return Finding(_why_apart(runs, facts.where, fit, number, source), _broadcast_line(source))
                if not close(own["slots"], first["slots"]):
                    return Finding(
                        f"{facts.where} has the weights of rank 0, but not its optimizer's variables.",
                        _broadcast_line(source),
                    )
        if not _root_is_zero(ranks):
            return Finding(
                f"All ranks hold the same weights, but not those of rank 0 ({ranks[0].topology}). Expected: rank 0's.",
                _broadcast_line(source),
            )
    return None


def _judge_first_batch(ranks: list[RankFacts], source: Source) -> Finding | None:
    """Why a rank does not get from its first update to its second batch: that is where weights are broadcast."""
    for facts in sorted(ranks, key=lambda rank: not rank.collective):
        if "after" not in facts.fits[0]["batches"][0]:
            if facts.ended_for:
                told = f"waits for good after the first batch, in {facts.collective or 'no collective'}"
            else:
                told = f"fails after the first batch: {facts.error or 'it ends'}"
            message = f"{facts.where} {told}. Expected: every rank takes part in one broadcast, of rank 0's weights."
            return Finding(message, _broadcast_line(source), explains=True)
    return None


def _broadcast_line(source: Source) -> int | None:
    return source.line_of(BROADCAST, "broadcast_variables", "callbacks")


def _why_apart(runs: Runs, where: str, fit: dict, batch: int, source: Source) -> str:
    if batch:
        return f"{where} holds rank 0's weights at first, and others after batch {batch + 1}."
    given = {
        where
        for where, facts in runs.ranks()
        if facts.fits and any("Broadcast" in c for c in facts.fits[0]["callbacks"])
    }
    if given and where not in given:
        return f"{where} still starts from its own weights: model.fit gets the callback elsewhere, and not there."
    if source.calls(BROADCAST) and not given:
        return f"{where} still starts from its own weights: the callback is made but never reaches model.fit."
    return f"{where} still starts from its own weights. Expected: those of rank 0, after the first batch."


def _root_is_zero(ranks) -> bool:
    """Whether rank 0 kept its own weights when the others took weights over."""
    fit = ranks[0].fits[0]
    first = fit["batches"][0]
    return close(first["after"], first["updated"]) and close(first["before"], fit["weights_built"])


JUDGES = {
    1: judge_initialised_and_pinned,
    2: judge_one_voice,
    3: judge_mean_gradient,
    4: judge_same_weights,
}

# Which steps must be right before one can be told.
NEEDS = {1: set(), 2: {1}, 3: {1}, 4: {1, 3}}
