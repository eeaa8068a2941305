"""Watches an elastic training on hosts of which one dies or joins, while it trains.

What counts is seen from outside: the ranks on each host by their processes, what the hosts receive by the counters of
their interfaces, and how the training ends. Which images the weights were trained on is seen from the model that it
saves. Each image lights pixels that no other image does, and the weights of a pixel change only by the steps with its
image in them and, by a little momentum, in those right after. The judge draws the weights to start from, and the
learning rate is small. So how far those weights moved says how often an image was used.
"""

import contextlib
import csv
import gzip
import re
import struct
import sys
import time
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import psutil

from course.hosts.cluster import Cluster
from course.steps import SOLUTIONS
from grader.terms.job import Result
from grader.terms.watched_facts import ElasticFacts, Logged, Presence
from grader.watchers import mpi_program
from grader.watchers.clock import Clock
from grader.watchers.head_script import HeadScript

IMAGES, PIXELS, CLASSES = 240, 3, 10  # pixels that each image has to itself
WIDTH = 512  # of the hidden layer
BATCH, RATE, MOMENTUM = 4, 4e-4, 0.08  # for the program; the rate is that of one rank
HOSTS = {"rate": "100mbit"}  # of the network: it makes a step long enough for something to happen in mid-epoch
# Seconds of a Clock, some two times what the program has needed on two cores that other trainings kept busy, too.
STARTED = 90  # until the ranks train
LATEST = 60  # from what happens to a host to the end of the training
TRAINING = str(Path(__file__).with_name("elastic_rank.py"))
HASH_SEED = "0"  # of horovodrun, which numbers hosts in the order of a set
LONGEST = 20_000  # characters of what it logs
LARGEST = 50 * 2**20  # bytes of a saved model
ASTRAY = 1 / 2  # of a use: how far an image moves weights in other directions than its gradient's, at least


@dataclass(frozen=True)
class Situation:
    """Hosts, and what happens to one of them.

    Attributes:
        slots: of each host, in the order of the hostfile.
        received: megabytes that the first host that stays has received when it happens.
        patience: seconds that a rank waits for another one, on a machine that has nothing else to do.
        commit: steps from one commit to the next: what is left of an epoch then can be shared out without a remainder,
            also if the number of ranks has changed. In a step of fewer images, each would count more.
        epochs: that are trained.
        dies: the host that dies, if any.
        joins: the host that is down at first, if any.
    """

    slots: dict[str, int]
    received: int
    patience: int
    commit: int
    epochs: int
    dies: str | None = None
    joins: str | None = None


SITUATIONS = {
    # With HASH_SEED, the host that dies is that of rank 0. It dies between two commits, and in the middle of a step.
    "dies": Situation({"opal": 1, "jade": 2}, dies="opal", received=28, patience=12, commit=4, epochs=2),
    "joins": Situation({"onyx": 1, "mica": 1, "ruby": 1}, joins="ruby", received=10, patience=30, commit=3, epochs=3),
}


def watch(cluster: Cluster, situation: Situation, script: Path, clock: Path) -> Result:
    """Train with a script in a situation, and return how that ended, with ElasticFacts.

    Args:
        cluster: the hosts, which are up.
        situation: what happens to them.
        script: the file.
        clock: see grader.watchers.clock.
    """
    if situation.joins:
        cluster.kill(situation.joins)
    watched = _Watched(cluster, situation, script, clock)
    watched.until_trained()
    return watched.until_end()


class _Watched:
    """A training that runs, and what was seen of it."""

    def __init__(self, cluster: Cluster, situation: Situation, script: Path, clock: Path):
        """Start the training on the head."""
        self.cluster, self.situation, self.script, self.clock = cluster, situation, script, clock
        # Ranks know only the time on the wall, and all that they do takes longer where other programs keep the cores.
        self.patience = situation.patience * Clock(clock, 0).slowdown
        self.facts = ElasticFacts()
        self.stays = next(host for host in situation.slots if host not in (situation.dies, situation.joins))
        self.images = _Images()
        self.images.write(cluster.shared)
        self.before = 0
        ranks = sum(slots for host, slots in situation.slots.items() if host != situation.joins)
        program = [sys.executable, TRAINING, str(script), "--log-dir", "/shared/logs"]
        program += ["--data-dir", "/shared/data", "--momentum", str(MOMENTUM)]
        program += ["--base-lr", str(RATE), "--batch-size", str(BATCH), "--commit-steps", str(situation.commit)]
        program += ["--epochs", str(situation.epochs), "--weights", "/shared/weights.npz"]
        launcher = ["bash", f"{SOLUTIONS}/hosts/launch_elastic.sh", "/cluster/hostfile", "-np", str(ranks)]
        launcher += ["--min-np", "1", "--max-np", "3", "--network-interfaces", "eth0"]
        variables = {"HOROVOD_GLOO_TIMEOUT_SECONDS": f"{self.patience:.0f}", "PYTHONHASHSEED": HASH_SEED}
        self.began = time.monotonic()
        self.started = HeadScript(cluster, [*launcher, *program], variables)

    def until_trained(self) -> None:
        """Look at the hosts until the training has exchanged enough, and let happen what is to happen."""
        Clock(self.clock, STARTED).until(lambda: self._look() or self._trains())
        if self.started.over or not self._trains():
            return
        self.facts.happened = self._seconds
        if self.situation.dies:
            self.cluster.kill(self.situation.dies)
        if self.situation.joins:
            self.cluster.revive(self.situation.joins)
        self.before = self._received()

    def until_end(self) -> Result:
        """Wait until the training has ended, or end it, and return how it did and what was seen.

        Raises:
            HostsError: it has failed on a machine that is so busy with other programs that this proves nothing.
        """
        clock = Clock(self.clock, LATEST + self.patience - self.situation.patience)
        if self.facts.happened:
            clock.until(self._look)
        if self.started.end():
            clock.check()
        self.facts.seconds = self._seconds
        self.facts.received = self._received() - self.before
        logs = self.cluster.shared / "logs"
        self.facts.commits = commits(logs / "commits.csv")
        with contextlib.suppress(Exception):  # the file may be none of Keras', and made to break its reader
            self.images.look(logs / "model.keras", self.facts)
        return self.started.result(self.facts)

    @property
    def _seconds(self) -> float:
        return round(time.monotonic() - self.began, 1)

    def _received(self) -> int:
        return self.cluster.received(self.stays)["eth0"]

    def _trains(self) -> bool:
        return self._received() > self.situation.received * 10**6

    def _look(self) -> bool:
        """Note on which hosts ranks are, where that has changed, and return whether the training is over."""
        found: Counter[str] = Counter()
        for host, process in mpi_program.processes(self.cluster):
            with contextlib.suppress(psutil.Error):
                found[host] += process.cmdline()[1:3] == [TRAINING, str(self.script)]
        ranks = {host: number for host, number in found.items() if number}
        if not self.facts.presence or self.facts.presence[-1].ranks != ranks:
            self.facts.presence.append(Presence(self._seconds, ranks))
        return self.started.over


class _Images:
    """The images and the weights to start from, which are drawn anew for each training."""

    def __init__(self) -> None:
        draw = np.random.default_rng()
        self.pixels = draw.permutation(28 * 28)[: IMAGES * PIXELS].reshape(IMAGES, PIXELS)
        self.labels = draw.permutation(np.arange(IMAGES) % CLASSES).astype(np.uint8)
        self.hidden = draw.uniform(-0.07, 0.07, (28 * 28, WIDTH)).astype(np.float32)
        self.output = draw.uniform(-0.1, 0.1, (WIDTH, CLASSES)).astype(np.float32)

    def write(self, folder: Path) -> None:
        """Write the images, in the files of Fashion-MNIST, and the weights below a folder."""
        images = np.zeros((IMAGES, 28 * 28), np.uint8)
        np.put_along_axis(images, self.pixels, 255, axis=1)
        (folder / "data").mkdir()
        files = ("images-idx3", (IMAGES, 28, 28), images), ("labels-idx1", (IMAGES,), self.labels)
        for name, shape, values in files:
            header = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape)
            for part in ("train", "t10k"):
                path = folder / "data" / f"{part}-{name}-ubyte.gz"
                path.write_bytes(gzip.compress(header + values.tobytes()))
        zeros = np.zeros(WIDTH, np.float32), np.zeros(CLASSES, np.float32)
        np.savez(folder / "weights.npz", self.hidden, zeros[0], self.output, zeros[1])

    def look(self, model: Path, facts: ElasticFacts) -> None:
        """Note what the weights of a saved model show: how often each image was used, and how many are astray.

        Raises:
            Exception: it is no such model.
        """
        moved = (_hidden_weights(model) - self.hidden)[self.pixels].mean(axis=1)
        lit = self.hidden[self.pixels].sum(axis=1)  # what reaches the hidden layer: the biases are 0 at the start
        scores = np.maximum(lit, 0) @ self.output
        error = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        error[np.arange(IMAGES), self.labels] -= 1
        gradient = (error @ self.output.T) * (lit > 0)
        use = -RATE / (1 - MOMENTUM) / BATCH * gradient  # how far one moves weights in its own step and those after it
        uses = (moved * use).sum(axis=1) / (use**2).sum(axis=1)
        apart = np.linalg.norm(moved - uses[:, None] * use, axis=1) / np.linalg.norm(use, axis=1)
        facts.uses = [round(float(each), 3) for each in uses]
        facts.astray = int((apart > ASTRAY).sum())


def _hidden_weights(path: Path) -> np.ndarray:
    """Return the weights of the hidden layer of a saved model, as Keras writes it.

    Raises:
        Exception: it is no such model.
    """
    found: list[np.ndarray] = []

    def take(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset) and item.shape == (28 * 28, WIDTH) and item.dtype == np.float32:
            found.append(item[()])

    with zipfile.ZipFile(path) as archive:
        if archive.getinfo("model.weights.h5").file_size > LARGEST:
            raise ValueError("The model is too large.")
        with archive.open("model.weights.h5") as file, h5py.File(file, "r") as weights:
            weights.visititems(take)
    if len(found) != 1 or not np.isfinite(found[0]).all():
        raise ValueError("The model has no such layer, or several.")
    return found[0]


def commits(path: Path) -> list[Logged]:
    """Return what a training has logged, up to a line that is of another form."""
    found: list[Logged] = []
    with contextlib.suppress(ValueError, csv.Error):
        for _, ranks, epoch, seen, _ in csv.reader(mpi_program.text(path)[:LONGEST].splitlines()):
            if re.fullmatch(r"\d{1,6} \d{1,6} \d{1,6}", f"{ranks} {epoch} {seen}"):
                found.append(Logged(int(ranks), int(epoch), int(seen)))
    return found
