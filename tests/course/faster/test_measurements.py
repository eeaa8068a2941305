"""What step 24 measures: updates by batch, idle GPUs, exchanges, and a whole training between hosts."""

from itertools import pairwise

import numpy as np
import pytest

from course import hosts, steps
from course.faster import batches, exchange, pipeline, training
from course.faster.batches import Needed, knee
from course.faster.exchange import Work
from course.faster.rank import Rank
from course.faster.training import Training


def test_the_knee_is_the_last_batch_with_twice_the_fewest_images():
    found = [Needed(8, 0.1, 100), Needed(16, 0.1, 45), Needed(32, 0.2, 40), Needed(64, 0.2, 38)]
    assert [each.images for each in found] == [800, 720, 1280, 2432]
    assert knee(found) == 32


def test_a_batch_is_the_mean_of_its_parts(monkeypatch):
    images, labels = np.random.default_rng(1).random((64, 20), np.float32), np.arange(64) % 10
    weights = []
    for micro in (64, 16):
        monkeypatch.setattr(batches, "MICRO", micro)
        one = batches._Training(images, labels, 64, 0.1)
        one._update()
        weights.append(one.weights)
    assert all(np.allclose(first, second, atol=1e-6) for first, second in zip(*weights, strict=True))


def test_a_rate_that_does_not_reach_the_target_is_given_up():
    images, labels = np.random.default_rng(1).random((64, 20), np.float32), np.arange(64) % 10
    assert batches._Training(images, labels, 8, 0.0).updates_to(0.1, images, labels, most=20) is None


def test_communication_is_latency_and_bytes():
    assert Training([Rank()], 12_500_000, 0).communication == pytest.approx(1.0)
    assert Training([Rank()], 0, 1000).communication == pytest.approx(2000 * training.ALPHA)


def test_a_short_training_stands_for_a_whole_one():
    images = training.IMAGES * training.EPOCHS
    assert training.ratio(before=2.0, images=images // 4, after=4.0) == pytest.approx(2.0)


@pytest.mark.slow
def test_prefetch_lets_reading_and_computing_overlap():
    taking_turns, prefetched = (pipeline.idle_share(0.02, 0.02, prefetch=number, batches=16) for number in (0, 2))
    assert prefetched < taking_turns / 2


@pytest.mark.slow
def test_sixteen_bits_halve_the_bytes_between_hosts():
    with hosts.up(2, slots=1, rate="100mbit") as cluster:
        received = [cluster.received("node2")["eth0"]]
        for settings in ({}, {"compression": "fp16"}):
            exchange.steps(cluster, [settings], Work(steps=20))
            received.append(cluster.received("node2")["eth0"])
    plain, halved = (after - before for before, after in pairwise(received))
    assert 0.4 < halved / plain < 0.65


@pytest.mark.slow
def test_what_a_program_costs_between_hosts_is_counted():
    program = steps.SOLUTIONS / "fashion_mnist_after_step_06.py"
    small = *training.NETWORK, "--train-samples", "160", "--test-samples", "250", "--epochs", "1"
    with hosts.up(2, slots=1, rate="1gbit") as cluster:
        seen = training.measure(cluster, program, small)
    first, second = seen.ranks
    assert (first.size, first.batches, first.updates, seen.images) == (2, 10, 10, 160)
    assert first.weights == second.weights and first.evaluated == 250 and first.loss > 0
    assert seen.exchanges >= 10 and seen.received > 10 * 1_200_000
