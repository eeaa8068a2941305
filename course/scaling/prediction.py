"""A prediction for a model, a number of GPUs and a network, with the numbers that the published figures gave."""

from dataclasses import dataclass
from functools import cached_property
from math import ceil

from course.scaling.allreduce import fused_allreduce_seconds
from course.scaling.models import FUSION_BYTES, IMAGENET, MODELS
from course.scaling.published import fitted
from course.scaling.step import step_seconds
from course.scaling.training import hours_to_train

BATCH = 64  # per GPU, that of the rates in MODELS
GPUS_PER_HOST = 8


@dataclass(frozen=True)
class Prediction:
    """A training in 32 bits on ImageNet, and what it will do. Times are seconds per step.

    Args:
        model: a key of MODELS.
        gpus: of all hosts together.
        network: nominal rate of a host's cable, in bits per second.
        gpus_per_host: as many hosts as needed have this number. Within one host, communication takes no time.
        batch: per GPU.
        images_per_second: of one GPU alone; None: of a P100, as in MODELS.
        transport: "rdma" or "tcp", which does not exceed the rate that was fitted to published figures.
        algorithm: a ring goes over all GPUs, the others go between hosts, after a sum within each.
        overlap: see exposed_seconds; None: as fitted to published figures.

    Each property raises:
        KeyError: the model is not known.
        ValueError: another argument cannot be.
    """

    model: str
    gpus: int
    network: float
    gpus_per_host: int = GPUS_PER_HOST
    batch: int = BATCH
    images_per_second: float | None = None
    transport: str = "rdma"
    algorithm: str = "ring"
    overlap: float | None = None

    @property
    def hosts(self) -> int:
        """Return how many hosts have all GPUs."""
        return ceil(self.gpus / self.gpus_per_host)

    @property
    def rate_of_one(self) -> float:
        """Return the images per second of one GPU alone."""
        return self.images_per_second or MODELS[self.model].images_per_second

    @property
    def hideable(self) -> float:
        """Return the share of the computation during which communication can run."""
        return fitted().overlap if self.overlap is None else self.overlap

    @property
    def beta(self) -> float:
        """Return the seconds per byte."""
        return fitted().beta(self.network, self.transport)

    @property
    def _ranks(self) -> int:
        """Return how many ranks take part in an allreduce."""
        if self.hosts == 1:
            return 1
        return self.gpus if self.algorithm == "ring" else self.hosts

    @property
    def _gradient_bytes(self) -> int:
        return 4 * MODELS[self.model].parameters

    @property
    def compute(self) -> float:
        """Return the seconds in which a GPU computes."""
        return self.batch / self.rate_of_one

    @property
    def communication(self) -> float:
        """Return the seconds of all allreduces."""
        return fused_allreduce_seconds(
            self._gradient_bytes, self._ranks, fitted().alpha, self.beta, self.algorithm, FUSION_BYTES
        )

    @cached_property
    def step(self) -> float:
        """Return the seconds of a step."""
        return step_seconds(
            self._gradient_bytes,
            self._ranks,
            fitted().alpha,
            self.beta,
            self.compute,
            self.hideable,
            self.algorithm,
            FUSION_BYTES,
        )

    @property
    def exposed(self) -> float:
        """Return the seconds of communication that computation does not hide."""
        return self.step - self.compute

    @property
    def efficiency(self) -> float:
        """Return the share of a step in which GPUs compute."""
        return self.compute / self.step

    @property
    def rate(self) -> float:
        """Return the images per second of all GPUs."""
        return self.gpus * self.batch / self.step

    @property
    def hours(self) -> float:
        """Return the hours of a whole training, which takes the model's usual epochs."""
        return hours_to_train(IMAGENET, MODELS[self.model].epochs, self.gpus * self.batch, self.step)

    def report(self) -> str:
        """Return a plain table, with all assumptions."""
        model = MODELS[self.model]
        rows = [
            ("step", f"{self.step * 1000:,.1f} ms"),
            ("  computation", f"{self.compute * 1000:,.1f} ms"),
            ("  exposed communication", f"{self.exposed * 1000:,.1f} of {self.communication * 1000:,.1f} ms"),
            ("efficiency", f"{self.efficiency:.1%}"),
            ("images per second", f"{self.rate:,.0f}"),
            (f"{model.epochs} epochs of ImageNet", f"{self.hours:,.2f} hours"),
        ]
        width = max(len(name) for name, _ in rows) + 2
        where = f"{self.gpus} GPU{'s' * (self.gpus > 1)} on {self.hosts} host{'s' * (self.hosts > 1)}"
        title = f"{model.title}, {where}, {self.network / 1e9:g} Gbit/s"
        who = "all GPUs" if self.algorithm == "ring" else "hosts, after a sum within each"
        a_p100 = "" if self.images_per_second else ", a P100"
        assumptions = [
            f"{self.rate_of_one:g} images per second of one GPU{a_p100}, {self.batch} per step",
            f"gradients of {self._gradient_bytes / 1e6:,.0f} MB, in buffers of {FUSION_BYTES / 2**20:g} MiB",
            f"{self.algorithm.replace('_', ' ')} over {who}; communication within a host takes no time",
            f"{8 / self.beta / 1e9:.3g} Gbit/s over {self.transport.upper()}, "
            f"latency {fitted().alpha * 1e6:.1f} us per message",
            f"overlap {self.hideable:.2f}; the last buffer is never hidden",
        ]
        table = [f"{name:{width}}{value:>20}" for name, value in rows]
        return "\n".join([title, "", *table, "", "Assumed:", *(f"- {each}" for each in assumptions)])
