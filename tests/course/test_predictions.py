"""The figures of predictions: what is drawn for networks and hosts."""

import pytest

from course import figures, scaling
from course.hosts.algorithms import OPEN_MPI, Timing
from course.scaling import published

ALPHA, BETA = 1e-4, 1e-7


def test_a_fitted_line_goes_through_measurements_without_noise():
    sizes = 40, 600_000, 2_000_000
    timings = [Timing(OPEN_MPI, 3, size, scaling.allreduce_seconds(size, 3, ALPHA, BETA), [], []) for size in sizes]
    for ax in figures.fitted_network(timings, ALPHA, BETA).axes:
        points, line = ax.lines
        assert [line.get_ydata()[0], line.get_ydata()[-1]] == pytest.approx(list(points.get_ydata())[::2])


@pytest.mark.parametrize("guess", [None, 500.0])
def test_a_guess_is_drawn_where_there_is_one(guess):
    line = {1: 100.0, 2: 190.0, 8: 600.0}
    (ax,) = figures.predicted_throughput({"100mbit": line}, {"100mbit": {2: 180.0}}, {"100mbit": guess}).axes
    perfect, *rest = ax.lines
    assert list(perfect.get_ydata()) == [100, 200, 800]
    assert len(rest) == (2 if guess is None else 3)


def test_strong_scaling_is_never_more_efficient_than_weak_scaling():
    left, right = figures.scaling_laws(1e8, ALPHA, 1e-9, compute=0.2, overlap=0.5).axes
    weak, strong = (line.get_ydata() for line in left.lines)
    assert all(few <= many for few, many in zip(strong, weak, strict=True)) and strong[-1] < 0.1 < weak[-1]
    perfect, gustafson, amdahl = (line.get_ydata()[-1] for line in right.lines)
    assert amdahl < 20 < gustafson < perfect


def test_predictions_stand_next_to_those_without_communication():
    small, large = (
        published.compare(runs, published.fitted()) for runs in (published.small_runs(), published.large_runs())
    )
    for ax, runs in zip(figures.held_to_account(small, large).axes, (small, large), strict=True):
        without, with_the_model = ax.lines[1:]
        assert len(without.get_xdata()) == len(with_the_model.get_xdata()) == len(runs)
        assert ax.get_title().endswith(f"{len(runs)} runs")
