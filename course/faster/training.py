"""Measure the training of a whole program on two hosts: what it sends, how long it takes, and what it reaches.

with hosts.up(2, slots=1, rate="100mbit") as cluster:
    before = training.measure(cluster, "fashion_mnist.py", training.SHORT)
"""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from course.faster import timeline
from course.faster.rank import Rank
from course.hosts.cluster import Cluster, HostsError
from course.hosts.layout import DATA, PREFIX

RATE = "100mbit"
IMAGES, EPOCHS = 1500, 2
TARGET = 1.17  # test loss that step 6's program reaches with WHOLE: the mean of three runs, from 1.16 to 1.17
TOLERANCE = 0.1  # by which a loss may be larger: correct programs differ from run to run by 0.02 or so
SHARE = 1 / 3  # of step 6's communication: at most so much is asked for
FASTER = 1.5  # times as fast as step 6's program, likewise at least
BETA = 8 / 100e6  # seconds per byte
ALPHA = 2e-4  # seconds of a message
NETWORK = "--depth", "10", "--widen-factor", "2", "--batch-size", "8", "--val-batch-size", "250"
WHOLE = *NETWORK, "--train-samples", str(IMAGES), "--test-samples", "1000", "--epochs", str(EPOCHS)
SHORT = *NETWORK, "--train-samples", "640", "--test-samples", "250", "--epochs", "1"  # to know what an image costs
FOLDER = Path("/shared/seen")  # as hosts see it
TIMELINE = "timeline.json"
LIMIT = 300  # seconds


@dataclass(frozen=True)
class Training:
    """What a training cost and reached."""

    ranks: list[Rank]
    received: int  # bytes, on the second host
    exchanges: int  # allreduces, each of one tensor or of several that Horovod has fused

    @property
    def communication(self) -> float:
        """Seconds of communication, by the model of step 22: two ranks, each of which sends and receives all bytes."""
        return 2 * ALPHA * self.exchanges + BETA * self.received

    @property
    def seconds(self) -> float:
        """Seconds of all batches, on the slowest rank."""
        return max(rank.seconds for rank in self.ranks)

    @property
    def images(self) -> int:
        """Images that all ranks have trained on."""
        return sum(rank.images for rank in self.ranks)


def ratio(before: float, images: int, after: float) -> float:
    """Return how many times as fast as step 6's program a training is.

    Args:
        before: seconds of step 6's program, with fewer images than WHOLE has.
        images: that it has trained on.
        after: seconds of the training, with WHOLE.
    """
    return before * share(images) / max(after, 1e-9)


def share(images: int) -> float:
    """Return how many times as long as with so many images step 6's program trains with WHOLE."""
    return IMAGES * EPOCHS / max(1, images)


def measure(cluster: Cluster, program: str | Path, arguments: Sequence[str]) -> Training:
    """Train with a program on the first two hosts, one rank on each, and return what that cost.

    Args:
        cluster: the hosts.
        program: the file; it takes the arguments of step 6's program.
        arguments: WHOLE or SHORT.

    Raises:
        HostsError: it failed or did not end, and the message has its output.
    """
    folder = empty_folder(cluster)
    before = cluster.received(cluster.hosts[1])["eth0"]
    try:
        done = cluster.run(
            command(cluster, program, arguments), say=lambda line: None, variables=variables(), timeout=LIMIT
        )
    except subprocess.TimeoutExpired as late:
        raise HostsError(f"{Path(program).name} did not end within {LIMIT} s:\n{late.output[-3000:]}") from None
    if done.returncode:
        raise HostsError(f"{Path(program).name} ends with status {done.returncode}:\n{done.stdout[-3000:]}")
    return read(folder, cluster.received(cluster.hosts[1])["eth0"] - before)


def empty_folder(cluster: Cluster) -> Path:
    """Return the folder for what is seen of a training, from outside, emptied."""
    folder = cluster.shared / FOLDER.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def command(cluster: Cluster, program: str | Path, arguments: Sequence[str]) -> list[str]:
    """Return the command that trains, to be run on the head, with variables()."""
    launcher = ["mpirun", "--host", ",".join(cluster.hosts[:2]), "--map-by", "ppr:1:node", "--bind-to", "none"]
    launcher += ["--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", f"{DATA.address(0)}/{PREFIX}"]
    launcher += ["-x", "HOROVOD_TIMELINE"]
    logs = "--log-dir", f"{FOLDER}/logs"
    return [*launcher, sys.executable, "-m", "course.faster.rank", str(FOLDER), str(program), *arguments, *logs]


def variables() -> dict[str, str]:
    """Return the environment variables of the command."""
    return {"HOROVOD_TIMELINE": f"{FOLDER}/{TIMELINE}"}


def read(folder: Path, received: int) -> Training:
    """Return what was seen of a training.

    Args:
        folder: what empty_folder() has returned, after the training.
        received: bytes, on the second host.

    Raises:
        OSError, msgspec.MsgspecError: the program has not reached its end on both ranks.
    """
    ranks = [msgspec.json.decode((folder / f"rank_{number}.json").read_bytes(), type=Rank) for number in range(2)]
    return Training(ranks, received, len(timeline.exchanges(folder / TIMELINE)))
