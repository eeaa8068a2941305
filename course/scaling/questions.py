"""Step 23's questions about a training on many GPUs: a seed draws their numbers, and the model gives the answers.

    python -m course.scaling.questions 7

prints the questions of seed 7.
"""

import random
import re
import sys
import tomllib
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any

from course.scaling.allreduce import allreduce_seconds
from course.scaling.models import IMAGENET, MODELS, Model
from course.scaling.step import step_seconds
from course.scaling.training import energy_kwh, hours_to_train, price

OVERLAP = 0.5
BATCH = 64  # images per GPU and step
GPUS = tuple(2**power for power in range(11))  # that can be had
TOLERANCE = 0.02  # of the answer; a number of GPUs has to be exact


@dataclass(frozen=True)
class Question:
    """A question, its answer and how to find it.

    Attributes:
        name: of its field in the learner's file.
        text: the question, with its numbers.
        unit: of the answer.
        answer: the right number.
        way: how to find it.
        mistakes: wrong numbers that are found easily, by what was done wrong.
        exact: whether no other number is right.
    """

    name: str
    text: str
    unit: str
    answer: float
    way: str
    mistakes: dict[str, float] = field(default_factory=dict)
    exact: bool = False

    def accepts(self, number: float) -> bool:
        """Return whether a number is right."""
        return _near(number, self.answer, 0 if self.exact else TOLERANCE)

    def mistake(self, number: float) -> str:
        """Return what was done wrong to get a number, as a sentence; "" if that is not known."""
        return next((f"{what}." for what, wrong in self.mistakes.items() if _near(number, wrong, TOLERANCE)), "")


def _near(number: float, right: float, tolerance: float) -> bool:
    return abs(number - right) <= tolerance * abs(right)


@dataclass(frozen=True)
class _Training:
    """A model that hosts with one GPU each train: gradients go over a ring of all of them, without latency."""

    model: Model
    gigabits: int  # per second, of a host's cable
    speed: int  # of a GPU, in P100s

    @property
    def gradient_bytes(self) -> int:
        return 4 * self.model.parameters

    @property
    def rate(self) -> float:
        """Return the images per second of one GPU alone."""
        return self.speed * self.model.images_per_second

    def communication(self, gpus: int) -> float:
        return allreduce_seconds(self.gradient_bytes, gpus, 0, 8e-9 / self.gigabits)

    def step(self, gpus: int) -> float:
        compute = BATCH / self.rate
        return step_seconds(self.gradient_bytes, gpus, 0, 8e-9 / self.gigabits, compute, OVERLAP)

    def hours(self, gpus: int) -> float:
        return hours_to_train(IMAGENET, self.model.epochs, gpus * BATCH, self.step(gpus))

    @property
    def words(self) -> str:
        """Describe it."""
        return (
            f"{self.model.title}: {self.gradient_bytes / 1e6:.0f} MB of gradients. One GPU alone trains "
            f"{self.rate:.0f} images per second, {BATCH} per step. The network has {self.gigabits} Gbit/s."
        )

    @property
    def overlapped(self) -> str:
        """Describe it, with its overlap."""
        return f"{self.words} Gradients can be exchanged during half of the computation."

    @property
    def whole(self) -> str:
        """Describe its length."""
        return f"{self.model.epochs} epochs of ImageNet, {IMAGENET:,} images"


def draw(seed: int) -> list[Question]:
    """Return the questions with the numbers of a seed: for the same seed, always the same ones."""
    chance = random.Random(seed)
    asked = (_allreduce, _efficiency, _batch, _gpus, _limit, _energy)
    return [ask(chance, _training(chance)) for ask in asked]


def _training(chance: random.Random) -> _Training:
    model = chance.choice(("resnet50", "resnet101", "resnet152", "vgg16"))
    return _Training(MODELS[model], chance.choice((10, 25)), chance.choice((2, 4)))


def _exposed(chance: random.Random, training: _Training, gpus: int) -> _Training:
    """Return a training in which some communication is exposed: otherwise, an answer would not depend on overlap."""
    while training.step(gpus) * training.rate < 1.05 * BATCH:
        training = _training(chance)
    return training


def _allreduce(chance: random.Random, training: _Training) -> Question:
    gpus = chance.choice((8, 16, 32))
    milliseconds = 1000 * training.communication(gpus)
    return Question(
        "allreduce",
        f"{training.words} How long does the allreduce of all gradients take on {gpus} hosts?",
        "ms",
        milliseconds,
        f"A host sends 2 · {gpus - 1}/{gpus} · {training.gradient_bytes / 1e6:.0f} MB. Times 8, this is in bits.",
        {
            "That is the time of one half, the reduce-scatter": milliseconds / 2,
            "A byte has 8 bits": milliseconds / 8,
            "That is the time of the array, sent once by each host": milliseconds / 2 * gpus / (gpus - 1),
        },
    )


def _efficiency(chance: random.Random, training: _Training) -> Question:
    gpus = chance.choice((8, 16, 32))
    training = _exposed(chance, training, gpus)
    compute, communication, step = BATCH / training.rate, training.communication(gpus), training.step(gpus)
    return Question(
        "efficiency",
        f"{training.overlapped} What is the efficiency on {gpus} hosts?",
        "%",
        100 * compute / step,
        f"A step computes for {1000 * compute:.0f} ms. Of {1000 * communication:.0f} ms of communication, "
        f"{1000 * (step - compute):.0f} ms are exposed: {1000 * compute:.0f} / {1000 * step:.0f}.",
        {
            "That is the efficiency without overlap": 100 * compute / (compute + communication),
            "That is the efficiency with full overlap": 100 * compute / max(compute, communication),
        },
    )


def _batch(chance: random.Random, training: _Training) -> Question:
    gpus = chance.choice((16, 64))
    needed = training.communication(gpus) / OVERLAP * training.rate
    return Question(
        "batch",
        f"{training.overlapped} From how many images per GPU and step on is all communication hidden, on "
        f"{gpus} hosts? The images per second do not depend on the batch.",
        "images",
        float(ceil(needed)),
        f"The communication takes {1000 * training.communication(gpus):.0f} ms, and the computation has to take twice "
        f"as long: times {training.rate:.0f} images per second.",
        {"That hides it only if all of the computation can overlap": needed * OVERLAP},
    )


def _gpus(chance: random.Random, training: _Training) -> Question:
    right = chance.choice(GPUS[4:8])
    hours = ceil(20 * training.hours(right)) / 20
    linear = next(gpus for gpus in GPUS if training.hours(1) / gpus <= hours)
    return Question(
        "gpus",
        f"{training.overlapped} {training.whole}, have to be done within {hours:g} hours. Each GPU costs the same "
        "per hour. Of 1, 2, 4, 8, … GPUs, which number is fast enough and costs the least? Of several, the smallest.",
        "GPUs",
        float(right),
        "More GPUs are never more efficient, so a larger number never costs less. The smallest number that is fast "
        f"enough is the answer: {right} take {training.hours(right):.2f} hours.",
        {} if linear == right else {"That would be enough without communication": float(linear)},
        exact=True,
    )


def _limit(chance: random.Random, training: _Training) -> Question:
    gpus = chance.choice((8, 16))
    network = gpus * BATCH / training.step(gpus)
    share = chance.choice((0.7, 0.85, 1.3))
    storage = round(share * network / 100) * 100
    slower = "storage" if storage < network else "network"
    return Question(
        "limit",
        f"{training.overlapped} All {gpus} hosts together read {storage:,} images per second from their storage, while "
        "they compute. How many images per second do they train?",
        "images per second",
        min(network, storage),
        f"GPUs and network reach {network:,.0f} images per second, the storage {storage:,}: the {slower} is the limit.",
        {
            "The other one is the limit": max(network, storage),
            "That would be the limit if communication took no time": gpus * training.rate,
        },
    )


def _energy(chance: random.Random, training: _Training) -> Question:
    gpus, watts, per_hour = chance.choice((16, 32)), chance.choice((300, 400, 700)), chance.choice((1.5, 2.0, 3.0))
    training = _exposed(chance, training, gpus)
    hours = training.hours(gpus)
    kwh = energy_kwh(gpus, hours, watts)
    alone = energy_kwh(1, training.hours(1), watts)
    return Question(
        "energy",
        f"{training.overlapped} How much energy do {gpus} GPUs use for {training.whole}, if each takes {watts} W with "
        "its share of the host, also while it waits?",
        "kWh",
        kwh,
        f"In {hours:.1f} hours: {gpus} · {hours:.1f} h · {watts / 1000:g} kW. At ${per_hour:g} per GPU and hour, "
        f"they cost ${price(gpus, hours, per_hour):,.0f}.",
        {"That is the energy of one GPU of them": kwh / gpus, "That is what one GPU alone would use": alone},
    )


def number_of(value: Any) -> float | None:
    """Return the number that an answer names, such as 26.3, "26.3 %" or "1,100"; None if it names none."""
    found = re.match(r"\s*(-?(?:\d{1,3}(?:,\d{3})+|[\d_]*\d)(?:\.\d+)?(?:e[+-]?\d+)?)(?![\d,.])", str(value).lower())
    return None if found is None or isinstance(value, bool) else float(re.sub(r"[_,]", "", found[1]))


def show(seed: int) -> None:
    """Print the questions of a seed."""
    for number, question in enumerate(draw(seed), 1):
        print(f"{number}. {question.name}, in {question.unit}\n   {question.text}\n")


def show_ways(path: str | Path) -> None:
    """Print how to find each answer that is right in a learner's file.

    Args:
        path: a TOML file with a seed, and a table of answers.

    Raises:
        tomllib.TOMLDecodeError: it is not TOML.
    """
    file = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    answers, right = file.get("answers", {}), 0
    for question in draw(file.get("seed", 1)):
        number = number_of(answers.get(question.name))
        if number is not None and question.accepts(number):
            right += 1
            print(f"{question.name} = {number:g} {question.unit}\n   {question.way}\n")
    print(f"{right} of 6 answers are right.")


if __name__ == "__main__":
    show(int(sys.argv[1]))
