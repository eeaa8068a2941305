"""The part of evaluator.py, step 16: an evaluator next to a training, which runs in one process here.

Then three evaluators start late, when all checkpoints are there, and the script is started as tasks that are not its
own.
"""

import math

from grader.checks import tasks
from grader.checks.parameter_server import mobilenet
from grader.checks.part import Part
from grader.reading.parsing import Source
from grader.terms.clusters import Fresh, Resumed, TaskSpec, flags
from grader.terms.facts import ARGUMENTS, TaskFacts
from grader.terms.findings import Finding, counted, listed
from grader.terms.runs import TaskRank, TaskRuns

part = Part("evaluator.py", TaskFacts)

CHECKPOINTS = 3  # that the training leaves
MORE = 9  # epochs, of which only so many are trained
LAST = CHECKPOINTS - 1  # of --max-evaluations: the newest checkpoint is beyond it
BEYOND = CHECKPOINTS + 1  # likewise: there is no such checkpoint
BESIDE_TRAINING = Fresh(
    "evaluator",
    "next to a training",
    hosts=1,
    slots=2,
    gpus=2,
    arguments=mobilenet(CHECKPOINTS),
    tasks=(TaskSpec("chief", "parameter_server/one_gpu.py", mobilenet(CHECKPOINTS)), TaskSpec("evaluator")),
)
LATE = Resumed(
    "late",
    "after a training",
    hosts=1,
    slots=3,
    gpus=3,
    after=BESIDE_TRAINING.name,
    reserved=True,
    tasks=(
        TaskSpec("evaluator", arguments=mobilenet(CHECKPOINTS)),
        TaskSpec("evaluator", arguments=mobilenet(MORE) + flags(max_evaluations=LAST)),
        TaskSpec("evaluator", arguments=mobilenet(MORE) + flags(max_evaluations=BEYOND)),
    ),
)
ROLES = tasks.roles("chief", "worker", "ps", arguments=mobilenet(CHECKPOINTS))

ROUNDING = 1e-6  # relative: a checkpoint has the very weights
CURVE = "a curve of the evaluations"
ENDS = "max_evaluations", "SidecarEvaluator", "evaluate"  # what says when an evaluator ends


@part.check(
    16,
    points=1,
    clusters=(BESIDE_TRAINING, LATE, ROLES),
    asks=("Check `TF_CONFIG` with `tf_config.check()`",),
    hint="course.tf_config has a function check(), as in step 15.",
)
def tf_config(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """TF_CONFIG is checked before the evaluator starts to work."""
    return tasks.checked(_own(runs))


@part.check(
    16,
    points=1,
    asks=("end if this process is not the evaluator",),
    hint="A resolver knows the task_type of the process. Compare it with the one type that this program is for.",
)
def role(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """A process that is not the evaluator ends before it waits for checkpoints."""
    return tasks.kept_to(_own(runs), runs, source)


@part.check(
    16,
    points=1,
    asks=("hide all GPUs from it",),
    hint="tf.config.set_visible_devices sets which GPUs are visible. It has to come before the first operation.",
)
def gpus(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The evaluator sees no GPU."""
    if not _own(runs).facts.evaluations:
        return _nothing(_own(runs))
    return tasks.sees_no_gpu(_own(runs), source, "on which others train")


@part.check(
    16,
    points=1,
    asks=("evaluate each checkpoint as it appears", "A loop of your own that does the same passes as well."),
    look_at=ENDS,
    hint="tf.keras.utils.SidecarEvaluator takes the compiled model, the data and the folder of the checkpoints; its "
    "start() waits for checkpoints, loads them and evaluates.",
)
def each(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The evaluator waits for checkpoints, and evaluates each one as it appears."""
    rank = _own(runs)
    line = rank.facts.lines.get("evaluate") or rank.facts.lines.get("wait")
    if rank.error and "no checkpoint" in rank.causes:
        seen, line = f"{rank.where} ends because there is no checkpoint yet", rank.error_line or line
        return Finding(seen=seen, expected="it waits for them", line=line, explains=True)
    if not rank.facts.evaluations:
        if (rank.error and "wait" not in rank.facts.order) or rank.ended_for or "exit" in rank.facts.lines:
            return _nothing(rank)
        if "wait" not in rank.facts.order:
            seen = f"{rank.where} evaluates nothing"
            return Finding(seen=seen, expected="each checkpoint, as it appears", line=line, explains=True)
        return Finding(
            seen=f"{rank.where} waits and finds no checkpoint",
            expected=f"it finds the {CHECKPOINTS} that the training saves in checkpoints, below --log-dir",
            line=line,
            explains=True,
        )
    numbers = sorted({number for weights in rank.facts.evaluations if (number := _number(rank, weights))})
    if not numbers and rank.facts.checkpoints:
        seen = f"{rank.where} evaluates, but not the weights of any checkpoint"
        return Finding(seen=seen, expected="it loads each checkpoint", line=line)
    what = ""
    if numbers == [CHECKPOINTS]:
        what = f"only the last of {CHECKPOINTS} checkpoints"
    elif rank.facts.newest and rank.facts.newest[0] >= CHECKPOINTS:
        what = f"its first checkpoint when all {CHECKPOINTS} are there"
    elif (
        CHECKPOINTS in numbers and len(numbers) < CHECKPOINTS and not (rank.error or rank.ended_for)
    ):  # see ends(), too
        what = f"checkpoints {listed(numbers)} of {CHECKPOINTS}"
    if not what:
        return None
    seen = f"{rank.where} evaluates {what}, though there was time for each"  # the training waits for each evaluation
    return Finding(seen=seen, expected="each checkpoint, as it appears", line=line)


@part.check(
    16,
    points=1,
    asks=("The default is the number of epochs.",),
    look_at=ENDS,
    hint="The flag is None where it is not given. SidecarEvaluator's start() returns only if max_evaluations is a "
    "number.",
)
def ends(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """Without --max-evaluations, the evaluator ends after the checkpoint of the last epoch."""
    rank = _own(runs)
    if not rank.facts.evaluations:
        return _nothing(rank)
    given = f"{rank.where} has --epochs {CHECKPOINTS} and no --max-evaluations."
    if "wait" in rank.facts.order or rank.ended_for:
        seen = f"{given} It does not end after checkpoint {CHECKPOINTS}"
        return Finding(seen=seen, expected="it ends by itself then", explains=True)
    if rank.error:
        return tasks.untold(rank, "fails")
    last = _number(rank, rank.facts.evaluations[-1])
    if last != CHECKPOINTS:
        after = f"after checkpoint {last}" if last else "after weights that are in no checkpoint"
        return Finding(seen=f"{given} It ends {after}", expected=f"after checkpoint {CHECKPOINTS}")
    return None


@part.check(
    16,
    points=1,
    look_at=ENDS,
    needs=(ends,),
    asks=("the evaluator ends after the checkpoint with this number",),
    hint="A checkpoint's name ends in its number. An evaluator that is late skips checkpoints, so it evaluates fewer.",
)
def number(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """An evaluator that has skipped checkpoints also ends after the last one."""
    rank, finding = _late(runs, 0, source)
    if finding or not rank:
        return finding
    if "wait" in rank.facts.order or rank.ended_for:
        times = counted(len(rank.facts.evaluations), "evaluation")
        return Finding(
            seen=f"{rank.where}, when {CHECKPOINTS} checkpoints are there already, waits after {times}, with --epochs "
            f"{CHECKPOINTS}",
            expected="it ends after the checkpoint with that number, however many it has skipped",
        )
    return None


@part.check(
    16,
    points=2,
    asks=("Add `--max-evaluations`", "or a later one"),
    look_at=ENDS,
    hint="argparse turns the flag into args.max_evaluations; it is a whole number, and has to reach the evaluator.",
)
def flag(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The flag --max-evaluations says which checkpoint is the last one."""
    rank, finding = _late(runs, 1, source)
    if finding or not rank:
        return finding
    if "wait" in rank.facts.order or rank.ended_for:
        other, _ = _late(runs, 0, source)
        if other and "wait" in other.facts.order and not _own(runs).error:
            return tasks.untold(rank, "ends by no checkpoint's number")
        given = f"--max-evaluations {LAST} and --epochs {MORE}"
        seen = f"{rank.where}, with {given}, does not end after checkpoint {CHECKPOINTS}"
        return Finding(seen=seen, expected="it ends then")
    rank, finding = _late(runs, 2, source)
    if finding or not rank:
        return finding
    if "wait" not in rank.facts.order and not rank.ended_for:
        seen = f"{rank.where}, with --max-evaluations {BEYOND}, ends after checkpoint {CHECKPOINTS}"
        return Finding(seen=seen, expected="it waits for one with that number")
    return None


@part.check(
    16,
    points=1,
    asks=("on all validation images",),
    look_at=("steps", "take", "images"),
    hint="An evaluation without a number of steps goes over all of the data.",
)
def images(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """Each evaluation is over all validation images."""
    rank, right = _own(runs), _own(expected)
    if not rank.facts.evaluations:
        return _nothing(rank)
    should = sorted(right.facts.evaluated[0])
    for seen in rank.facts.evaluated[:-1] if rank.error else rank.facts.evaluated:  # an error may have cut the last off
        if sorted(seen) != should:
            found, times = len(set(seen) & set(should)), counted(len(seen), "image")
            others = f", {found} of them validation images" if found < len(set(seen)) else ""
            return Finding(
                seen=f"{rank.where}: an evaluation is over {times}{others}",
                expected=f"the {len(should)} validation images, each of them once",
            )
    return None


@part.check(
    16,
    points=1,
    asks=("with the callbacks",),
    look_at=("callbacks",),
    hint="The list callbacks is there already: it has to be given to what evaluates.",
)
def curve(runs: TaskRuns, expected: TaskRuns, source: Source) -> Finding | None:
    """The callbacks are used: TensorBoard's logs have the curve of the evaluations."""
    rank = _own(runs)
    if not rank.facts.evaluations:
        return _nothing(rank)
    if not rank.facts.logs:
        seen = f"{rank.where} evaluates, and TensorBoard's callback writes no logs below --log-dir"
        return Finding(seen=seen, expected=CURVE, line=source.line_of("SidecarEvaluator"))
    made = len(rank.facts.evaluations) - bool(rank.error)  # an error may have cut the last one off
    if rank.facts.points < made:
        evaluations = counted(made, "evaluation")
        seen = f"{rank.where}: {evaluations}, and {counted(rank.facts.points, 'value')} in TensorBoard's logs"
        return Finding(seen=seen, expected=CURVE)
    return None


def _own(runs: TaskRuns) -> TaskRank:
    """Return the evaluator next to a training."""
    return runs.clusters[BESIDE_TRAINING.name][0]


def _late(runs: TaskRuns, place: int, source: Source) -> tuple[TaskRank | None, Finding | None]:
    """Return one of the evaluators that start late, and why it shows nothing, if so."""
    ranks, own = runs.reserved.get(LATE.name, []), _own(runs)
    if len(ranks) <= place or not ranks[place].reported:
        return None, tasks.untold(own, "was not started again after the training")
    rank = ranks[place]
    if rank.error_kind == ARGUMENTS and own.error_kind != ARGUMENTS:
        seen, line = f"{rank.where}, with --max-evaluations {LAST}: {rank.error}", source.line_of("parse_args")
        return None, Finding(seen=seen, expected="a flag of this name", line=line)
    if "wait" in rank.facts.order:
        return rank, None if rank.facts.evaluations else tasks.untold(rank, "evaluates nothing")
    if rank.error and own.error:
        return None, tasks.untold(own, "fails")
    if rank.error:
        seen = f"{rank.where} fails: {rank.error}"
        return None, Finding(seen=seen, expected="it ends by itself", line=rank.error_line)
    if not rank.facts.evaluations:
        return None, tasks.untold(rank, "evaluates nothing")
    return rank, None


def _nothing(rank: TaskRank) -> Finding:
    """Return the Finding for an evaluator that evaluates nothing, so that no more is seen of it."""
    return tasks.untold(rank, "evaluates nothing")


def _number(rank: TaskRank, weights: list[float]) -> int | None:
    """Return the number of the checkpoint with these weights, of those that are there at the end."""
    off = {each.number: math.dist(each.weights, weights) for each in rank.facts.checkpoints}
    nearest = min(off, key=off.__getitem__, default=None)  # one epoch changes little
    return nearest if nearest is not None and off[nearest] <= ROUNDING * math.hypot(*weights) else None
