"""One training on four engines: the same workload for all, and figures of what was measured."""

from dataclasses import replace

import pytest

from course import engines, figures
from course.engines import HOROVOD, MULTI_WORKER, ONE, PARAMETER_SERVER, PROGRAMS, Loss, Measured, Workload
from course.record.records import Epoch, Record

WORKLOAD = Workload(workers=2, epochs=3, train_samples=600)


class SteadyMeter:
    """Stands for a meter of processes that use one and a half cores, and receive 1,000 bytes per second."""

    def used(self, begin, end):
        return 1.5 * (end - begin), 1000 * (end - begin)


@pytest.fixture
def measured():
    accuracies = [(9.0, 0.7), (11.0, 0.8), (13.0, 0.79)]
    return {engine: Measured(1000.0, 2e6, 1.5, accuracies) for engine in PROGRAMS}


def test_all_engines_get_as_many_images_in_a_step():
    assert WORKLOAD.global_batch == 64 and WORKLOAD.steps == 500 // 64
    batches = {engine: WORKLOAD.flags(engine)["batch_size"] for engine in PROGRAMS}
    assert batches == {ONE: 64, HOROVOD: 32, MULTI_WORKER: 32, PARAMETER_SERVER: 32}


def test_a_run_is_summed_up_without_its_first_epoch_and_without_validation():
    epochs = [
        Epoch(start=10, train_end=20, end=21, final_logs={"val_accuracy": 0.5}),
        Epoch(start=21, train_end=22, end=23, final_logs={"val_accuracy": 0.7}),
        Epoch(start=23, train_end=25, end=26, final_logs={"val_accuracy": 0.8}),
        Epoch(start=26, train_end=27, end=28, final_logs={"val_accuracy": 0.75}),
    ]
    found = engines.summarise(Record(rank=0, pid=1, epochs=epochs), SteadyMeter(), WORKLOAD, began=5)
    assert found.images_per_second == 7 * 64 / 1
    assert found.bytes_a_step == pytest.approx(4000 / (3 * 7))
    assert found.cpu == pytest.approx(1.5)
    assert found.seconds_to(0.75) == 21 and found.seconds_to(0.9) is None


@pytest.mark.parametrize("engine", [HOROVOD, MULTI_WORKER, PARAMETER_SERVER])
def test_an_engine_leaves_network_and_data_as_they_were(engine):
    lines = set(map(str.strip, PROGRAMS[engine].read_text().splitlines()))
    for line in PROGRAMS[ONE].read_text().splitlines():
        if any(word in line for word in ("layers.Dense", "SparseCategorical", "held_out = ", "data.load", ".astype(")):
            assert line.strip() in lines


def test_figures_show_every_engine(measured):
    figures.four_engines()
    assert len(figures.engine_costs(measured).axes) == 3
    (ax,) = figures.accuracy_by_time(measured, 0.75).axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [*PROGRAMS, "75%, the target"]
    losses = [Loss(ONE, "the process", False, 0.2), Loss(PARAMETER_SERVER, "worker 1", True, 0.9)]
    (ax,) = figures.after_a_kill(losses).axes
    assert [bar.get_width() for bar in ax.patches] == [0.2, 0.9]


@pytest.mark.slow
@pytest.mark.parametrize("engine", PROGRAMS)
def test_an_engine_trains_and_loses_a_process(engine, leftovers):
    workload = replace(WORKLOAD, train_samples=6000)  # several readings of the meter per epoch
    found = engines.measure(engine, workload)
    assert len(found.accuracies) == workload.epochs and found.accuracies[-1][1] > 0.5
    assert found.images_per_second > 0 and found.cpu > 0
    weights = 4 * (785 * 256 + 257 * 256 + 257 * 10)  # bytes of all of them, and of all gradients
    travels = {ONE: 0, HOROVOD: 2, MULTI_WORKER: 2, PARAMETER_SERVER: 4}[engine] * weights
    assert found.bytes_a_step == pytest.approx(travels, rel=0.5, abs=10_000)
    losses = engines.lose_a_process(engine, workload)
    assert [loss.went_on for loss in losses] == ([True, False] if engine == PARAMETER_SERVER else [False])
    assert all(0 <= loss.seconds < 60 for loss in losses)
    assert leftovers() == []
