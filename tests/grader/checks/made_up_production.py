"""Made-up runs of imagenet_resnet50.py, in which each rank does all that is asked for up to step 11."""

from course.steps import SOLUTIONS
from grader.checks.production.imagenet_resnet50 import DEFAULT_FORMAT, EPOCHS, FORMATS, NEWEST, WARMUP_EPOCHS
from grader.reading import parsing
from grader.terms.clusters import BASE_LR
from grader.terms.facts import Batch, Disk, Epoch, Files, Fit, HorovodFacts, State
from grader.terms.runs import Rank, Runs
from tests.grader.checks.made_up import MadeUp

SOURCE = parsing.read((SOLUTIONS / "imagenet_resnet50_after_step_11.py").read_text())
SIZES = {"two-hosts": 2, "three-ranks": 3}
STEPS = 4
LATER = {"29": 1.0, "30": 0.1, "60": 0.01, "80": 0.001}


def line(text: str) -> int:
    """Return the number of the solution's first line with this text."""
    return next(number for number, own in enumerate(SOURCE.text.splitlines(), 1) if text in own)


def state(value=1.0, iterations=8, slots=2.0, names="m"):
    return State([value, 2 * value], [slots, -slots], iterations, [names])


def rank_of(number, size, first, epochs, warmup, begin, described):
    """Return a rank that did all that is asked for."""
    rates = [BASE_LR * (1 + (size - 1) * min(1, (step + 1) / warmup / STEPS)) for step in range(epochs * STEPS)]
    if first:
        rates = [BASE_LR * size] * epochs * STEPS
    fit = Fit(
        verbose=0,
        optimizer={"kind": "SGD"},
        callbacks=[],
        loss_weights=[],
        steps_per_epoch=STEPS,
        log_dirs=[],
        weights_built=[1.0],
        initial_epoch=first,
        begin=begin,
        batches=[Batch(each, [1.0], [1.0], [1.0], [float(step)], [1.0]) for step, each in enumerate(rates, 1)],
        epochs=[Epoch(STEPS, 1, {"loss": 1.0}, [f"{first + epoch}-{number}"], []) for epoch in range(epochs)],
        end=state(),
        schedule={epoch: share * BASE_LR * size for epoch, share in LATER.items()},
    )
    names = [FORMATS.get(described, DEFAULT_FORMAT).format(epoch=first + n + 1) for n in range(epochs)]
    for epoch, name in zip(fit.epochs, names, strict=True):
        epoch.saved = [] if number else [name]
    fit.renamed = [] if number else names
    fit.wrote = [] if number else [f"{name}.partial" for name in names]
    left = Disk({} if number else {f"left/{name}": 10 for name in names})
    files = Files(0, 0, 0, 0, 0, [])
    facts = HorovodFacts(order=["trained"], lines={"fit": line("model.fit(")}, fits=[fit], files=files)
    return Rank(number, number, f"Rank {number}", described, 0, None, "", "", "", facts, reported=True, left=left)


def solved() -> Runs:
    """Return runs of a script that does all that is asked for."""
    clusters = {
        name: [
            rank_of(number, size, 0, EPOCHS, WARMUP_EPOCHS[name], state(0.0, 0, 0.0), name) for number in range(size)
        ]
        for name, size in SIZES.items()
    }
    again = [rank_of(number, 3, NEWEST, 1, 1, state(), "started again") for number in range(3)]
    return Runs(clusters, {"resumed": again}, traffic=1000)


PRODUCTION = MadeUp(solved, SOURCE)


def of_epochs(cluster, number, *epochs, **values):
    """Return a change of some epochs of a rank, or of all."""

    def change(runs):
        own = (runs.clusters | runs.reserved)[cluster][number].facts.fits[0].epochs
        for epoch in [own[each] for each in epochs] or own:
            for name, value in values.items():
                setattr(epoch, name, value)

    return change


def of_rates(cluster, rates, number=0):
    """Return a change of a rank's learning rates, batch by batch."""

    def change(runs):
        batches = (runs.clusters | runs.reserved)[cluster][number].facts.fits[0].batches
        for batch, value in zip(batches, rates, strict=False):
            batch.rate = value

    return change
