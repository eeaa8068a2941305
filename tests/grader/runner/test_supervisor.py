"""When the supervisor takes ranks that do nothing for deadlocked, decided on samples; and that it does not spin."""

import mmap
import os
import selectors
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from grader.runner import supervisor
from grader.runner.running_rank import RunningRank
from grader.sandbox.time_budget import Budget
from grader.terms.clusters import Fresh, Refused, Resumed, TaskSpec, changed
from grader.terms.job import Job

CORES = len(os.sched_getaffinity(0))


class Sampled(RunningRank):
    """A rank that was looked at: how long it has been still, which collective it is in, whether a thread may run."""

    def __init__(self, still, collective="", may_run=False, type_="worker"):
        cluster = Fresh("two", "two workers", 1, 1, 0, tasks=(TaskSpec(type_),))
        super().__init__(cluster, 0, 0, -1, None, {}, still=still, waited_in=collective)
        self.runs = may_run

    def may_run(self):
        return self.runs


@pytest.mark.parametrize(
    ("ranks", "patience", "expected"),
    [
        ([Sampled(7, "model.fit"), Sampled(7, "model.fit")], 6, True),
        ([Sampled(7, "model.fit"), Sampled(7)], 6, True),  # the other one is through
        ([Sampled(7, "model.fit"), Sampled(5, "model.fit")], 6, False),
        ([Sampled(7), Sampled(7)], 6, False),  # none is in a collective
        ([Sampled(7, "model.fit"), Sampled(7, "model.fit", may_run=True)], 6, False),  # it has no core
        ([Sampled(12, "model.fit"), Sampled(12)], 30, False),  # as seen on a busy machine
        ([Sampled(31, "model.fit"), Sampled(31)], 30, True),
    ],
)
def test_ranks_are_deadlocked_when_all_have_been_still_for_long(ranks, patience, expected):
    assert supervisor._stalled(ranks, patience) is expected


def test_patience_grows_with_the_load_up_to_a_limit():
    loads = [0, CORES, 2 * CORES, 5 * CORES, 50 * CORES]
    assert [supervisor._patience(load, 50) for load in loads] == [6, 6, 12, 30, 30]


def test_ranks_that_stand_still_are_told_so_before_their_time_is_up():
    assert [supervisor._patience(50 * CORES, left) for left in (7, 5)] == [30, 6]


def test_a_load_that_has_just_risen_counts_at_once_and_one_that_ends_for_a_minute():
    load, loads = 0.0, []
    for _ in range(20):
        load = supervisor._load(load, "0.50 0.40 0.30 11/800 4242")
        loads.append(load)
    assert loads[0] == pytest.approx(1.1) and loads[-1] > 9
    assert supervisor._load(load, "8.00 4.00 3.00 1/800 4242") > 8
    assert supervisor._load(2.0, "8.00 4.00 3.00 1/800 4242") == 8


@pytest.mark.parametrize(("does", "may_run"), [("while True: pass", True), ("import signal; signal.pause()", False)])
def test_a_process_that_sleeps_may_not_run(does, may_run):
    with subprocess.Popen([sys.executable, "-c", f"print(flush=True)\n{does}"], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        rank = RunningRank(Fresh("one", "one", 1, 1, 0), 0, process.pid, -1, None, {})
        expected = ("running",) if may_run else ("sleeping",)
        while psutil.Process(process.pid).status() not in expected:
            assert process.poll() is None
        seen = rank.may_run()
        process.kill()
    assert seen is may_run


@pytest.mark.parametrize(("seconds", "ticks", "still"), [(1, 0, 4), (1, 6, 4), (1, 7, 0), (3, 16, 6), (3, 17, 0)])
def test_a_script_that_looks_for_a_file_again_and_again_is_still(seconds, ticks, still):
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True)\nimport signal; signal.pause()"], stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        while psutil.Process(process.pid).status() != "sleeping":
            assert process.poll() is None
        rank = RunningRank(Fresh("one", "one", 1, 1, 0), 0, process.pid, -1, None, {})
        rank.look(1)
        rank.still, rank.ticks = 3, rank.ticks - ticks
        rank.look(seconds)
        process.kill()
    assert rank.still == still


def test_a_process_that_waits_for_a_core_is_neither_at_work_nor_still(monkeypatch):
    rank = RunningRank(Fresh("one", "one", 1, 1, 0), 0, os.getpid(), -1, None, {}, ticks=1000, still=3)
    for state, expected in (("R", 3), ("S", 4), ("D", 0)):
        monkeypatch.setattr(Path, "read_text", lambda _, state=state: f"1 (python) {state} " + "500 " * 20)
        rank.ticks = 1000
        rank.look(1)
        assert rank.still == expected


def test_a_rank_that_has_ended_does_not_keep_the_supervisor_busy(monkeypatch):
    calls = []
    one, other = (subprocess.Popen(["cat"], stdin=subprocess.PIPE) for _ in range(2))

    class Counting(selectors.DefaultSelector):
        def select(self, timeout=None):
            calls.append(super().select(timeout))
            if calls[-2:] == [[], []] or len(calls) == 1000:  # nothing happens, or the supervisor spins
                other.stdin.close()
            return calls[-1]

    monkeypatch.setattr(selectors, "DefaultSelector", Counting)
    cluster = Fresh("two-ranks", "two ranks", 1, 2, 0)
    ranks = [RunningRank(cluster, 0, each.pid, -1, mmap.mmap(-1, 120), {}) for each in (one, other)]
    one.stdin.close()
    supervisor.Watch(ranks, Budget(), Job("", "", "", 60, (cluster,), {}, False)).run()
    assert [rank.exit for rank in ranks] == [0, 0]
    assert len(calls) < 1000


def test_what_ranks_send_when_they_are_started_again_does_not_count(monkeypatch):
    first = Fresh("first", "two ranks", 1, 2, 0)
    again = changed(first, Resumed, name="again", reserved=True, after="first")
    sent = []
    monkeypatch.setattr(supervisor, "fork", lambda job, cluster, entry: [])
    monkeypatch.setattr(supervisor, "release", lambda ranks, told: sent.append(10 ** len(sent)))
    monkeypatch.setattr(supervisor, "_traffic", lambda: sum(sent))
    job = Job("", "", "", 60, (first, again), {}, True)
    answer = supervisor.run(job, lambda *_: None, lambda message: None)
    assert len(sent) == 2 and answer.traffic == 1


@pytest.mark.parametrize(
    ("cores", "turns"),
    [(2, [["one", "none"], ["two"], ["again"]]), (16, [["one", "none", "two"], ["again"]])],
)
def test_clusters_take_turns_where_cores_are_few_but_for_one_whose_ranks_end_at_once(monkeypatch, cores, turns):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)))
    one, two = (Fresh(name, name, 1, 2, 0) for name in ("one", "two"))
    none, again = changed(one, Refused, name="none"), changed(one, Resumed, name="again", after="one")
    assert supervisor.turns([one, none, two, again]) == turns
