"""A prediction for a model, a number of GPUs and a network, with the numbers that the published figures gave."""

from dataclasses import dataclass
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
    """What is predicted; times are seconds per step."""

    hosts: int
    compute: float
    communication: float
    step: float
    images_per_second: float  # of all GPUs
    hours: float  # for the model's usual epochs

    @property
    def exposed(self) -> float:
        """Return the seconds of communication that computation does not hide."""
        return self.step - self.compute

    @property
    def efficiency(self) -> float:
        """Return the share of a step in which GPUs compute."""
        return self.compute / self.step


def predict(
    model: str,
    gpus: int,
    network: float,
    *,
    gpus_per_host: int = GPUS_PER_HOST,
    batch: int = BATCH,
    images_per_second: float | None = None,
    transport: str = "rdma",
    algorithm: str = "ring",
    overlap: float | None = None,
) -> Prediction:
    """Return a prediction for training in 32 bits on ImageNet. Within one host, communication takes no time.

    Args:
        model: a key of MODELS.
        gpus: of all hosts together.
        network: nominal rate of a host's cable, in bits per second.
        gpus_per_host: as many hosts as needed have this number.
        batch: per GPU.
        images_per_second: of one GPU alone; None: of a P100, as in MODELS.
        transport: "rdma" or "tcp", which does not exceed the rate that was fitted to published figures.
        algorithm: a ring goes over all GPUs, the others go between hosts, after a sum within each.
        overlap: None: as fitted to published figures.

    Raises:
        KeyError: the model is not known.
        ValueError: another argument cannot be.
    """
    chosen = MODELS[model]
    hosts = ceil(gpus / gpus_per_host)
    ranks = 1 if hosts == 1 else gpus if algorithm == "ring" else hosts
    compute = batch / (images_per_second or chosen.images_per_second)
    size, alpha, beta = 4 * chosen.parameters, fitted().alpha, fitted().beta(network, transport)
    overlap = fitted().overlap if overlap is None else overlap
    step = step_seconds(size, ranks, alpha, beta, compute, overlap, algorithm, FUSION_BYTES)
    return Prediction(
        hosts=hosts,
        compute=compute,
        communication=fused_allreduce_seconds(size, ranks, alpha, beta, algorithm, FUSION_BYTES),
        step=step,
        images_per_second=gpus * batch / step,
        hours=hours_to_train(IMAGENET, chosen.epochs, gpus * batch, step),
    )


def report(
    model: str,
    gpus: int,
    network: float,
    *,
    gpus_per_host: int = GPUS_PER_HOST,
    batch: int = BATCH,
    images_per_second: float | None = None,
    transport: str = "rdma",
    algorithm: str = "ring",
    overlap: float | None = None,
) -> str:
    """Return a prediction as a plain table, with its assumptions. The arguments are those of predict."""
    chosen, numbers = MODELS[model], fitted()
    rate = images_per_second or chosen.images_per_second
    shown = predict(
        model,
        gpus,
        network,
        gpus_per_host=gpus_per_host,
        batch=batch,
        images_per_second=images_per_second,
        transport=transport,
        algorithm=algorithm,
        overlap=overlap,
    )
    used = 8 / numbers.beta(network, transport) / 1e9
    rows = [
        ("step", f"{shown.step * 1000:,.1f} ms"),
        ("  computation", f"{shown.compute * 1000:,.1f} ms"),
        ("  exposed communication", f"{shown.exposed * 1000:,.1f} of {shown.communication * 1000:,.1f} ms"),
        ("efficiency", f"{shown.efficiency:.1%}"),
        ("images per second", f"{shown.images_per_second:,.0f}"),
        (f"{chosen.epochs} epochs of ImageNet", f"{shown.hours:,.2f} hours"),
    ]
    width = max(len(name) for name, _ in rows) + 2
    where = f"{gpus} GPU{'s' * (gpus > 1)} on {shown.hosts} host{'s' * (shown.hosts > 1)}"
    title = f"{chosen.title}, {where}, {network / 1e9:g} Gbit/s"
    who = "all GPUs" if algorithm == "ring" else "hosts, after a sum within each"
    assumptions = [
        f"{rate:g} images per second of one GPU" + ("" if images_per_second else ", a P100") + f", {batch} per step",
        f"gradients of {4 * chosen.parameters / 1e6:,.0f} MB, in buffers of {FUSION_BYTES / 2**20:g} MiB",
        f"{algorithm.replace('_', ' ')} over {who}; communication within a host takes no time",
        f"{used:.3g} Gbit/s over {transport.upper()}, latency {numbers.alpha * 1e6:.1f} us per message",
        f"overlap {numbers.overlap if overlap is None else overlap:.2f}; the last buffer is never hidden",
    ]
    table = [f"{name:{width}}{value:>20}" for name, value in rows]
    return "\n".join([title, "", *table, "", "Assumed:", *(f"- {each}" for each in assumptions)])
