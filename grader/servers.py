"""The properties of steps 15 and 16, as grader.properties has those of the first part: what a coordinator does with
parameter servers and workers, which are the solution's, and what an evaluator does beside a training.
"""

from grader.facts import RankFacts, Runs
from grader.plans import CHECKPOINTS, EPOCHS, SERVED_BATCHES
from grader.properties import Finding, close
from grader.source import Source
from grader.workers import unseen

STRATEGY = "ParameterServerStrategyV2"  # what ParameterServerStrategy is called inside TensorFlow


# --- Step 15 ----------------------------------------------------------------------------------------------------------


def judge_coordinator(runs: Runs, expected: Runs, source: Source) -> Finding | None:
    """Whether the model is kept on the parameter servers and trained on the workers, also after an interruption."""
    first = runs.aside.get("killed", [])
    finding = next(filter(None, (_before_training(facts, source) for facts in first)), None)
    if finding:
        return finding
    for facts, right in zip(runs.topologies.get("restarted", []), expected.topologies["restarted"], strict=False):
        finding = _before_training(facts, source) or _training(facts, right, source)
        if finding:
            return finding
        if facts.error or not facts.fits:
            return None  # it does not get that far, as another check says
    return unseen(runs, expected)


def _before_training(facts: RankFacts, source: Source) -> Finding | None:
    if facts.error and not facts.fits:
        return None  # it does not get that far, as another check says
    if facts.reported and STRATEGY not in [kind for kind, _ in facts.strategies]:
        message = f"{facts.where} makes no ParameterServerStrategy, so it trains by itself."
        return Finding(message, source.line_of("ParameterServerStrategy", "strategy"), explains=True)
    if facts.gpus:
        return Finding(
            f"{facts.where} can see GPUs {', '.join(map(str, facts.gpus))}, which the workers of its host need. "
            "Expected: none.",
            facts.lines.get("gpu") or source.line_of("set_visible_devices", "TFConfigClusterResolver"),
        )
    if facts.fits and facts.fits[0]["strategy"] != STRATEGY:
        return Finding(
            f"{facts.where} trains a model that is not on the parameter servers. Expected: one that is made, compiled "
            "too, under strategy.scope().",
            facts.lines.get("model") or source.line_of("scope"),
            explains=True,
        )
    return None


def _training(facts: RankFacts, right: RankFacts, source: Source) -> Finding | None:
    if not facts.fits:
        return None  # it does not get that far, as another check says
    fit, model = facts.fits[0], right.fits[0]
    if fit["places"] != model["places"]:
        places = ", ".join(fit["places"])
        return Finding(f"{facts.where}: the model's variables are on {places}. Expected: ps.", source.line_of("scope"))
    if fit["in_parts"] != model["in_parts"]:
        return Finding(
            f"{facts.where}: {_told(fit['in_parts'])}. Expected: {_told(model['in_parts'])}.",
            source.line_of("variable_partitioner", "MinSizePartitioner", "ParameterServerStrategy"),
        )
    if fit["steps_per_epoch"] not in (SERVED_BATCHES, SERVED_BATCHES + 1):
        return Finding(
            f"{facts.where} makes {fit['steps_per_epoch']} steps an epoch. Expected: {SERVED_BATCHES}, as many as "
            "there are batches.",
            source.line_of("steps_per_epoch", "fit"),
        )
    if fit["begin"] and fit["begin"]["iterations"] < model["begin"]["iterations"]:
        return Finding(
            f"Started again after an interruption in epoch {EPOCHS}, training begins anew. Expected: from the end of "
            "the last epoch.",
            source.line_of("BackupAndRestore", "callbacks"),
        )
    if not facts.error and not facts.saved:
        return Finding(f"{facts.where} does not save the trained model.", source.line_of("save", "fit"))
    return None


def _told(in_parts: list[list[int]]) -> str:
    """Say which variables are kept in parts."""
    if not in_parts:
        return "no variable is cut into parts"
    if len(in_parts) > 3:
        return f"{len(in_parts)} variables are cut into parts"
    return " and ".join(f"a variable is in {parts} parts of {'x'.join(map(str, shape))}" for parts, *shape in in_parts)


# --- Step 16 ----------------------------------------------------------------------------------------------------------


def judge_evaluator(runs: Runs, expected: Runs, source: Source) -> Finding | None:
    """Whether each checkpoint is scored as it appears, up to the last one, and its curve kept."""
    line = source.line_of("SidecarEvaluator", "evaluate")
    for _, facts in runs.ranks():
        if facts.error and "no checkpoint" in facts.error.lower():
            message = f"{facts.where} ends because there is no checkpoint yet. Expected: it waits for them."
            return Finding(message, facts.error_line or line, explains=True)
        if facts.error or not facts.reported or facts.ended_for:
            return None  # it does not get that far, as another check says
        if not facts.evaluations:
            return Finding(f"{facts.where} evaluates nothing.", line)
        last = facts.newest or {"number": 0, "weights": []}
        if last["number"] < CHECKPOINTS or not close(facts.evaluations[-1], last["weights"]):
            return Finding(
                f"{facts.where} ends before it has evaluated the last checkpoint, number {CHECKPOINTS}.",
                source.line_of("max_evaluations", "SidecarEvaluator", "evaluate"),
            )
        if facts.gpus:
            return Finding(
                f"{facts.where} can see GPUs {', '.join(map(str, facts.gpus))}, on which others train. Expected: none.",
                source.line_of("set_visible_devices", "SidecarEvaluator"),
            )
        if not facts.logs:
            message = f"{facts.where} keeps no curve. Expected: TensorBoard's logs of the evaluations."
            return Finding(message, source.line_of("TensorBoard", "callbacks"))
    return None


JUDGES = {15: judge_coordinator, 16: judge_evaluator}

NEEDS = {15: set(), 16: set()}
