"""The properties of the steps, one function each: what a script did, held beside what the step's solution did.

Each judge_… function takes the runs and returns None where the property is there; otherwise a Finding says what was
found, what was expected, and which part of the script is the place to look. Expectations are read off the solution's
own runs.
"""

import re
from dataclasses import dataclass

import numpy as np

from grader.facts import Runs
from grader.plans import TEST_BATCHES, TRAIN_BATCHES
from grader.source import Source

CLOSE = 2e-3  # relative: float32 sums in another order, and gradients compressed to 16 bits, still pass


@dataclass
class Finding:
    """Why a property is missing, or cannot be told."""

    message: str
    line: int | None = None
    unclear: bool = False
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
        if "model" not in facts.order:
            return Finding(
                f"{where} ends before it builds a model: {facts.error or 'no reason given'}", facts.error_line
            )
    for (where, facts), (_, right) in zip(runs.ranks(), expected.ranks(), strict=True):
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
    """What the host saw on each rank's standard output."""
    line = source.line_of("verbose")
    for where, facts in runs.ranks():
        if facts.rank and facts.stdout.strip():
            shown = facts.stdout.strip().splitlines()[0].split("\r")[-1].replace("\b", "").strip()
            shown = re.sub(r"\d[\d.]*", "#", shown.split(" - ETA")[0])[:80]  # times differ from one run to the next
            return Finding(f"{where} prints too: “{shown}”. Expected: rank 0 alone reports.", line)
    for where, facts in runs.ranks():
        if facts.rank == 0:
            if not facts.fits:
                return Finding(f"{where} does not get as far as training.", facts.error_line, unclear=not facts.error)
            if not facts.fits[0]["verbose"] or not facts.stdout.strip():
                return Finding(f"{where} reports nothing. Expected: the progress of training, on rank 0.", line)
    return None


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
            described = {key: value for key, value in facts.fits[0]["optimizer"].items() if key in right["optimizer"]}
            if described != right["optimizer"]:
                different = next(key for key in right["optimizer"] if described.get(key) != right["optimizer"][key])
                return Finding(
                    f"The optimizer is another one: its {different} is {described.get(different)}. Expected: "
                    f"{right['optimizer'][different]}, as before.",
                    source.line_of("opt"),
                )
        batches = min(len(facts.fits[0]["batches"]) for facts in ranks)
        for number in range(min(batches, len(right["batches"]))):
            batch = [facts.fits[0]["batches"][number] for facts in ranks]
            if any(entry.get("local") is None or "after" not in entry for entry in batch):
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
            why = f": {facts.error}" if facts.error else "."
            return Finding(
                f"{facts.where} does not get as far as training{why}", facts.error_line, unclear=not facts.error
            )
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
    if all(same(own, -rate * gradient) for own, gradient in zip(update, local, strict=True)):
        return Finding(
            f"Each rank applies its own gradient, and none knows of the others' ({where}). Expected: the mean of all.",
            line,
        )
    if all(same(own, total) for own in update):
        return Finding(f"The ranks apply the sum of their gradients ({where}). Expected: their mean.", line)
    if all(same(own, update[0]) for own in update):
        if abs(batch[0]["rate"] - rate) > 1e-6 * rate:
            return Finding(f"The learning rate is {batch[0]['rate']:g}. Expected: {rate:g}, as before ({where}).", line)
        return Finding(f"The ranks apply the same update, but not the mean of their gradients ({where}).", line)
    return Finding(f"The ranks apply different updates ({where}). Expected: the mean of all gradients on each.", line)


# --- Step 4 -----------------------------------------------------------------------------------------------------------


def judge_same_weights(runs: Runs, expected: Runs, source: Source) -> Finding | None:
    """Weights and the optimizer's variables after each batch, beside rank 0's."""
    for ranks in runs.topologies.values():
        stop = trained(ranks)
        if stop:
            return stop
        zero = ranks[0].fits[0]
        for facts in ranks[1:]:
            fit = facts.fits[0]
            for number, (own, first) in enumerate(zip(fit["batches"], zero["batches"], strict=False)):
                if "after" not in own or "after" not in first:
                    break
                if not close(own["after"], first["after"]):
                    return Finding(_why_apart(facts.where, fit, number, source), _broadcast_line(source))
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


def _broadcast_line(source: Source) -> int | None:
    return source.line_of("BroadcastGlobalVariablesCallback", "broadcast_variables", "callbacks")


def _why_apart(where: str, fit: dict, batch: int, source: Source) -> str:
    if batch:
        return f"{where} holds rank 0's weights at first, and others after batch {batch + 1}."
    name = "BroadcastGlobalVariablesCallback"
    if source.calls(name) and not any("Broadcast" in callback for callback in fit["callbacks"]):
        return f"{where} still starts from its own weights: the callback is made but never reaches model.fit."
    return f"{where} still starts from its own weights. Expected: those of rank 0, after the first batch."


def _root_is_zero(ranks) -> bool:
    """Whether rank 0 kept its own weights when the others took weights over."""
    fit = ranks[0].fits[0]
    first = fit["batches"][0]
    return close(first["after"], first["updated"]) and close(first["before"], fit["weights_built"])


# --- Step 5 -----------------------------------------------------------------------------------------------------------


def judge_shared_epoch(runs: Runs, expected: Runs, source: Source) -> Finding | None:
    """Batches of an epoch on each rank, beside the solution's; to round up is as good as to round down."""
    for name, ranks in runs.topologies.items():
        stop = trained(ranks)
        if stop:
            return stop
        for facts, right in zip(ranks, expected.topologies[name], strict=True):
            epoch, should = facts.fits[0]["epochs"][0], right.fits[0]["epochs"][0]
            if not TRAIN_BATCHES // len(ranks) <= epoch["steps"] <= -(-TRAIN_BATCHES // len(ranks)):
                return Finding(
                    f"{facts.where} takes {epoch['steps']} steps in an epoch. Expected: {should['steps']}, its "
                    "share of one pass over the training set.",
                    source.line_of("steps_per_epoch", "fit"),
                )
            if not 3 * (TEST_BATCHES // len(ranks)) <= epoch["validation_steps"] <= 3 * -(-TEST_BATCHES // len(ranks)):
                return Finding(
                    f"{facts.where} takes {epoch['validation_steps']} validation steps. Expected: "
                    f"{should['validation_steps']}, its share of three passes over the test set.",
                    source.line_of("validation_steps", "fit"),
                )
        taken = {facts.fits[0]["epochs"][0]["steps"] for facts in ranks}
        if len(taken) > 1:
            return Finding(
                f"The ranks take different numbers of steps: {sorted(taken)}. Expected: the same on all, or they "
                "wait for each other.",
                source.line_of("steps_per_epoch", "fit"),
            )
    return None


# --- Step 6 -----------------------------------------------------------------------------------------------------------


def judge_mean_metrics(runs: Runs, expected: Runs, source: Source) -> Finding | None:
    """The metrics that callbacks read at the end of an epoch, beside the mean of what the ranks measured."""
    line = source.line_of("MetricAverageCallback", "callbacks")
    for name, ranks in runs.topologies.items():
        stop = trained(ranks)
        if stop:
            return stop
        for facts, right in zip(ranks, expected.topologies[name], strict=True):
            read = {metric for _, _, metric, _ in facts.fits[0]["reads"]}
            missing = {metric for _, _, metric, _ in right.fits[0]["reads"]} - read
            if missing and not facts.error:
                return Finding(
                    f"{facts.where}: no callback reads {min(missing)} any more. Expected: one that can stop training.",
                    source.line_of("StopAtAccuracy", "callbacks"),
                )
            for epoch, callback, metric, value in facts.fits[0]["reads"]:
                own = [
                    other.fits[0]["epochs"][epoch]["own"].get(metric)
                    for other in ranks
                    if len(other.fits[0]["epochs"]) > epoch
                ]
                if None in own or len(own) < len(ranks):
                    continue
                if abs(value - np.mean(own)) > 1e-3:
                    # No values: which images a rank validates on differs a little from one run to the next.
                    its = "its own" if abs(value - own[facts.rank]) < 1e-6 else "neither its own nor the mean"
                    what = f"the {metric} that {callback} reads is {its}"
                    return Finding(f"{facts.where}: {what}. Expected: the mean of all ranks'.", line)
        epochs = [len(facts.fits[0]["epochs"]) for facts in ranks]
        if len(set(epochs)) > 1:
            return Finding(f"The ranks stop after different epochs: {epochs}. Expected: all alike.", line)
    return None


JUDGES = {
    1: judge_initialised_and_pinned,
    2: judge_one_voice,
    3: judge_mean_gradient,
    4: judge_same_weights,
    5: judge_shared_epoch,
    6: judge_mean_metrics,
}

# Which steps must be right before one can be told.
NEEDS = {1: set(), 2: {1}, 3: {1}, 4: {1, 3}, 5: {1}, 6: {1}}
