"""Watches functions that predict a training step: measures allreduces and a step between hosts, and asks for both.

The hosts' network has a rate that the lesson does not use. What the functions return comes from a process of the
script: it may be anything.
"""

import contextlib
import sys
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from course.hosts import step_time
from course.hosts.cluster import Cluster
from course.scaling import fit_alpha_beta, step_seconds
from grader.terms.job import Result
from grader.terms.watched_facts import PredictionFacts, StepCase
from grader.watchers.clock import Clock
from grader.watchers.head_script import HeadScript
from grader.watchers.prediction_process import Measured

RATE = "150mbit"
HOSTS = {"rate": RATE}
PROCESS = str(Path(__file__).with_name("prediction_process.py"))
SIZES = [40, 1_000_000, 2_000_000]  # bytes of the allreduces
RANKS, MEGABYTES, COMPUTE = 4, 4, 0.2  # of the step
LATEST = 15  # seconds of a Clock for all calls of the functions
LARGEST = 1_000_000  # bytes of facts


@dataclass(frozen=True)
class Situation:
    """Hosts with one rank each, to which nothing happens."""

    slots: dict[str, int] = field(default_factory=lambda: {f"node{number}": 1 for number in range(1, RANKS + 1)})


SITUATIONS = {"network": Situation()}


def watch(cluster: Cluster, situation: Situation, script: Path, clock: Path) -> Result:
    """Measure, call the functions, and return how that ended, with PredictionFacts.

    Args:
        cluster: the head and the hosts, which are up.
        situation: nothing happens in it.
        script: the file with the functions.
        clock: see grader.watchers.clock.

    Raises:
        HostsError: nothing could be measured, which is no fault of the script's.
    """
    folder = cluster.shared / "seen"
    folder.mkdir()
    (folder / "measured.json").write_bytes(msgspec.json.encode(measure(cluster)))
    started = HeadScript(cluster, [sys.executable, PROCESS, str(script), "/shared/seen"], {})
    Clock(clock, LATEST).until(lambda: started.over)
    started.end()
    facts = PredictionFacts()
    with contextlib.suppress(OSError, msgspec.MsgspecError), (folder / "facts").open("rb") as file:
        facts = msgspec.msgpack.decode(file.read(LARGEST), type=PredictionFacts)
    return started.result(facts)


def measure(cluster: Cluster) -> Measured:
    """Measure allreduces on three hosts, and then a step on all.

    Raises:
        HostsError: nothing could be measured.
    """
    timings = step_time.allreduces(cluster, SIZES)
    allreduces = [(each.size, each.ranks, each.seconds) for each in timings]
    seconds = min(step_time.measure(cluster, RANKS, megabytes=MEGABYTES, compute=COMPUTE))
    alpha, beta = fit_alpha_beta(allreduces)
    step = StepCase(MEGABYTES * 1e6, RANKS, alpha, beta, COMPUTE, step_time.OVERLAP, "ring")
    return Measured(allreduces, step, seconds, step_seconds(*msgspec.structs.astuple(step)), RATE)
