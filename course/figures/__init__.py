"""The figures of the notebooks: diagrams of ideas, and plots of measurements."""

from course.figures.collectives import times_by_hosts, times_by_size
from course.figures.elastic import ranks_and_loss
from course.figures.engines import accuracy_by_time, after_a_kill, engine_costs, four_engines
from course.figures.faster import batch_limit, cheaper_step, exchanges_over_time, idle_gpu
from course.figures.hosts import after_a_pull, hosts, process_tree, step_costs
from course.figures.ideas import (
    allreduce,
    averaged_metrics,
    broadcast,
    one_voice,
    pinning,
    shared_epoch,
    step_anatomy,
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
    time_to_accuracy,
    update_agreement,
    weight_distance,
)
from course.figures.mirrored import one_process_or_many, side_by_side
from course.figures.predictions import fitted_network, held_to_account, predicted_throughput, scaling_laws
from course.figures.rates import accuracy_curves, learned, learning_curves, learning_rates, step_lengths
from course.figures.restarts import loss_across_restart, restart, restart_costs
from course.figures.scheduler import job_history, scheduler
from course.figures.servers import evaluated, roles, variables, worker_steps
from course.figures.shares import epoch_maps, overlaps, repeated_batches, throughputs
from course.figures.spans import spans
from course.figures.staging import read_times, staged_run, staging
from course.figures.timeline import ranks_over_time, read_timeline, timeline_variables
from course.figures.workers import cut_batch, one_backup, shared_out, steps_across_restart, told_until

__all__ = [
    "accuracies",
    "accuracy_by_time",
    "accuracy_curves",
    "after_a_kill",
    "after_a_pull",
    "allreduce",
    "averaged_metrics",
    "batch_limit",
    "batch_times",
    "broadcast",
    "cheaper_step",
    "cut_batch",
    "engine_costs",
    "epoch_costs",
    "epoch_maps",
    "evaluated",
    "exchanges_over_time",
    "fitted_network",
    "four_engines",
    "held_to_account",
    "hosts",
    "idle_gpu",
    "images",
    "images_per_second",
    "job_history",
    "learned",
    "learning_curves",
    "learning_rates",
    "lines_printed",
    "loss_across_restart",
    "one_backup",
    "one_process_or_many",
    "one_voice",
    "overlaps",
    "pinning",
    "predicted_throughput",
    "process_tree",
    "processes",
    "ranks_and_loss",
    "ranks_over_time",
    "read_timeline",
    "read_times",
    "repeated_batches",
    "restart",
    "restart_costs",
    "roles",
    "run_shares",
    "scaling_laws",
    "scheduler",
    "shared_epoch",
    "shared_out",
    "side_by_side",
    "spans",
    "speedup",
    "staged_run",
    "staging",
    "step_anatomy",
    "step_costs",
    "step_lengths",
    "steps_across_restart",
    "throughputs",
    "time_shares",
    "time_to_accuracy",
    "timeline_variables",
    "times_by_hosts",
    "times_by_size",
    "told_until",
    "update_agreement",
    "variables",
    "weight_distance",
    "worker_steps",
]
