"""How well the finished program scales: one rank on one core, one rank on all cores, two ranks on two, alternately.

One rank on all cores is what a person has without Horovod: TensorFlow divides each operation among threads.
"""

import json
import os
import runpy
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

from course import figures, launch, steps

SIZES = {"widen_factor": 1, "epochs": 3, "train_samples": 1536, "test_samples": 64, "base_lr": 0.01}
BATCH = 32
REPEATS = 5
ALL_CORES = "1, all cores"  # one rank, not confined to a core


def measure() -> dict:
    """Return rates in images/sec, the efficiency of two ranks, and where a run's and a step's time goes.

    {"images_per_second": {"1": [...], "1, all cores": [...], "2": [...]}, "cores": of the machine,
    "efficiency": median of the pairs' efficiencies, "step_milliseconds": {"whole", "allreduce", "input"},
    "run_seconds": {"start", "first batch", "training", "rest"}}
    """
    with tempfile.TemporaryDirectory() as scratch:
        rates = defaultdict(list)
        for _ in range(REPEATS):
            for name, np in (("1", 1), (ALL_CORES, 1), ("2", 2)):
                run = _run(np, scratch, one_core_each=name != ALL_CORES)
                rates[name].append(round(figures.images_per_second(run, BATCH), 1))
        timeline = Path(scratch) / "timeline.json"
        traced = _run(2, scratch, variables={"HOROVOD_TIMELINE": str(timeline)})
        allreduce = _allreduce_seconds(timeline) / len(traced.records[0].batch_ends)
        input_run = launch.mpirun([sys.executable, "-m", "benchmarks.scaling", str(steps.get(7).solution)], np=1)
        start, first, training, _ = figures.run_shares(run)
    return {
        "images_per_second": rates,
        "cores": len(os.sched_getaffinity(0)),
        "efficiency": round(median(two / one / 2 for one, two in zip(rates["1"], rates["2"], strict=True)), 3),
        "step_milliseconds": {
            "whole": round(2 * BATCH / median(rates["2"]) * 1e3, 1),
            "allreduce": round(allreduce * 1e3, 1),
            "input": float(input_run.output[0][-1]),
        },
        "run_seconds": {
            "start": round(start, 1),
            "first batch": round(first, 1),
            "training": round(training, 1),
            "rest": round(run.seconds - start - first - training, 1),
        },
    }


def _run(np: int, scratch: str, one_core_each: bool = True, **options) -> launch.Run:
    program = steps.get(7).solution
    return launch.script(program, np, one_core_each=one_core_each, log_dir=scratch, **options, **SIZES)


def _allreduce_seconds(timeline: Path) -> float:
    """Return for how long any tensor was in the middle of MPI's allreduce, from Horovod's own timeline."""
    text = timeline.read_text().rstrip().rstrip(",")
    events = json.loads(text if text.endswith("]") else text + "]")
    open_at, spans = {}, []
    for event in events:
        if event.get("ph") == "B" and event.get("name") == "MPI_ALLREDUCE":
            open_at[event["pid"]] = event["ts"]
        elif event.get("ph") == "E" and event["pid"] in open_at:
            spans.append((open_at.pop(event["pid"]), event["ts"]))
    covered, end = 0, 0
    for start, stop in sorted(spans):  # fused tensors share a span
        covered += max(0, stop - max(start, end))
        end = max(end, stop)
    return covered / 1e6


def _time_input(script: str) -> None:
    """Print the milliseconds that the script's own input takes for a batch, by itself; do not train."""
    from tensorflow.keras import Model

    def fit(self, batches, **options):
        times = []
        for _ in range(100):
            began = time.perf_counter()
            next(batches)
            times.append(time.perf_counter() - began)
        print(round(median(times) * 1e3, 1), flush=True)
        sys.exit()

    Model.fit = fit
    sys.argv = [script, "--widen-factor", "1"]
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    _time_input(sys.argv[1])
