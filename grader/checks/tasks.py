"""What the checks of tasks with roles share: the chief and the evaluator of a cluster with parameter servers."""

from grader.reading.parsing import Source
from grader.terms.clusters import Refused, TaskSpec, TaskType
from grader.terms.findings import Finding, Untold
from grader.terms.runs import TaskRank, TaskRuns

WORK = "strategy", "fit", "evaluate", "server", "wait"  # events by which a script shows that it does a task
DOES = {
    "strategy": "makes a strategy",
    "fit": "calls model.fit",
    "evaluate": "evaluates",
    "server": "starts a server",
    "wait": "waits",
    "look": "looks for checkpoints",
}
NAMES: dict[str, str] = {"Ps": "a parameter server", "Evaluator": "an evaluator", "Chief": "the chief"}


def roles(*types: TaskType, arguments: tuple[str, ...]) -> Refused:
    """Return a cluster in which the script is started as tasks that are not its own."""
    return Refused(
        "roles",
        "another task's TF_CONFIG",
        hosts=1,
        slots=len(types),
        gpus=2,
        arguments=arguments,
        reserved=True,
        tasks=tuple(map(TaskSpec, types)),
    )


def began(rank: TaskRank) -> tuple[str, int | None] | None:
    """Return by which event a script began to work, and on which line; None where it did not get so far."""
    event = next((event for event in rank.facts.order if event in WORK), None)
    if event:
        return event, rank.facts.lines.get(event)
    return ("look", rank.error_line) if rank.error and "no checkpoint" in rank.causes else None


def works(rank: TaskRank) -> bool:
    """Return whether a script got so far that it does its task."""
    return began(rank) is not None


def untold(rank: TaskRank, what: str) -> Finding:
    """Return the Finding for a script that does not get far enough to show what is asked for."""
    return Untold(seen=f"{rank.where} {what}", line=rank.error_line)


def checked(rank: TaskRank) -> Finding | None:
    """Return why TF_CONFIG is not checked in time, if so."""
    order, first = rank.facts.order, began(rank)
    if "tf_config" in order and (not first or first[0] not in order[: order.index("tf_config")]):
        return None
    if not first:
        return untold(rank, "ends too early")
    event, at = first
    does, line = f"{rank.where} {DOES[event]} on line {at}", rank.facts.lines.get("tf_config")
    if "tf_config" not in order:
        return Finding(seen=f"{does}, and never calls tf_config.check()", expected="a call before that", line=at)
    if event == "server":
        return Finding(
            seen=f"{does}, which takes its port, and calls tf_config.check() on line {line} only then",
            expected="no server in this program",
            line=at,
            explains=True,
        )
    return Finding(
        seen=f"{does}, and calls tf_config.check() on line {line} only then",
        expected="a call before that",
        line=line,
        explains=rank.error_line == line,  # the strategy has taken the port
    )


def kept_to(rank: TaskRank, runs: TaskRuns, source: Source) -> Finding | None:
    """Return why a script does not keep to its own task, if so: it ends in its own, or works in another one."""
    if not works(rank):
        if rank.error_kind != "SystemExit" and "exit" not in rank.facts.lines:
            return untold(rank, "ends too early")
        ended = rank.error_line or rank.facts.lines.get("exit")
        said = f": {rank.error.removesuffix('.')}" if rank.error else ""
        return Finding(
            seen=f"{rank.where} exits on line {ended}{said}",
            expected=f"it does its work, since TF_CONFIG says that it is {_name(rank)}",
            line=ended,
            explains=True,
        )
    others = runs.reserved.get("roles", [])
    if not others:
        return untold(rank, "was not started as another task")
    for other in others:
        started, did = f"Started with the TF_CONFIG of {_name(other)}, the script", began(other)
        if did:
            event, at = did
            return Finding(
                seen=f"{started} {DOES[event]} on line {at}",
                expected=f"it ends before that, since it is not {_name(rank)}",
                line=source.line_of("task_type") or at,
            )
        if other.ended_for:
            return Finding(
                seen=f"{started} does not end",
                expected=f"it ends at once, since it is not {_name(rank)}",
                line=source.line_of("task_type"),
            )
    return None


def sees_no_gpu(rank: TaskRank, source: Source, why: str) -> Finding | None:
    """Return which GPUs a task can see, if any."""
    first = began(rank)
    if not first:
        return untold(rank, "ends too early")
    if not rank.facts.gpus:
        return None
    numbers = ", ".join(map(str, rank.facts.gpus))
    return Finding(
        seen=f"{rank.where} can see GPU {numbers} when it starts to work, {why}",
        expected="none",
        line=rank.facts.lines.get("gpu") or source.line_of("set_visible_devices") or first[1],
    )


def own_server(rank: TaskRank) -> Finding | None:
    """Return a Finding where a script starts a server of its own."""
    if "server" not in rank.facts.order:
        return None
    line = rank.facts.lines.get("server")
    return Finding(
        seen=f"{rank.where} starts a tf.distribute.Server on line {line}",
        expected="none: workers and servers have a program of their own",
        line=line,
        explains=True,
    )


def _name(rank: TaskRank) -> str:
    """Return what a task is, with its article."""
    return NAMES.get(rank.name, f"a {rank.name.lower()}")
