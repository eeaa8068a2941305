"""Records: what a rank did in a run, as the recorder writes it and launchers and figures read it."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import numpy as np


@dataclass
class Epoch:
    """What one rank did in one epoch. Times are seconds since 1970."""

    start: float
    steps: int = 0  # training batches
    train_end: float = 0.0
    end: float = 0.0  # validation included
    validation_steps: int = 0
    own_logs: dict[str, float] = field(default_factory=dict)  # as the first callback saw them
    final_logs: dict[str, float] = field(default_factory=dict)  # as the last callback saw them


@dataclass
class Record:
    """What one rank did in a run."""

    rank: int  # as mpirun counts, or the task's index
    pid: int
    horovod: list[int] | None = None  # Horovod's [rank, size, local rank] when fit() begins; None without Horovod
    gpus: list[str] = field(default_factory=list)  # those that TensorFlow sees when fit() begins
    epochs: list[Epoch] = field(default_factory=list)
    batch_ends: list[float] = field(default_factory=list)  # seconds since 1970
    weights: np.ndarray | None = None  # shape (batches + 1, coordinates): before the first batch, then after each
    samples: dict[str, int] = field(default_factory=dict)  # images per folder: {"train": …, "val": …}
    drawn: dict[str, list[list[int]]] = field(default_factory=dict)  # folder -> batches -> numbers of the images in it
    worker_steps: list[tuple[int, float, float]] = field(default_factory=list)  # a coordinator's: worker, start, end

    def trained_on(self, epoch: int) -> list[list[int]]:
        """Return the numbers of the images in each training batch of an epoch.

        Args:
            epoch: counted from 0.

        Raises:
            ValueError: the script did not read its images by Keras' flow_from_directory.
        """
        if "train" not in self.drawn:
            raise ValueError(
                f"Rank {self.rank} did not read its images by flow_from_directory, so they were not recorded."
            )
        before = sum(earlier.steps for earlier in self.epochs[:epoch])
        return self.drawn["train"][before : before + self.epochs[epoch].steps]


def write_record(record: Record, directory: Path) -> None:
    """Write a record into a directory: rank_N.msgpack, and rank_N.npy for its weights."""
    path = directory / f"rank_{record.rank}.msgpack"
    if record.weights is not None:
        np.save(path.with_suffix(".npy"), record.weights)
    path.write_bytes(msgspec.msgpack.encode(replace(record, weights=None)))  # JSON has no NaN, which a loss may be


def read_records(directory: Path) -> list[Record]:
    """Return the records in a directory, sorted by rank.

    Raises:
        msgspec.ValidationError: a file does not hold a record.
    """
    records = []
    for path in directory.glob("rank_*.msgpack"):
        record = msgspec.msgpack.decode(path.read_bytes(), type=Record)
        if path.with_suffix(".npy").exists():
            record.weights = np.load(path.with_suffix(".npy"))
        records.append(record)
    return sorted(records, key=lambda record: record.rank)
