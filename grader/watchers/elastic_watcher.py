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
import threading
import time
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import h5py
import msgspec
import numpy as np
import psutil

from course import hosts
from course.hosts.cluster import Cluster
from course.internal.reaper import Reaped
from course.steps import SOLUTIONS
from grader.terms.facts import EndedFor
from grader.terms.job import Result
from grader.terms.watched_facts import ElasticFacts, Logged, Presence
from grader.watchers.clock import Clock

IMAGES, PIXELS, CLASSES = 240, 3, 10  # pixels that each image has to itself
WIDTH = 512  # of the hidden layer
BATCH, RATE, MOMENTUM = 4, 4e-4, 0.08  # for the program; the rate is that of one rank
SPEED = "100mbit"  # of the network: it makes a step long enough for something to happen in mid-epoch
# Seconds of a Clock, some two times what the program has needed on two cores that other trainings kept busy, too.
STARTED = 90  # until the ranks train
LATEST = 60  # from what happens to a host to the end of the training
PULSE = 0.1  # seconds between looks
TRAINING = str(Path(__file__).with_name("training.py"))
HASH_SEED = "0"  # of horovodrun, which numbers hosts in the order of a set
OUTPUT = 20_000  # characters of what is printed
LARGEST = 50 * 2**20  # bytes of a saved model
ASTRAY = 1 / 2  # of a use: how far an image moves weights in other directions than its gradient's, at least


@dataclass(frozen=True)
class Scenario:
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


SCENARIOS = {
    # With HASH_SEED, the host that dies is that of rank 0. It dies between two commits, and in the middle of a step.
    "dies": Scenario({"opal": 1, "jade": 2}, dies="opal", received=28, patience=12, commit=4, epochs=2),
    "joins": Scenario({"onyx": 1, "mica": 1, "ruby": 1}, joins="ruby", received=10, patience=30, commit=3, epochs=3),
}


def watch(name: str, script: Path, clock: Path) -> Result:
    """Train with a script in a scenario, and return how that ended, with ElasticFacts.

    Args:
        name: of the scenario.
        script: the file.
        clock: see grader.watchers.clock.
    """
    scenario = SCENARIOS[name]
    with hosts.up(list(scenario.slots), slots=list(scenario.slots.values()), rate=SPEED) as cluster:
        if scenario.joins:
            cluster.kill(scenario.joins)
        watched = _Watched(cluster, scenario, script, clock)
        watched.start()
        watched.until_trained()
        return watched.until_end()


class _Watched:
    """A training that runs, and what was seen of it."""

    def __init__(self, cluster: Cluster, scenario: Scenario, script: Path, clock: Path):
        self.cluster, self.scenario, self.script, self.clock = cluster, scenario, script, clock
        # Ranks know only the time on the wall, and all that they do takes longer where other programs keep the cores.
        self.patience = scenario.patience * Clock(clock, 0).slowdown
        self.facts = ElasticFacts()
        self.printed = b""
        self.ended_for: EndedFor | None = None
        self.stays = next(host for host in scenario.slots if host not in (scenario.dies, scenario.joins))
        self.images = _Images()
        self.images.write(cluster.shared)
        self.before = 0

    def start(self) -> None:
        """Start the training on the head, and read what it prints."""
        ranks = sum(slots for host, slots in self.scenario.slots.items() if host != self.scenario.joins)
        program = [sys.executable, TRAINING, str(self.script), "--log-dir", "/shared/logs"]
        program += ["--data-dir", "/shared/data", "--momentum", str(MOMENTUM)]
        program += ["--base-lr", str(RATE), "--batch-size", str(BATCH), "--commit-steps", str(self.scenario.commit)]
        program += ["--epochs", str(self.scenario.epochs), "--weights", "/shared/weights.npz"]
        launcher = ["bash", f"{SOLUTIONS}/hosts/launch_elastic.sh", "/cluster/hostfile", "-np", str(ranks)]
        launcher += ["--min-np", "1", "--max-np", "3", "--network-interfaces", "eth0"]
        variables = {"HOROVOD_GLOO_TIMEOUT_SECONDS": f"{self.patience:.0f}", "PYTHONHASHSEED": HASH_SEED}
        self.began = time.monotonic()
        self.process: Reaped = self.cluster.start([*launcher, *program], variables=variables)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def until_trained(self) -> None:
        """Look at the hosts until the training has exchanged enough, and let happen what is to happen."""
        clock = Clock(self.clock, STARTED)
        while not self._over and clock.runs():
            self._look()
            if self._received() > self.scenario.received * 10**6:
                self.facts.happened, self.facts.logged = self._seconds, len(self._commits())
                if self.scenario.dies:
                    self.cluster.kill(self.scenario.dies)
                if self.scenario.joins:
                    self.cluster.revive(self.scenario.joins)
                self.before = self._received()
                return
            time.sleep(PULSE)

    def until_end(self) -> Result:
        """Wait until the training has ended, or end it, and return how it did and what was seen.

        Raises:
            HostsError: it has failed on a machine that is so busy with other programs that this proves nothing.
        """
        clock = Clock(self.clock, LATEST + self.patience - self.scenario.patience)
        while self.facts.happened and not self._over and clock.runs():
            self._look()
            time.sleep(PULSE)
        if not self._over:
            self.ended_for = "time"
            self.process.end()
        self.facts.received = self._received() - self.before
        status = self.process.wait()
        if status:
            clock.check()
        self.facts.seconds = self._seconds
        self.facts.commits = self._commits()
        with contextlib.suppress(Exception):  # the file may be none of Keras', and made to break its reader
            self.images.look(self.cluster.shared / "logs" / "model.keras", self.facts)
        return Result(
            status, self.ended_for, "", self.printed.decode(errors="replace"), "", msgspec.msgpack.encode(self.facts)
        )

    @property
    def _over(self) -> bool:
        return not self.reader.is_alive()

    @property
    def _seconds(self) -> float:
        return round(time.monotonic() - self.began, 1)

    def _read(self) -> None:
        while piece := self.process.output.read1(65536):  # type: ignore[attr-defined]
            self.printed = self.printed + piece if len(self.printed) < OUTPUT else self.printed

    def _commits(self) -> list[Logged]:
        return commits(self.cluster.shared / "logs" / "commits.csv")

    def _received(self) -> int:
        return self.cluster.received(self.stays)["eth0"]

    def _look(self) -> None:
        """Note on which hosts ranks are, where that has changed."""
        found: Counter[str] = Counter()
        for host, processes in self.cluster.processes().items():
            for process in processes:
                with contextlib.suppress(psutil.Error):
                    found[host] += process.cmdline()[1:3] == [TRAINING, str(self.script)]
        ranks = {host: number for host, number in found.items() if number}
        if not self.facts.presence or self.facts.presence[-1].ranks != ranks:
            self.facts.presence.append(Presence(self._seconds, ranks))


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
    with contextlib.suppress(OSError, ValueError, csv.Error):
        text = path.read_text(errors="replace")[:OUTPUT] if path.is_file() else ""
        for _, ranks, epoch, seen, _ in csv.reader(text.splitlines()):
            if re.fullmatch(r"\d{1,6} \d{1,6} \d{1,6}", f"{ranks} {epoch} {seen}"):
                found.append(Logged(int(ranks), int(epoch), int(seen)))
    return found
