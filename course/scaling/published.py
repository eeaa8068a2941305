"""The model held to figures that others have published.

    python -m course.scaling.published

Alpha is fitted to published latencies of NCCL, in data/allreduce.csv. Two numbers are fitted to half of the training
speeds in data/scaling.csv: the overlap, and the rate that TCP does not exceed however fast the network is. The fitted
half are all runs on at most SMALL GPUs. The others, up to 512 GPUs, are predicted: you measure a few GPUs, and want to
know what many will do.

What is assumed:

- A ring over all GPUs, or over the hosts where the source says so. Its slowest link is a host's cable.
- Each GPU computes as fast as in the base, which is the largest published run on one host. So the cost of
  communication within a host is part of the base.
- The last fusion buffer, of FUSION_BYTES, is never hidden. For parameter servers, this stands for the last variables.
- All hosts are equally fast, no host waits for data, and no other job uses the network.
- RDMA, and a network of which the source gives no transport, reach their full rate.

The form of the model (the last buffer, the limit of TCP) and the split by size were chosen with all figures in view.
Only its numbers are fitted to half of them. Where the figures are split alternately, the worst error is 14% to 36%.
"""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median

import numpy as np
from scipy.optimize import brute, fmin

from course.hosts.layout import bits_per_second
from course.scaling.fit import fit_alpha_beta
from course.scaling.models import FUSION_BYTES, parameters
from course.scaling.step import step_seconds
from course.steps import ROOT

FIGURES, ALLREDUCES = ROOT / "data" / "scaling.csv", ROOT / "data" / "allreduce.csv"
SMALL = 16  # GPUs


@dataclass(frozen=True)
class Figure:
    """A published speed of training; rates are images per second of all GPUs."""

    source: str
    model: str
    gpus: int
    hosts: int
    network: int  # bits per second of a host's cable
    transport: str  # tcp, rdma, or empty
    ring: int  # how many take part in it: GPUs, or hosts
    batch: int  # per GPU
    gradient_bytes: float
    compute: float  # seconds per step, in the base
    measured: float  # rate
    not_modelled: str  # why the model does not apply, or empty

    @property
    def linear(self) -> float:
        """Return the rate if communication took no time."""
        return self.gpus * self.batch / self.compute


@dataclass(frozen=True)
class Fitted:
    """What describes networks and software, beyond a network's nominal rate."""

    alpha: float  # seconds
    overlap: float
    tcp_limit: float  # bits per second

    def beta(self, network: float, transport: str) -> float:
        """Return the seconds per byte of a network with a nominal rate in bits per second."""
        return 8 / (min(network, self.tcp_limit) if transport == "tcp" else network)


@dataclass(frozen=True)
class Comparison:
    """A figure next to its prediction; errors are relative, and positive where the prediction is too fast."""

    figure: Figure
    predicted: float

    @property
    def error(self) -> float:
        """Return the error of the prediction."""
        return self.predicted / self.figure.measured - 1

    @property
    def linear_error(self) -> float:
        """Return the error of a prediction without communication."""
        return self.figure.linear / self.figure.measured - 1


def read() -> list[Figure]:
    """Return the published figures that say enough for a prediction, also those that the model does not apply to."""
    with FIGURES.open(encoding="utf-8", newline="") as file:
        return [_figure(row) for row in csv.DictReader(file) if row["batch"]]


def _figure(row: dict[str, str]) -> Figure:
    hosts, batch = int(row["hosts"]), int(row["batch"])
    gpus = hosts * int(row["gpus_per_host"])
    per_gpu = float(row["base_rate"]) / int(row["base_gpus"])
    measured = float(row["measured"])
    rates = {"images/s": measured, "efficiency": measured * gpus * per_gpu, "seconds": gpus * batch / measured}
    return Figure(
        source=row["source"],
        model=row["model"],
        gpus=gpus,
        hosts=hosts,
        network=bits_per_second(row["network"]),
        transport=row["transport"],
        ring=gpus if row["ring"] == "gpus" else hosts,
        batch=batch,
        gradient_bytes=(parameters(row["model"]) or 0) * int(row["bytes_per_value"]),
        compute=batch / per_gpu,
        measured=rates[row["quantity"]],
        not_modelled=row["not_modelled"],
    )


@cache
def published_alpha() -> float:
    """Return the latency of a message in a ring of NCCL, in seconds, fitted to published allreduces."""
    with ALLREDUCES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    alpha, _ = fit_alpha_beta(
        (int(row["bytes"]), int(row["hosts"]) * int(row["gpus_per_host"]), float(row["microseconds"]) / 1e6)
        for row in rows
    )
    return alpha


def predict(figure: Figure, fitted: Fitted) -> float:
    """Return the predicted rate of a figure, in images per second."""
    beta = fitted.beta(figure.network, figure.transport)
    step = step_seconds(
        figure.gradient_bytes,
        figure.ring,
        fitted.alpha,
        beta,
        figure.compute,
        fitted.overlap,
        fusion_bytes=FUSION_BYTES,
    )
    return figure.gpus * figure.batch / step


def fit(figures: Sequence[Figure], alpha: float) -> Fitted:
    """Return the overlap and the limit of TCP that describe figures best: least squares of relative errors."""

    def error(numbers: np.ndarray) -> float:
        overlap, gigabits = np.clip(numbers[0], 0, 1), max(numbers[1], 0.1)
        fitted = Fitted(alpha, overlap, gigabits * 1e9)
        return sum(np.log(predict(figure, fitted) / figure.measured) ** 2 for figure in figures)

    overlap, gigabits = brute(error, (slice(0, 1.01, 0.1), slice(2, 42, 2)), finish=fmin, disp=False)
    return Fitted(alpha, float(np.clip(overlap, 0, 1)), float(gigabits) * 1e9)


def small_runs() -> list[Figure]:
    """Return the figures of at most SMALL GPUs that the model applies to."""
    return [figure for figure in read() if not figure.not_modelled and figure.gpus <= SMALL]


def large_runs() -> list[Figure]:
    """Return the figures of more than SMALL GPUs that the model applies to."""
    return [figure for figure in read() if not figure.not_modelled and figure.gpus > SMALL]


def failures() -> list[Figure]:
    """Return the figures that the model does not apply to, and which say enough to apply it nevertheless."""
    return [figure for figure in read() if figure.not_modelled]


@cache
def fitted() -> Fitted:
    """Return the numbers fitted to the small runs."""
    return fit(small_runs(), published_alpha())


def compare(figures: Iterable[Figure], fitted: Fitted) -> list[Comparison]:
    """Return figures next to their predictions."""
    return [Comparison(figure, predict(figure, fitted)) for figure in figures]


def summary(comparisons: Iterable[Comparison]) -> str:
    """Return one line: the median and the worst error, and those without communication."""
    each = list(comparisons)
    errors, linear = [abs(row.error) for row in each], [abs(row.linear_error) for row in each]
    return (
        f"{len(each)} figures: median error {median(errors):.1%}, worst {max(errors):.0%}. "
        f"Without communication: {median(linear):.1%}, worst {max(linear):.0%}."
    )


def table(comparisons: Iterable[Comparison]) -> str:
    """Return a plain table of figures, measured and predicted."""
    lines = [
        f"{'model':12} {'GPUs':>4}  {'network':>8}  {'':4}  {'measured':>8}  {'predicted':>9}  {'error':>6}  source"
    ]
    for row in comparisons:
        figure, network = row.figure, f"{row.figure.network / 1e9:g} Gbit/s"
        lines.append(
            f"{figure.model:12} {figure.gpus:4}  {network:>10}  {figure.transport:4}  {figure.measured:8,.0f}  "
            f"{row.predicted:9,.0f}  {row.error:+6.0%}  {_short(figure.source)}"
        )
    return "\n".join(lines)


def _short(source: str) -> str:
    """Return a source that fits a line: of a page on GitHub, the repository."""
    address = source.removeprefix("https://")
    repository = address.removeprefix("github.com/")
    return address if repository == address else "/".join(repository.split("/")[:2])


def main() -> None:
    """Print all figures, measured and predicted."""
    numbers = fitted()
    print(f"alpha {numbers.alpha * 1e6:.1f} us: fitted to published latencies of NCCL")
    print(f"overlap {numbers.overlap:.2f}, TCP up to {numbers.tcp_limit / 1e9:.1f} Gbit/s: fitted to the first table\n")
    for title, figures in ((f"Fitted, up to {SMALL} GPUs", small_runs()), ("Predicted", large_runs())):
        rows = compare(figures, numbers)
        print(f"{title}. {summary(rows)}\n{table(rows)}\n")
    the_other_way = compare(small_runs(), fit(large_runs(), published_alpha()))
    print(f"Fitted to the second table, predicted the first: {summary(the_other_way)}\n")
    print("Not counted, since the model does not apply:")
    print(table(compare(failures(), numbers)))
    for figure in failures():
        print(f"{figure.model}, {_short(figure.source)}: {figure.not_modelled}.")


if __name__ == "__main__":
    main()
