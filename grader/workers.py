"""The properties of steps 13 and 14, as grader.properties has those of the first part: what several workers did.

What is expected of images and steps is counted out from the judge's own data and arguments, as any right solution does;
how far a restart comes is read off the solution's own.
"""

from pathlib import Path

from grader.facts import RankFacts, Runs
from grader.plans import BATCH, DIES_AFTER, EPOCHS, LOGS, WORKER_IMAGES
from grader.properties import Finding, close
from grader.source import Source

TRAIN = WORKER_IMAGES - WORKER_IMAGES // 6  # images
STRATEGY = "CollectiveAllReduceStrategy"  # what MultiWorkerMirroredStrategy is called inside TensorFlow
SHARED = (
    0.8  # of a worker's images: so many are another's, too, where nothing shares them out. Two workers that shuffle
)
# each for itself have half of theirs in common, which is no good, and no mistake either.


# --- Step 13 ----------------------------------------------------------------------------------------------------------


def judge_workers(runs: Runs, expected: Runs, source: Source) -> Finding | None:
    """Whether the workers trained one model, each on its own part of every batch."""
    for workers in runs.topologies.values():
        finding = _strategy(workers, source) or _model(workers, source)
        if finding:
            return finding
        if any(facts.error or not facts.fits or not facts.fits[0]["end"] for facts in workers):
            return None  # it does not get that far, as another check says
        for find in (_batches, _steps, _images, _weights, _reports):
            finding = find(workers, source)
            if finding:
                return finding
    return unseen(runs, expected)


def unseen(runs: Runs, expected: Runs) -> Finding | None:
    """Return a Finding where processes that report a training together hardly sent each other anything."""
    if runs.traffic < expected.traffic / 3:
        message = "The processes report one training, but hardly sent each other anything, as their host saw."
        return Finding(message, unclear=True)
    return None


def _strategy(workers: list[RankFacts], source: Source) -> Finding | None:
    line = source.line_of("MultiWorkerMirroredStrategy", "strategy")
    for facts in workers:
        if "Collective ops must be configured at program startup" in (facts.error or ""):
            message = f"{facts.where}: the strategy is made after TensorFlow has been used, for a tensor or a device."
            return Finding(f"{message} Expected: before anything else of TensorFlow's.", line, explains=True)
        if facts.error or not facts.reported:
            return None  # it does not get that far, as another check says
        if STRATEGY not in [kind for kind, _ in facts.strategies]:
            message = f"{facts.where} makes no MultiWorkerMirroredStrategy, so it knows of no other worker."
            return Finding(message, line)
    return None


def _model(workers: list[RankFacts], source: Source) -> Finding | None:
    for facts in workers:
        if facts.fits and (facts.fits[0]["strategy"] != STRATEGY or facts.fits[0]["replicas"] != len(workers)):
            return Finding(
                f"{facts.where} trains a model that belongs to this worker alone. Expected: one that is made, compiled "
                "too, under strategy.scope().",
                facts.lines.get("model") or source.line_of("scope", "Sequential"),
            )
    return None


def _batches(workers: list[RankFacts], source: Source) -> Finding | None:
    line = source.line_of("batch_size", "batch")
    for facts in workers:
        for batch in facts.fits[0]["images"][: TRAIN // (BATCH * len(workers))]:
            if len(batch) != BATCH:
                return Finding(
                    f"{facts.where} takes {_images_of(len(batch))} a step. Expected: {BATCH}, its own --batch-size, "
                    f"of {BATCH * len(workers)} of all workers.",
                    line,
                )
    return None


def _steps(workers: list[RankFacts], source: Source) -> Finding | None:
    full = BATCH * len(workers)
    right = {TRAIN // full, -(-TRAIN // full)}
    for facts in workers:
        epochs = facts.fits[0]["epochs"]
        for number, steps in enumerate(epochs):
            if steps not in right:
                end = " The data end: do they repeat?" if number and steps < min(right) and epochs[0] in right else ""
                return Finding(
                    f"{facts.where} makes {steps} steps in epoch {number + 1}. Expected: {min(right)}, for {TRAIN} "
                    f"images that are not held out, {full} a step.{end}",
                    source.line_of("repeat" if end else "steps_per_epoch", "steps_per_epoch"),
                )
        if len(epochs) != EPOCHS:
            message = f"{facts.where} trains for {len(epochs)} epochs. Expected: {EPOCHS}, as it is told."
            return Finding(message, source.line_of("epochs", "fit"))
    return None


def _images(workers: list[RankFacts], source: Source) -> Finding | None:
    """Whether any two workers train on the same images in the first epoch, or one on what is held out."""
    seen = [_first_epoch(facts) for facts in workers]
    held_out = {image for facts in workers for batch in facts.fits[0]["validation_images"] for image in batch}
    for number, images in enumerate(seen):
        if images & held_out:
            message = f"{workers[number].where} trains on {_images_of(len(images & held_out))} that it validates on."
            return Finding(f"{message} Expected: those held out are not trained on.", source.line_of("held_out"))
        for other in range(number):
            if images and len(images & seen[other]) > SHARED * len(images):
                return Finding(
                    f"{workers[number].where} trains on the same images as {_low(workers[other])}. Expected: "
                    "each worker on its own part of every batch.",
                    source.line_of("auto_shard_policy", "with_options", "from_tensor_slices"),
                )
    return None


def _first_epoch(facts: RankFacts) -> set[int]:
    fit = facts.fits[0]
    return {image for batch in fit["images"][: fit["epochs"][0] if fit["epochs"] else 0] for image in batch}


def _weights(workers: list[RankFacts], source: Source) -> Finding | None:
    for facts in workers:
        if not close(facts.fits[0]["end"]["weights"], workers[0].fits[0]["end"]["weights"]):
            return Finding(
                f"{facts.where} ends with weights other than {_low(workers[0])}'s. Expected: the same.",
                source.line_of("scope", "fit"),
            )
    return None


def _reports(workers: list[RankFacts], source: Source) -> Finding | None:
    for facts in workers:
        printed = facts.stdout.strip()
        if facts.rank and printed:
            first = printed.splitlines()[0][:80]
            return Finding(f"{facts.where} prints, too: “{first}”. Expected: the chief alone.", _line_of_print(source))
        if not facts.rank and not printed:
            return Finding(f"{facts.where} prints nothing. Expected: the chief reports.", _line_of_print(source))
    return None


def _line_of_print(source: Source) -> int | None:
    return source.line_of("verbose", "fit")


def _images_of(count: int) -> str:
    return "1 image" if count == 1 else f"{count} images"


# --- Step 14 ----------------------------------------------------------------------------------------------------------


def judge_restart(runs: Runs, expected: Runs, source: Source) -> Finding | None:
    """Whether training goes on after a worker was killed, and who keeps files."""
    for workers in runs.topologies.values():
        finding = _judge_files(workers, source)
        if finding:
            return finding
    killed, restarted = runs.aside.get("killed", []), runs.aside.get("restarted", [])
    line = source.line_of("BackupAndRestore", "callbacks")
    if len(restarted) < 2:
        return Finding("The restart after a worker was killed was not come to.", line, unclear=True)
    if not killed or not killed[0].fits:
        return None  # it does not get that far, as another check says
    begins = []
    for facts in restarted:
        if facts.error or not facts.reported or not facts.fits or not facts.fits[0]["end"]:
            why = facts.error or "it does not get to the end of the training"
            return Finding(f"Started again after worker 1 was killed, {_low(facts)} fails: {why}", line)
        begins.append(facts.fits[0]["begin"])
    if any(begin["iterations"] != begins[0]["iterations"] for begin in begins):
        told = " and ".join(
            f"{_low(facts)} {begin['iterations']}" for facts, begin in zip(restarted, begins, strict=True)
        )
        return Finding(
            f"Started again after worker 1 was killed, the workers go on from different steps: {told}.", line
        )
    right = expected.aside["restarted"][0].fits[0]
    begin = begins[0]["iterations"]
    if begin < right["begin"]["iterations"]:
        what = "begin anew" if not begin else f"go on from step {begin}"
        return Finding(
            f"Started again after worker 1 was killed in step {DIES_AFTER}, all {what}. Expected: from step "
            f"{right['begin']['iterations']}, the last one that --save-freq saves.",
            line,
        )
    end = restarted[0].fits[0]["end"]["iterations"]
    if end != right["end"]["iterations"]:
        return Finding(
            f"Started again after worker 1 was killed, training ends with {end} steps behind it. Expected: "
            f"{right['end']['iterations']}, as without the interruption.",
            source.line_of("BackupAndRestore", "initial_epoch"),
        )
    return None


def _judge_files(workers: list[RankFacts], source: Source) -> Finding | None:
    """Whether the chief alone writes what is kept, and all of them one backup."""
    trained = [facts for facts in workers if facts.fits]
    for facts in trained:
        backup = _paths(facts, "BackupAndRestore")
        if not backup:
            message = f"{facts.where} has no BackupAndRestore. Expected: one on every worker."
            return Finding(message, source.line_of("callbacks"), explains=True)
        if backup != _paths(trained[0], "BackupAndRestore"):
            message = f"{facts.where} has its backup in another folder than {_low(trained[0])}. Expected: one for all."
            return Finding(message, source.line_of("BackupAndRestore"), explains=True)
    if len(trained) < len(workers):
        return None  # it does not get that far, as another check says
    written = [_written(facts) for facts in workers]
    kept = {Path(path).parent for _, path in written[0]}
    for facts, paths in list(zip(workers, written, strict=True))[1:]:
        for what, path in paths:
            if Path(path).parent in kept:
                return Finding(
                    f"{facts.where}: {what} writes where the chief's files are kept. Expected: to a folder that is "
                    "thrown away.",
                    source.line_of("log_dir", what, "fit"),
                )
    saved = [path for what, path in written[0] if what in ("ModelCheckpoint", "save")]
    if not any(LOGS in Path(path).parts for path in saved):
        message = f"{workers[0].where}, the chief, saves no checkpoints in --log-dir."
        return Finding(message, source.line_of("ModelCheckpoint", "callbacks"))
    return None


def _paths(facts: RankFacts, kind: str) -> list[str]:
    """Return where callbacks of this kind write."""
    return [callback["path"] for callback in facts.fits[0]["callbacks"] if callback["kind"] == kind]


def _written(facts: RankFacts) -> list[tuple[str, str]]:
    """Return what of a worker's writes to which path, but for backups."""
    callbacks = [(callback["kind"], callback["path"]) for callback in facts.fits[0]["callbacks"]]
    found = [(kind, path) for kind, path in callbacks if path and kind != "BackupAndRestore"]
    return found + [("save", path) for path in facts.saved]


def _low(facts: RankFacts) -> str:
    return facts.name.lower()


JUDGES = {13: judge_workers, 14: judge_restart}

NEEDS = {13: set(), 14: {13}}
