"""Checks of step 13: the batches, images and epochs of each worker, where they begin, and who reports."""

from grader.checks.multi_worker.mnist_multi_worker import part
from grader.checks.multi_worker.workers import count, in_scope, low, strategy_first, trainings, untrained
from grader.checks.output import own_errors
from grader.reading.parsing import Source
from grader.terms.clusters import BATCH, FASHION_MNIST
from grader.terms.facts import TaskFit
from grader.terms.findings import Finding, Unclear, Untold
from grader.terms.runs import TaskRank, TaskRuns

HELD_OUT = FASHION_MNIST // 6  # images, for validation
TRAIN = FASHION_MNIST - HELD_OUT
# Of a worker's images: so many are another's, too, where no one distributes them. Two workers that shuffle with seeds
# of their own have about half of theirs in common, which the lesson calls a loss and lets pass.
SHARED = 0.8


@part.check(
    13,
    points=1,
    asks=("Make the batch size that of all workers.", "that of all workers together"),
    needs=(in_scope,),
    hint="strategy.num_replicas_in_sync is the number of replicas of all workers.",
)
def global_batch(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """A batch is that of all workers: each of them takes --batch-size images of it per step"""
    for workers, rank, fit in trainings(runs):
        unseen = _unseen_images(rank, fit, source)
        if unseen:
            return unseen
        for batch in fit.images[: TRAIN // (BATCH * len(workers))]:
            if len(batch) != BATCH:
                return Finding(
                    seen=f"{rank.where} takes {count(len(batch), 'image')} per step. Expected: {BATCH}, its own "
                    f"--batch-size, of the {BATCH * len(workers)} of all workers.",
                    line=source.line_of("batch_size", "batch"),
                )
    return None


def _unseen_images(rank: TaskRank, fit: TaskFit, source: Source) -> Finding | None:
    """Return a Finding where steps were made that no images were seen to go into."""
    if len(fit.images) >= sum(fit.epochs):
        return None
    message = f"{low(rank)} ({rank.cluster}) makes {count(sum(fit.epochs), 'step')}, and images "
    line = source.line_of("make_train_function", "train_step", "fit")
    return Unclear(seen=f"{message}were seen to go into {len(fit.images)} of them.", line=line)


@part.check(
    13,
    points=1,
    asks=("Let images be shared out, and not files.", "takes its part of every batch", "Images are shared out once"),
    needs=(global_batch,),
    hint="AutoShardPolicy.DATA shares out images, OFF leaves it to you. One of the two shares out, not both.",
)
def parts(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """Each worker takes its own part of the images, of those trained on and of those held out

    Workers that shuffle with seeds of their own have some images in common, which passes, as the lesson says.
    """
    for workers, rank, fit in trainings(runs):
        for other in workers[: rank.number]:
            first = other.facts.fits[0]
            own, others = set(_first_epoch(fit)), set(_first_epoch(first))
            if len(own & others) > SHARED * len(own):
                what = f"{rank.where} trains on the same images as {low(other)}"
            elif fit.validation_images and fit.validation_images == first.validation_images:
                what = f"{rank.where} validates on the same images as {low(other)}, batch by batch"
            else:
                continue
            return Finding(
                seen=f"{what}. Expected: each worker on its own part of every batch.",
                line=source.line_of("auto_shard_policy", "with_options", "from_tensor_slices"),
            )
        images = _first_epoch(fit)
        share = -(-TRAIN // len(workers))
        seen = len({image for batch in fit.images for image in batch})
        # What is left to the worker may be others in each pass; a data set that repeats before it is shuffled has
        # images twice, too.
        part = seen <= share or fit.sharded
        if fit.divided and part and len(set(images)) < len(images):
            return Finding(
                seen=f"{rank.where}: the images are shared out twice. The script leaves this worker {share} of {TRAIN}, and "
                f"the strategy takes a part of these again: in epoch 1, {len(set(images))} different images fill "
                f"{len(images)} places. Expected: shared out once, by the strategy or by the script.",
                line=source.line_of("shard", "auto_shard_policy", "from_tensor_slices"),
            )
    return None


@part.check(
    13,
    points=1,
    asks=("The numbers of steps follow from it, in training as in validation.",),
    needs=(global_batch,),
    hint="Divide the number of images by the batch size of all workers, and let the data repeat.",
)
def steps(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """An epoch's steps go over the training images once, and those of a validation over the images held out"""
    for workers, rank, fit in trainings(runs):
        finding = _training_steps(rank, fit, BATCH * len(workers), source)
        if finding:
            return finding
    for workers in runs.clusters.values():
        finding = _validation_steps(workers, source)
        if finding:
            return finding
    return None


def _training_steps(rank: TaskRank, fit: TaskFit, full: int, source: Source) -> Finding | None:
    right = {TRAIN // full, -(-TRAIN // full)}
    for number, made in enumerate(fit.epochs):
        if made not in right:
            end = " The data end: do they repeat?" if number and made < min(right) else ""
            return Finding(
                seen=f"{rank.where} makes {count(made, 'step')} in epoch {number + 1}. Expected: {min(right)}, for {TRAIN} "
                f"images that are not held out, {full} per step.{end}",
                line=source.line_of("repeat" if end else "steps_per_epoch", "steps_per_epoch"),
            )
    return None


def _validation_steps(workers: list[TaskRank], source: Source) -> Finding | None:
    fits, full = [rank.facts.fits[0] for rank in workers], BATCH * len(workers)
    line = source.line_of("validation_steps", "validation_data", "fit")
    for rank, fit in zip(workers, fits, strict=True):
        held_out = {image for other in fits for batch in other.validation_images for image in batch}
        both = len(held_out & {image for batch in fit.images for image in batch})
        if both:
            message = f"{rank.where} trains on {count(both, 'image')} that the workers validate on."
            return Finding(seen=f"{message} Expected: no image that is held out.", line=source.line_of("held_out"))
    if not fits[0].epochs:
        return None  # `restored` says that no epoch is left to train for
    epochs = len(fits[0].epochs)
    validated = sum(len(batch) for fit in fits for batch in fit.validation_images) / epochs
    if not HELD_OUT // full * full <= validated <= -(-HELD_OUT // full) * full:
        return Finding(
            seen=f"All workers ({workers[0].cluster}) together validate on {count(round(validated), 'image')} per epoch, "
            f"each counted as often as it is used. Expected: about {HELD_OUT}, the number held out: "
            f"{count(HELD_OUT // full, 'step')} of {full}.",
            line=line,
        )
    return None


@part.check(
    13,
    points=1,
    asks=("Every worker loads the newest checkpoint", "continues from its step"),
    needs=(strategy_first,),
    hint="make_or_restore_model loads the newest checkpoint; call it on every worker, as the program did before.",
)
def restored(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """Started again, every worker loads the newest checkpoint and continues from its step"""
    line = source.line_of("load_weights", "latest_checkpoint", "make_or_restore_model", "scope")
    every = runs.clusters | runs.reserved
    started = [ranks for ranks in every.values() if any(rank.found.checkpoint for rank in ranks)]
    for workers in started:
        for rank in workers:
            found = rank.found.checkpoint
            entered = rank.facts.fits[0].entered if rank.facts.fits else None
            if found and entered and entered.iterations != found.iterations:
                return Finding(
                    seen=f"{rank.where}, started again, begins with {count(entered.iterations, 'step')} behind it. "
                    f"Expected: {found.iterations}, those of the newest checkpoint in --log-dir/checkpoints, on every "
                    "worker.",
                    line=line,
                    explains=True,
                )
            if found and rank.facts.fits and not rank.facts.fits[0].found:
                return Finding(
                    seen=f"{rank.where}, started again, begins with weights that are in no checkpoint or backup below "
                    "--log-dir. Expected: those of the newest.",
                    line=line,
                )
    unseen = untrained(runs)
    if unseen:
        return unseen
    if not started and runs.reserved:
        return Untold(seen="the killed workers leave no checkpoint that could be loaded.")
    if not started:
        first = next(iter(runs.clusters.values()))[0]
        return Finding(
            seen=f"{first.where} leaves no checkpoint in --log-dir/checkpoints that tf.train.latest_checkpoint finds, so "
            "no worker can continue from one. Expected: weights saved there after each epoch.",
            line=source.line_of("ModelCheckpoint", "callbacks"),
        )
    return _epochs(runs, expected, source)


def _epochs(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """Whether training stops at the epoch that --epochs names, the epochs before a checkpoint included."""
    for name, workers in runs.clusters.items():
        right = expected.clusters[name][0].facts.fits[0]
        last = len(right.epochs) + _epochs_behind(right)
        for rank in workers:
            fit = rank.facts.fits[0]
            behind = _epochs_behind(fit)
            if len(fit.epochs) != last - behind:
                more = f", with {count(behind, 'epoch')} behind it" if behind else ""
                return Finding(
                    seen=f"{rank.where} trains for {count(len(fit.epochs), 'epoch')}. Expected: {last - behind}, since "
                    f"--epochs is {last}{more}.",
                    line=source.line_of(*(["initial_epoch"] if behind else []), "epochs", "fit"),
                )
    return None


def _epochs_behind(fit: TaskFit) -> int:
    """Return how many epochs were behind a training when it began, as its own epochs are long."""
    return fit.entered.iterations // fit.epochs[0] if fit.entered and fit.epochs and fit.epochs[0] else 0


@part.check(
    13,
    points=1,
    asks=("Let the chief report, and no other worker.",),
    needs=(strategy_first,),
    hint="verbose of model.fit is 0 for a worker that is silent.",
)
def chief_reports(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The chief reports, and no other worker"""
    line = source.line_of("verbose", "fit")
    for rank in runs.ranks():
        printed = rank.stdout.strip() or ("" if rank.error else own_errors(rank))
        if rank.number and printed:
            first = printed.splitlines()[0][:80]
            return Finding(
                seen=f"{rank.where} prints “{first}”. Expected: only worker 0, the chief, reports.", line=line
            )
    unseen = untrained(runs)
    if unseen:
        return unseen
    for rank in runs.ranks():
        if not rank.number and not rank.stdout.strip():
            return Finding(seen=f"{rank.where}, the chief, prints nothing. Expected: it reports.", line=line)
    return None


def _first_epoch(fit: TaskFit) -> list[int]:
    return [image for batch in fit.images[: fit.epochs[0] if fit.epochs else 0] for image in batch]
