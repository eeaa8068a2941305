"""Measure the steps of a training between hosts: solutions/scaling/training.py, whose computation is a pause.

with hosts.up(8, slots=1, rate="100mbit") as cluster:
    seconds = step_time.measure(cluster, ranks=4, megabytes=4, compute=0.3)
"""

import re
import sys
from statistics import median

from course.hosts.cluster import Cluster
from course.hosts.ranks import run
from course.steps import SOLUTIONS

PROGRAM = SOLUTIONS / "scaling" / "training.py"
LAYERS = 8
# The backward pass is two thirds of the computation, and the gradients of its first layer are there after an eighth.
OVERLAP = 2 / 3 * (1 - 1 / LAYERS)


def measure(
    cluster: Cluster,
    ranks: int,
    *,
    megabytes: float,
    compute: float,
    overlap: bool = True,
    spread: float = 0,
    steps: int = 4,
) -> float:
    """Return the seconds of a step: the median of some, after one that is not counted.

    Args:
        cluster: its first hosts have a rank each.
        ranks: their number.
        megabytes: size of all gradients.
        compute: seconds of computation in a step.
        overlap: whether gradients are exchanged while others are computed.
        spread: by which share the computation varies from rank to rank and from step to step, at most.
        steps: that are counted.

    Raises:
        HostsError: the training failed, and the message has its output; or it did not end.
    """
    program = [sys.executable, str(PROGRAM), "--megabytes", str(megabytes), "--compute", str(compute)]
    program += ["--layers", str(LAYERS), "--spread", str(spread), "--steps", str(steps)]
    printed = run(cluster, cluster.hosts[:ranks], [*program, *([] if overlap else ["--no-overlap"])], what="A training")
    return median(float(each) for each in re.findall(r"^step \d+: ([\d.]+) s$", printed, re.MULTILINE))
