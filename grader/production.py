"""The properties of the second part's steps, as grader.properties has those of the first: what a script did with files,
images, checkpoints and the learning rate.

What is expected of images and rates is counted out from the judge's own data and arguments, as any right solution does.
"""

import itertools
from collections import Counter
from pathlib import Path

import numpy as np

from grader.facts import RankFacts, Runs
from grader.plans import BASE_LR, BATCH, EPOCHS, TRAIN_IMAGES, VAL_IMAGES
from grader.properties import Finding, close, trained
from grader.source import Source

CHECKPOINT = "checkpoint-"  # what the names of checkpoints begin with


# --- Step 8 -----------------------------------------------------------------------------------------------------------


def judge_staged(runs: Runs, expected: Runs, source: Source) -> Finding | None:
    """Which rank copied the data to its host, who waited for them, and what became of the results."""
    for name, ranks in runs.topologies.items():
        finding = _judge_copies(ranks, expected.topologies[name], source) or _judge_results(ranks, source)
        if finding:
            return finding
    for facts in runs.aside.get("no-data", []):
        line = source.line_of("allreduce", "barrier", "broadcast_object", "allgather_object", "download")
        where = f"Where the data cannot be copied, rank {facts.rank}"
        if facts.ended_for not in (None, "others"):  # one whose own error ends it takes the others with it
            return Finding(f"{where} never ends. Expected: an error on each.", line)
        if facts.fits or facts.exit == 0:
            return Finding(f"{where} goes on as if they were there. Expected: every rank ends with an error.", line)
    return None


def _judge_copies(ranks: list[RankFacts], expected: list[RankFacts], source: Source) -> Finding | None:
    """Who copied, and who read what."""
    seen = [facts for facts in ranks if facts.files]
    line = source.line_of("download", "get", "data_dir")
    for facts in seen:
        if facts.files["read_in_training"]:
            return Finding(
                f"{facts.where} reads its images from --data-url in training. Expected: from its host's own copy.",
                source.line_of("data_dir", "flow_from_directory"),
            )
    for host in _hosts(ranks):
        copiers = [facts.rank for facts in host if facts.files and facts.files["copied"]]
        if len(copiers) > 1:
            message = (
                f"Ranks {_listed(copiers)} both copy the data to the same host ({host[0].topology}). Expected: one."
            )
            return Finding(message, line, explains=True)
        if not copiers and all(facts.files for facts in host):
            message = f"No rank copies the data to the host of rank {host[0].rank} ({host[0].topology})."
            return Finding(f"{message} Expected: one on every host.", line, explains=True)
        needed = max(facts.files["copied"] for facts in expected)
        for facts in host:
            if facts.rank in copiers and facts.files["copied"] < needed and not facts.fits:
                message = f"{facts.where} copies {facts.files['copied']} of {needed} files. Expected: all of them."
                return Finding(message, line, explains=True)
            if facts.files and not facts.files["copied"] and "FileNotFoundError" in (facts.error or ""):
                message = f"{facts.where} does not wait until the data are on its host: {facts.error}"
                return Finding(message, facts.error_line or line, explains=True)
    return None


def _judge_results(ranks: list[RankFacts], source: Source) -> Finding | None:
    """What of the logs got to where results are kept, and by whom."""
    line = source.line_of("upload", "put", "train_url", "save_weights")
    for facts in ranks:
        if facts.files and (facts.fits or facts.files["copied"]) and "StoreError" in (facts.error or ""):
            message = f"{facts.where} cannot copy the results: {facts.error} Expected: rank 0 does, after training."
            return Finding(message, facts.error_line, explains=True)
        if not facts.files or not facts.fits:
            return None  # it does not get that far, as another check says
        if facts.rank and facts.files["results_written"]:
            return Finding(f"{facts.where} copies results too. Expected: rank 0 alone.", line, explains=True)
    files = ranks[0].files
    missing = {Path(name).name for name in files["left"]} - set(files["kept"])
    if not files["left"] or not files["kept"]:
        return Finding(f"{ranks[0].where} leaves nothing at --train-url. Expected: all that is in --log-dir.", line)
    if missing:
        shown = "a TensorBoard log" if min(missing).startswith("events") else min(missing)
        return Finding(f"{ranks[0].where} leaves {shown} in --log-dir alone. Expected: a copy at --train-url.", line)
    return None


def _hosts(ranks: list[RankFacts]) -> list[list[RankFacts]]:
    """Return the ranks by host."""
    return [[facts for facts in ranks if facts.host == host] for host in range(ranks[-1].host + 1)]


def _listed(numbers: list[int]) -> str:
    return " and ".join(map(str, numbers))


# --- Step 9 -----------------------------------------------------------------------------------------------------------


def judge_shares(runs: Runs, expected: Runs, source: Source) -> Finding | None:
    """Which images each rank trained on in each epoch."""
    line = source.line_of("share_of", "shard", "permutation", "shuffle", "train_iter")
    never = []
    for ranks in runs.topologies.values():
        stop = trained(ranks)
        if stop:
            return stop
        where = ranks[0].topology
        epochs = list(zip(*(facts.fits[0]["epochs"] for facts in ranks), strict=False))
        for number, epoch in enumerate(epochs, 1):
            finding = _judge_epoch(f"epoch {number}, {where}", [own["images"] for own in epoch], line)
            if finding:
                return finding
            finding = _judge_validation(f"epoch {number}, {where}", [own["validation_images"] for own in epoch], source)
            if finding:
                return finding
        for facts in ranks:
            first, second, *_ = [own["images"] for own in facts.fits[0]["epochs"]] + [[], []]
            if first and first == second:
                message = f"{facts.where} trains on its images in the same order in every epoch. Expected: a new one."
                return Finding(message, line)
        seen = {image for epoch in epochs for own in epoch for image in own["images"]}
        never.append(TRAIN_IMAGES - len(seen))
    if all(never):
        return Finding(
            f"No rank ever trains on {never[0]} of the {TRAIN_IMAGES} images, in no epoch. Expected: what does not "
            "come out even is shared out too, or left out by turns.",
            line,
        )
    return None


def _judge_epoch(where: str, shares: list[list[str]], line: int | None) -> Finding | None:
    """Hold the images of all ranks in an epoch against each other."""
    size = len(shares)
    steps = {-(-len(share) // BATCH) for share in shares}
    if len(steps) > 1:
        message = f"The ranks take different numbers of steps: {sorted(steps)} ({where}). Expected: the same on all."
        return Finding(message, line)
    holders = Counter(image for share in shares for image in set(share))
    twice = sum(1 for count in holders.values() if count > 1)
    total = sum(map(len, shares))
    if total > TRAIN_IMAGES + size * BATCH:
        message = f"The ranks together train on {total} images, where there are {TRAIN_IMAGES} ({where})."
        return Finding(f"{message} Expected: each rank its share.", line)
    if twice >= size:
        message = f"{twice} of {len(holders)} images are trained on by more than one rank ({where})."
        return Finding(f"{message} Expected: shares that do not overlap.", line)
    if len(holders) <= TRAIN_IMAGES - size * BATCH:
        message = f"The ranks together train on {len(holders)} of {TRAIN_IMAGES} images ({where})."
        return Finding(f"{message} Expected: on all of them.", line)
    return None


def _judge_validation(where: str, shares: list[list[str]], source: Source) -> Finding | None:
    """Hold the images that the ranks validate on in an epoch against each other: shares, or all images on each."""
    line = source.line_of("validation_data", "val_iter")
    holders = Counter(image for share in shares for image in set(share))
    if all(len(share) >= VAL_IMAGES for share in shares):  # as many as there are, on every rank
        return None
    if sum(count > 1 for count in holders.values()) >= len(shares) or len(holders) <= VAL_IMAGES - len(shares) * BATCH:
        message = f"All ranks together validate on {len(holders)} of {VAL_IMAGES} images ({where})."
        return Finding(f"{message} Expected: on all of them, each rank on its share.", line)
    return None


# --- Step 10 ----------------------------------------------------------------------------------------------------------


def judge_resumed(runs: Runs, expected: Runs, source: Source) -> Finding | None:
    """How checkpoints were written, and where the second run began beside where the first one ended."""
    for ranks in runs.topologies.values():
        stop = trained(ranks)
        if stop:
            return stop
        finding = _judge_writing(ranks, source)
        if finding:
            return finding
    resumed = runs.aside.get("resumed")
    if not resumed:
        return Finding("Cannot be told: the program was not started a second time.", unclear=True)
    return _judge_restart(runs.topologies["two-hosts"], resumed, source)


def _judge_writing(ranks: list[RankFacts], source: Source) -> Finding | None:
    line = source.line_of("save", "ModelCheckpoint", "save_weights", "SaveCheckpoint")
    names = {name for name in ranks[0].files["left"] if Path(name).name.startswith(CHECKPOINT)}
    if not names:
        return Finding(f"{ranks[0].where} leaves no checkpoint. Expected: one after every epoch.", line)
    for facts in ranks[1:]:
        if facts.files["wrote_checkpoints"]:
            return Finding(f"{facts.where} writes checkpoints too. Expected: rank 0 alone.", line)
    direct = sorted(names & set(ranks[0].files["overwritten"]))
    if direct:
        return Finding(
            f"{direct[0]} has its name while it is being written: whoever is killed then leaves half a file that is "
            "taken for a checkpoint. Expected: another name, until it is whole.",
            line,
        )
    return None


def _judge_restart(before: list[RankFacts], after: list[RankFacts], source: Source) -> Finding | None:
    line = source.line_of("initial_epoch", "load_model", "broadcast_object")
    if any(facts.ended_for for facts in after):
        places = ", ".join(f"rank {facts.rank} is in {facts.collective or 'no collective'}" for facts in after)
        return Finding(
            f"Started again, the ranks wait for each other for good: {places}. Expected: all of them load rank 0's "
            "checkpoint and go on from its epoch.",
            line,
        )
    for facts in after:
        where = f"Started again after {EPOCHS} epochs, rank {facts.rank}"
        if not facts.fits:
            why = f": {facts.error}" if facts.error else "."
            return Finding(f"{where} does not get as far as training{why}", facts.error_line or line)
        fit = facts.fits[0]
        if fit["initial_epoch"] != EPOCHS:
            began = fit["initial_epoch"] + 1
            return Finding(f"{where} begins with epoch {began}. Expected: epoch {EPOCHS + 1}, on every rank.", line)
        if facts.error or facts.exit:
            return Finding(f"{where} fails: {facts.error or facts.exit}", facts.error_line)
    end, begin = before[0].fits[0]["end"], after[0].fits[0]["begin"]
    line = source.line_of("load_model", "load_weights", "set_weights", "initial_epoch")
    if not close(end["weights"], begin["weights"]):
        return Finding("Started again, rank 0 does not have the weights of its last checkpoint.", line)
    if end["iterations"] != begin["iterations"] or not close(end["slots"], begin["slots"]):
        return Finding(
            "Started again, rank 0 has the weights of its last checkpoint but a new optimizer: "
            f"{begin['iterations']} iterations, and no momentum. Expected: {end['iterations']}, and the momentum.",
            line,
        )
    for facts in after[1:]:
        if facts.fits[0]["begin"]["variables"] != after[0].fits[0]["begin"]["variables"]:
            return Finding(
                f"Started again, rank {facts.rank} has an optimizer with other variables than rank 0's, and Horovod "
                "would match them by their names: where training runs as a graph, both wait for good. Expected: the "
                "checkpoint loaded on every rank.",
                line,
            )
    for number, batches in enumerate(zip(*(facts.fits[0]["batches"] for facts in after), strict=False), 1):
        for rank, batch in enumerate(batches):
            for what, name in (("after", "weights"), ("slots", "optimizer")):
                if not close(batches[0][what], batch[what]):
                    return Finding(
                        f"Started again, rank {rank} has {name} after batch {number} that are not those of rank 0. "
                        "Expected: the checkpoint's on every rank, and gradients that are averaged as before.",
                        line,
                    )
    return None


# --- Step 11 ----------------------------------------------------------------------------------------------------------


def judge_rate(runs: Runs, expected: Runs, source: Source) -> Finding | None:
    """The learning rate of each batch: from that of one process to that of all, within the first epoch."""
    line = source.line_of("LearningRateWarmupCallback", "lr_schedule", "full_lr", "learning_rate")
    for name, ranks in runs.topologies.items():
        stop = trained(ranks)
        if stop:
            return stop
        full = BASE_LR * len(ranks)
        for facts, right in zip(ranks, expected.topologies[name], strict=True):
            fit = facts.fits[0]
            steps = fit["epochs"][0]["steps"]
            rates = [batch["rate"] for batch in fit["batches"]]
            rising, later = rates[:steps], rates[steps:]
            if rising[0] > BASE_LR + 0.7 * (full - BASE_LR):
                return Finding(
                    f"{facts.where} begins with a learning rate of {rising[0]:g}. Expected: little more than "
                    f"{BASE_LR:g}, that of one process, while it warms up.",
                    line,
                )
            if any(after < 0.999 * before for before, after in itertools.pairwise(rising)):
                return Finding(f"{facts.where}: the learning rate falls while it should warm up.", line)
            if rising[0] < 0.99 * BASE_LR and rising[-1] < 0.9 * full:
                return Finding(
                    f"{facts.where} warms up from {rising[0]:g} to {rising[-1]:g}, and then jumps. Expected: from "
                    f"{BASE_LR:g} to {full:g}.",
                    line,
                )
            if later and not np.allclose(later, full, rtol=0.01):
                shown = later[int(np.argmax(np.abs(np.asarray(later) - full)))]
                return Finding(
                    f"{facts.where}: after the warm-up the learning rate is {shown:g}. Expected: {full:g}, "
                    f"{len(ranks)} times that of one process.",
                    line,
                )
            known = {*right.fits[0]["callbacks"]} - {"LearningRateScheduler"}
            if right.fits[0]["schedule"] and not set(fit["callbacks"]) - known:
                message = (
                    f"{facts.where}: nothing lowers the learning rate in later epochs any more. Expected: lr_schedule."
                )
                return Finding(message, source.line_of("lr_schedule", "callbacks"))
            for epoch, rate in right.fits[0]["schedule"].items():
                own = fit["schedule"].get(epoch)
                if own is not None and not np.isclose(own, rate, rtol=0.01):
                    return Finding(
                        f"{facts.where}: in epoch {int(epoch) + 1} the rate would be {own:g}. Expected: {rate:g}.",
                        source.line_of("lr_schedule"),
                    )
    return None


JUDGES = {8: judge_staged, 9: judge_shares, 10: judge_resumed, 11: judge_rate}

NEEDS = {8: set(), 9: {8}, 10: {8}, 11: {8}}
