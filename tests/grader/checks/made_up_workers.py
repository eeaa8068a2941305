"""Made-up workers of mnist_multi_worker.py, each of which does what the solution does, and changes of them."""

from grader.checks.multi_worker.batches import HELD_OUT, TRAIN
from grader.checks.multi_worker.workers import STRATEGY
from grader.reading import parsing
from grader.terms.clusters import BATCH
from grader.terms.facts import Disk, Progress, Save, TaskFacts, TaskFit, Writer
from grader.terms.runs import Rank, Runs

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


def of_fit(number=1, **values):
    """Return a change of a worker's training."""

    def change(found):
        for name, value in values.items():
            setattr(found[number].facts.fits[0], name, value)

    return change


def named(name):
    """Return a change of the name of the chief's last checkpoint."""
    last = Save(f"{CHECKPOINTS}/{name}", 24)
    changes = of_rank(0, left=newest(name, 24)), of_facts(0, saves=[*saves(5, 10, 15, 20), last])
    return lambda found: [change(found) for change in changes]


def of_facts(number=1, **values):
    """Return a change of a worker's facts."""

    def change(found):
        for name, value in values.items():
            setattr(found[number].facts, name, value)

    return change


def of_rank(number=1, **values):
    """Return a change of what was seen of a worker."""

    def change(found):
        for name, value in values.items():
            setattr(found[number], name, value)

    return change


def said(check, change, reserved=""):
    """Return what a check finds once the second worker is changed, in a cluster of its own or in all of them."""
    runs = right()
    found = runs.reserved[reserved] if reserved else runs.clusters["two-workers"]
    change(found)
    return check(runs, right(), SCRIPT)
