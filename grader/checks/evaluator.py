"""The part of evaluator.py, step 16: an evaluator next to a training, which runs in one process here."""

from grader.checks.parameter_server import mobilenet
from grader.checks.part import Finding, Part
from grader.checks.training import close
from grader.facts import TaskFacts, TaskRuns
from grader.job import TaskSpec, Topology
from grader.runner.reading import FILES, Source

part = Part(
    "evaluator.py",
    "parameter_server/evaluator.py",
    TaskFacts,
    allowed=FILES,
)

CHECKPOINTS = 3  # that the training leaves
BESIDE_TRAINING = Topology(
    "evaluator",
    "beside a training",
    hosts=1,
    slots=2,
    gpus=2,
    arguments=mobilenet(CHECKPOINTS),
    tasks=(TaskSpec("chief", "parameter_server/one_gpu.py", mobilenet(CHECKPOINTS)), TaskSpec("evaluator")),
)


@part.check(
    16,
    clusters=(BESIDE_TRAINING,),
    hint="tf.keras.utils.SidecarEvaluator takes the compiled model, the data and the folder of the checkpoints; its "
    "start() returns after max_evaluations.",
)
def evaluator(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The evaluator scores each checkpoint as it appears, until the last one.

    And keeps a curve of the scores.
    """
    line = source.line_of("SidecarEvaluator", "evaluate")
    for rank in runs.ranks():
        if rank.error and "no checkpoint" in rank.causes:
            message = f"{rank.where} ends because there is no checkpoint yet. Expected: it waits for them."
            return Finding(message, rank.error_line or line, explains=True)
        if rank.error or not rank.reported or rank.ended_for:
            return None  # it does not get that far, as another check says
        if not rank.facts.evaluations:
            return Finding(f"{rank.where} evaluates nothing.", line)
        last = rank.facts.newest
        if not last or last.number < CHECKPOINTS or not close(rank.facts.evaluations[-1], last.weights):
            return Finding(
                f"{rank.where} ends before it has evaluated the last checkpoint, number {CHECKPOINTS}.",
                source.line_of("max_evaluations", "SidecarEvaluator", "evaluate"),
            )
        if rank.facts.gpus:
            gpus = ", ".join(map(str, rank.facts.gpus))
            return Finding(
                f"{rank.where} can see GPUs {gpus}, on which others train. Expected: none.",
                source.line_of("set_visible_devices", "SidecarEvaluator"),
            )
        if not rank.facts.logs:
            message = f"{rank.where} keeps no curve. Expected: TensorBoard's logs of the evaluations."
            return Finding(message, source.line_of("TensorBoard", "callbacks"))
    return None
