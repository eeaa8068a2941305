"""The formulas against closed forms, against the messages of a real ring, and against what no algorithm can beat."""

from math import ceil, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course import ring, scaling

ALPHA, BETA = 1e-5, 8e-10  # of a network with 10 Gbit/s

sizes = st.floats(0, 1e10)
ranks_ = st.integers(1, 600)
shares = st.floats(0, 1)
seconds_ = st.floats(0, 100)


@pytest.mark.parametrize(
    ("algorithm", "latencies", "tensors"),
    [
        ("gather_and_broadcast", 14, 14),
        ("tree", 6, 6),
        ("ring", 14, 14 / 8),
        ("recursive_doubling", 3, 3),
        ("rabenseifner", 6, 14 / 8),
    ],
)
def test_eight_ranks(algorithm, latencies, tensors):
    expected = latencies * ALPHA + tensors * 1e6 * BETA
    assert scaling.allreduce_seconds(1e6, 8, ALPHA, BETA, algorithm) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("algorithm", "latencies", "tensors"),
    [
        ("tree", 6, 6),
        ("recursive_doubling", 4, 4),  # one tensor before, two rounds of four ranks, one after
        ("rabenseifner", 7, 3.5),  # 4 + 3 messages; 6/4 of a tensor among four ranks, and two halves and a whole one
    ],
)
def test_six_ranks_are_no_power_of_two(algorithm, latencies, tensors):
    expected = latencies * ALPHA + tensors * 1e6 * BETA
    assert scaling.allreduce_seconds(1e6, 6, ALPHA, BETA, algorithm) == pytest.approx(expected)


@given(st.integers(2, 12), st.integers(1, 5))
def test_a_ring_takes_as_long_as_its_messages(ranks, chunk):
    states = ring.allreduce([np.ones(ranks * chunk) for _ in range(ranks)])
    rounds = [max(message.content.nbytes for message in state.messages) for state in states[1:]]
    expected = sum(ALPHA + size * BETA for size in rounds)
    assert scaling.allreduce_seconds(ranks * chunk * 8, ranks, ALPHA, BETA) == pytest.approx(expected)


@given(st.sampled_from(sorted(scaling.ALGORITHMS)), sizes, ranks_)
def test_no_algorithm_beats_the_network(algorithm, size, ranks):
    seconds = scaling.allreduce_seconds(size, ranks, ALPHA, BETA, algorithm)
    every_rank_hears_of_all_others = ceil(log2(ranks)) * ALPHA
    each_sends_and_receives = 2 * (ranks - 1) / ranks * size * BETA
    assert seconds >= max(every_rank_hears_of_all_others, each_sends_and_receives) * (1 - 1e-9)


@pytest.mark.parametrize("algorithm", scaling.ALGORITHMS)
def test_one_rank_needs_no_time(algorithm):
    assert scaling.allreduce_seconds(1e9, 1, ALPHA, BETA, algorithm) == 0


def test_an_unknown_algorithm_is_named_with_those_that_exist():
    with pytest.raises(ValueError, match=r"'rings' is not an algorithm.*recursive_doubling"):
        scaling.allreduce_seconds(1, 2, ALPHA, BETA, "rings")


@pytest.mark.parametrize("wrong", [{"size": -1}, {"ranks": 0}, {"alpha": -1e-6}])
def test_numbers_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match="Cannot be"):
        scaling.allreduce_seconds(**({"size": 1, "ranks": 2, "alpha": ALPHA, "beta": BETA} | wrong))


@given(st.floats(1, 1e10), ranks_, st.floats(1e5, 1e9))
def test_fusion_buffers_cost_latency_and_no_bandwidth(size, ranks, buffer):
    whole = scaling.allreduce_seconds(size, ranks, ALPHA, BETA)
    fused = scaling.fused_allreduce_seconds(size, ranks, ALPHA, BETA, fusion_bytes=buffer)
    more_messages = (ceil(size / buffer) - 1) * 2 * (ranks - 1) * ALPHA
    assert fused == pytest.approx(whole + more_messages, rel=1e-6)


def test_a_hierarchy_of_one_gpu_per_host_is_an_allreduce_between_hosts():
    assert scaling.hierarchical_seconds(1e6, 8, 1, ALPHA, BETA, 0, 0) == scaling.allreduce_seconds(1e6, 8, ALPHA, BETA)


def test_a_hierarchy_adds_what_happens_inside():
    seconds = scaling.hierarchical_seconds(1e6, 4, 2, ALPHA, BETA, 1e-6, 1e-11)
    assert seconds == pytest.approx(6 * ALPHA + 1.5e6 * BETA + 2 * 1e-6 + 1e6 * 1e-11)


@given(st.integers(3, 512), st.sampled_from(["tree", "recursive_doubling", "rabenseifner"]))
def test_two_algorithms_are_equal_at_their_crossover(ranks, other):
    size = scaling.crossover_bytes("ring", other, ranks, ALPHA, BETA)
    if size is not None:
        times = [scaling.allreduce_seconds(size, ranks, ALPHA, BETA, each) for each in ("ring", other)]
        assert times[0] == pytest.approx(times[1])


def test_recursive_doubling_and_a_ring_cross_at_a_known_size():
    # 3 (alpha + S beta) = 14 alpha + 14/8 S beta on eight ranks
    assert scaling.crossover_bytes("ring", "recursive_doubling", 8, ALPHA, BETA) == pytest.approx(
        11 * ALPHA / (10 / 8 * BETA)
    )


def test_no_crossover_where_one_is_always_as_fast():
    assert scaling.crossover_bytes("ring", "rabenseifner", 8, ALPHA, BETA) is None
    assert scaling.crossover_bytes("tree", "recursive_doubling", 8, ALPHA, BETA) is None


@given(sizes, ranks_, seconds_, shares)
def test_a_step_is_between_the_longer_part_and_the_sum(size, ranks, compute, overlap):
    communication = scaling.allreduce_seconds(size, ranks, ALPHA, BETA)
    step = scaling.step_seconds(size, ranks, ALPHA, BETA, compute, overlap)
    assert max(compute, communication) <= step * (1 + 1e-9)
    assert step <= (compute + communication) * (1 + 1e-9)


@given(sizes, ranks_, seconds_)
def test_no_overlap_is_the_sum_and_all_of_it_the_longer_part(size, ranks, compute):
    communication = scaling.allreduce_seconds(size, ranks, ALPHA, BETA)
    assert scaling.step_seconds(size, ranks, ALPHA, BETA, compute, 0) == pytest.approx(compute + communication)
    assert scaling.step_seconds(size, ranks, ALPHA, BETA, compute, 1) == pytest.approx(max(compute, communication))


def test_the_last_fusion_buffer_is_never_hidden():
    buffer = scaling.allreduce_seconds(1e6, 8, ALPHA, BETA)
    assert scaling.step_seconds(4e6, 8, ALPHA, BETA, 10, 1, fusion_bytes=1e6) == pytest.approx(10 + buffer)
    assert scaling.step_seconds(4e6, 8, ALPHA, BETA, 10, 1, fusion_bytes=1e9) == pytest.approx(
        10 + scaling.allreduce_seconds(4e6, 8, ALPHA, BETA)
    )


def test_overlap_is_a_share():
    with pytest.raises(ValueError, match=r"overlap=2 is not from 0 to 1"):
        scaling.exposed_seconds(1, 1, 2)


def test_a_published_step_by_hand():
    """VGG-16, batch 32 per GPU, 16 GPUs on 2 hosts at 10 Gbit/s: between 513 and 617 images/s, of horovod#2581."""
    compute = 8 * 32 / 1531.9
    slow, fast = (16 * 32 / scaling.step_seconds(138357544 * 4, 16, 0, BETA, compute, overlap) for overlap in (0, 1))
    assert (round(slow), round(fast)) == (513, 617)


def test_speed_up_and_efficiency():
    assert scaling.efficiency(202.78, 1, 650.92, 4) == pytest.approx(0.8025, abs=1e-4)
    assert scaling.speed_up(10, 2.5) == 4


@given(shares, st.integers(1, 1000))
def test_amdahl_and_gustafson(serial, ranks):
    assert scaling.amdahl(serial, ranks) * (1 + 1e-9) >= 1
    assert scaling.amdahl(serial, ranks) <= scaling.gustafson(serial, ranks) * (1 + 1e-9) <= ranks * (1 + 1e-8)
    # The same run, seen by both: the serial share of the time on one rank, and of the time on all of them.
    on_one = serial / (serial + (1 - serial) * ranks)
    assert scaling.amdahl(on_one, ranks) == pytest.approx(scaling.gustafson(serial, ranks))


def test_amdahl_by_hand():
    assert scaling.amdahl(0.1, 10) == pytest.approx(1 / 0.19)
    assert scaling.gustafson(0.1, 10) == pytest.approx(9.1)


@given(st.floats(1e-7, 1e-3), st.floats(1e-12, 1e-6), st.sampled_from(sorted(scaling.ALGORITHMS)))
def test_a_fit_finds_the_network_that_made_the_measurements(alpha, beta, algorithm):
    shapes = [(8, 2), (8, 8), (1e4, 3), (1e6, 4), (1e8, 8)]
    measured = [(size, ranks, scaling.allreduce_seconds(size, ranks, alpha, beta, algorithm)) for size, ranks in shapes]
    assert scaling.fit_alpha_beta(measured, algorithm) == pytest.approx((alpha, beta), rel=1e-3)


def test_a_fit_weighs_measurements_by_their_time():
    exact = [(size, 2, scaling.allreduce_seconds(size, 2, ALPHA, BETA)) for size in (8, 1e3, 1e5, 1e7)]
    noisy = [*exact, (1e9, 2, 1.1 * scaling.allreduce_seconds(1e9, 2, ALPHA, BETA))]  # off by 80 ms
    alpha, beta = scaling.fit_alpha_beta(noisy)
    assert alpha == pytest.approx(ALPHA, rel=0.05) and beta == pytest.approx(BETA, rel=0.06)


@pytest.mark.parametrize("measured", [[], [(8, 2, 1e-3)], [(1e6, 2, 1e-3), (1e6, 2, 1.1e-3)]])
def test_one_size_is_not_enough_for_a_fit(measured):
    with pytest.raises(ValueError, match="two different sizes"):
        scaling.fit_alpha_beta(measured)


def test_hours_money_and_energy():
    hours = scaling.hours_to_train(images=1281167, epochs=90, batch=8192, step=0.256)
    assert hours == pytest.approx(157 * 90 * 0.256 / 3600)  # Goyal et al. (2017): one hour on 256 GPUs
    assert scaling.price(256, hours, 2) == pytest.approx(512 * hours)
    assert scaling.energy_kwh(256, 2, 400, overhead=1.5) == pytest.approx(307.2)
