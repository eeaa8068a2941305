"""The figures notebooks draw: ideas, as diagrams, and what was measured in a run, as plots."""

from course.figures.ideas import (
    allreduce,
    averaged_metrics,
    broadcast,
    one_voice,
    pinning,
    shared_epoch,
    step_anatomy,
    who_is_who,
)
from course.figures.measured import (
    accuracies,
    batch_times,
    epoch_costs,
    images,
    images_per_second,
    lines_printed,
    processes,
    run_shares,
    speedup,
    time_shares,
    update_agreement,
    weight_distance,
)

__all__ = [
    "accuracies",
    "allreduce",
    "averaged_metrics",
    "batch_times",
    "broadcast",
    "epoch_costs",
    "images",
    "images_per_second",
    "lines_printed",
    "one_voice",
    "pinning",
    "processes",
    "run_shares",
    "shared_epoch",
    "speedup",
    "step_anatomy",
    "time_shares",
    "update_agreement",
    "weight_distance",
    "who_is_who",
]
