"""Made-up workers of mnist_multi_worker.py, each of which does what the solution does, and changes of them."""

from functools import partial

from grader.checks.multi_worker.batches import HELD_OUT, TRAIN
from grader.checks.multi_worker.workers import STRATEGY
from grader.reading import parsing
from grader.terms.clusters import BATCH
from grader.terms.facts import Disk, Progress, Save, TaskFacts, TaskFit, Writer
from grader.terms.runs import Rank, Runs
from tests.grader.checks.made_up import MadeUp, of

SCRIPT = parsing.read(
    """
strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
steps_per_epoch = 12
validation_steps = 2
with strategy.scope():
    model = make_or_restore_model()
callbacks = [ModelCheckpoint(path, save_freq=5), BackupAndRestore(folder, save_freq=5)]
model.fit(train_data, epochs=2, verbose=1)
model.save_weights(last)
train_data = train_data.repeat()
"""
)
CHECKPOINTS = "/disk/left/checkpoints"


def progress(iterations):
    return Progress([1.0, 2.0 + iterations], iterations)


def newest(name, iterations):
    """Return a disk whose newest checkpoint has this name and so many steps behind it."""
    return Disk(checkpoint=Save(f"{CHECKPOINTS}/{name}", iterations))


def saves(*iterations, folder=CHECKPOINTS):
    return [Save(f"{folder}/after-{(number - 1) // 12 + 1}", number) for number in iterations]


def worker(number, size=2, start=0, epochs=2):
    """Return a worker that does what both steps ask for."""
    steps = TRAIN // (BATCH * size)
    end = start + epochs * steps
    order = list(range(TRAIN)) * epochs
    full = BATCH * size
    mine = slice(number * BATCH, (number + 1) * BATCH)
    folder = "/disk/left" if number == 0 else f"/tmp/thrown-away-{number}"
    fit = TaskFit(
        strategy=STRATEGY,
        callbacks=[
            Writer("ModelCheckpoint", f"{folder}/checkpoints/after-{{epoch}}"),
            Writer("BackupAndRestore", "/disk/left/backup"),
        ],
        steps_per_epoch=steps,
        in_parts=[],
        places=[],
        images=[order[step * full : (step + 1) * full][mine] for step in range(epochs * steps)],
        validation_images=[
            [1000 + image for image in range(step * full, (step + 1) * full)][mine] for step in range(HELD_OUT // full)
        ]
        * epochs,
        epochs=[steps] * epochs,
        entered=progress(start),
        begin=progress(start),
        end=progress(end),
    )
    periodic = range(start + 5, end, 5)
    facts = TaskFacts(
        strategies=[(STRATEGY, size)],
        communication=["RING"],
        built=STRATEGY,
        lines={"model": 6},
        fits=[fit],
        saves=saves(*periodic, end, folder=f"{folder}/checkpoints"),
        backups=saves(*periodic),
    )
    stdout = "" if number else "Epoch 1/2"
    left = newest("after-2", end)
    return Rank(number, 0, f"Worker {number}", "two workers", 0, None, "", stdout, "", facts, reported=True, left=left)


def right():
    """Return runs of workers that do what both steps ask for."""
    runs = Runs({"two-workers": [worker(0), worker(1)], "three-workers": [worker(0), worker(1)]}, traffic=1000)
    for rank in runs.clusters["three-workers"]:
        rank.found, rank.facts.fits[0].entered = newest("after-0", 0), progress(0)
    killed, restarted = [worker(0), worker(1)], [worker(0, start=15), worker(1, start=15)]
    for rank in restarted:
        rank.found, rank.facts.fits[0].restored = newest("after-2", 15), True
        rank.facts.fits[0].end, rank.facts.fits[0].epochs = progress(24), [9]
    runs.reserved = {"killed": killed, "restarted": restarted}
    return runs


WORKERS = MadeUp(right, SCRIPT)
other, chief = partial(of, "two-workers", 1), partial(of, "two-workers", 0)
other_again = partial(of, "restarted", 1)


def named(name):
    """Return a change of the name of the chief's last checkpoint."""
    return chief(left=newest(name, 24), saves=[*saves(5, 10, 15, 20), Save(f"{CHECKPOINTS}/{name}", 24)])
