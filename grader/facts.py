"""What one script did in one run of each topology, as data.

Facts come from processes in which the learner's code ran, so nothing about their shape is taken for granted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import fastjsonschema

from grader.plans import Topology

_NUMBERS = {"type": "array", "items": {"type": "number"}, "maxItems": 16}
_INTEGERS = {"type": "array", "items": {"type": "integer"}, "maxItems": 16}


def _object(required: dict) -> dict:
    return {"type": "object", "properties": required, "required": list(required)}


_NAMES = {"type": "array", "items": {"type": "string"}}
_STATE = _object({"weights": _NUMBERS, "slots": _NUMBERS, "iterations": {"type": "integer"}, "variables": _NAMES})
_FILES = _object(
    {name: {"type": "integer"} for name in ("copied", "read_in_training", "results_written", "wrote_checkpoints")}
    | dict.fromkeys(("left", "kept", "overwritten"), _NAMES)
)
_FIT = _object(
    {
        "verbose": {"type": ["integer", "string", "boolean"]},
        "optimizer": {"type": "object"},
        "callbacks": {"type": "array", "items": {"type": "string"}},
        "loss_weights": {"type": "array", "items": {"type": "number"}},
        "steps_per_epoch": {"type": ["integer", "null"]},
        "log_dirs": _NAMES,
        "weights_built": _NUMBERS,
        "batches": {"type": "array", "items": {"type": "object", "properties": {"rate": {"type": "number"}}}},
        "epochs": {
            "type": "array",
            "items": _object(
                {"steps": {"type": "integer"}, "validation_steps": {"type": "integer"}, "own": {"type": "object"}}
                | {"images": _NAMES, "validation_images": _NAMES}
            ),
        },
        "initial_epoch": {"type": "integer"},
        "begin": _STATE,
        "end": {"anyOf": [_STATE, {"type": "null"}]},
        "schedule": {"type": "object", "additionalProperties": {"type": "number"}},
        "reads": {"type": "array", "items": {"type": "array", "minItems": 4, "maxItems": 4}},
    }
)
_FACTS = _object(
    {
        "order": {"type": "array", "items": {"type": "string"}},
        "gpus": {**_INTEGERS, "type": ["array", "null"]},
        "memory_growth": _INTEGERS,
        "fits": {"type": "array", "items": _FIT, "maxItems": 50},
        "evaluations": {"type": "array"},
        "lines": {"type": "object", "additionalProperties": {"type": "integer"}},
        "files": {"anyOf": [_FILES, {"type": "null"}]},
        "error": {"type": ["object", "null"]},
    }
)
_valid = fastjsonschema.compile(_FACTS)

# The same for grader.taskprobe.
_IMAGES = {"type": "array", "items": _INTEGERS | {"maxItems": 64}}
_PROGRESS = _object({"weights": _NUMBERS, "iterations": {"type": "integer"}})
_TASK_FIT = _object(
    {
        "verbose": {"type": ["integer", "string", "boolean"]},
        "strategy": {"type": "string"},
        "replicas": {"type": "integer"},
        "callbacks": {
            "type": "array",
            "items": _object({"kind": {"type": "string"}, "path": {"type": ["string", "null"]}}),
        },
        "images": _IMAGES,
        "validation_images": _IMAGES,
        "epochs": {"type": "array", "items": {"type": "integer"}},
        "steps_per_epoch": {"type": ["integer", "null"]},
        "in_parts": {"type": "array", "items": _INTEGERS, "maxItems": 1000},
        "places": _NAMES,
        "begin": {"anyOf": [_PROGRESS, {"type": "null"}]},
        "end": {"anyOf": [_PROGRESS, {"type": "null"}]},
    }
)
_TASK_FACTS = _object(
    {
        "order": _NAMES,
        "lines": {"type": "object", "additionalProperties": {"type": "integer"}},
        "gpus": {**_INTEGERS, "type": ["array", "null"]},
        "strategies": {"type": "array", "items": {"type": "array", "minItems": 2, "maxItems": 2}},
        "fits": {"type": "array", "items": _TASK_FIT, "maxItems": 50},
        "saved": _NAMES,
        "evaluations": {"type": "array", "items": _NUMBERS, "maxItems": 1000},
        "newest": {
            "anyOf": [_object({"number": {"type": "integer"}, "weights": _NUMBERS}), {"type": "null"}],
        },
        "logs": _NAMES,
        "error": {"type": ["object", "null"]},
    }
)
_valid_task = fastjsonschema.compile(_TASK_FACTS)


@dataclass
class RankFacts:
    """What one rank did. Lists of fits are as grader.probe writes them."""

    rank: int
    host: int
    name: str  # "Rank 1", or the task: "Worker 1"
    topology: str  # in words
    exit: int  # status, or minus the signal's number
    ended_for: str | None  # why it had to be ended: "time", "output", "memory", "others" that failed or "stall"
    collective: str  # that it was in when it ended, or ""
    stdout: str
    stderr: str
    order: list[str] = field(default_factory=list)
    gpus: list[int] = field(default_factory=list)
    memory_growth: list[int] = field(default_factory=list)
    fits: list[dict] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    files: dict | None = None  # what grader.files saw
    strategies: list[list] = field(default_factory=list)  # the kind of each that was made, and its number of replicas
    saved: list[str] = field(default_factory=list)  # the paths that the script itself saved models to
    evaluations: list[list[float]] = field(default_factory=list)  # the weights that were evaluated, each time
    newest: dict | None = None  # the checkpoint that was the newest one at the end
    logs: list[str] = field(default_factory=list)  # the files for TensorBoard that this process wrote
    error: str | None = None
    error_line: int | None = None
    traceback: str = ""
    reported: bool = False  # whether facts came at all

    @property
    def where(self) -> str:
        """The rank and its topology, in words."""
        return f"{self.name} ({self.topology})"


@dataclass
class Runs:
    """All ranks of all topologies that were come to."""

    topologies: dict[str, list[RankFacts]]
    aside: dict[str, list[RankFacts]]  # of those whose end is for one check to judge
    traffic: int  # bytes that all of them sent each other, as the host counts them

    def ranks(self) -> list[tuple[str, RankFacts]]:
        """Return every rank of the topologies that are not aside, with where it ran in words."""
        return [(facts.where, facts) for ranks in self.topologies.values() for facts in ranks]

    def describe(self, name: str) -> str:
        """Return a topology in words."""
        return self.topologies[name][0].topology


def parse(answer: dict, topologies: Sequence[Topology]) -> Runs:
    """Return the Runs in an answer of grader.ranks; facts of another shape count as none."""
    runs = Runs({}, {}, answer["traffic"])
    for topology in topologies:
        results = answer["topologies"].get(topology.name)
        if results is not None:
            ranks = [_rank(number, topology, result) for number, result in enumerate(results)]
            if topology.tasks:
                ranks = [rank for rank, task in zip(ranks, topology.tasks, strict=True) if not task.program]
            (runs.aside if topology.aside else runs.topologies)[topology.name] = ranks
    return runs


def _rank(number: int, topology: Topology, result: dict) -> RankFacts:
    seen = [result[name] for name in ("exit", "ended_for", "collective", "stdout", "stderr")]
    facts = RankFacts(number, number // topology.slots, _name(number, topology), topology.description, *seen)
    found = result["facts"]
    try:
        (_valid_task if topology.tasks else _valid)(found)
    except fastjsonschema.JsonSchemaException:
        return facts
    facts.reported = True
    facts.order, facts.fits, facts.lines = found["order"], found["fits"], found["lines"]
    facts.gpus = found["gpus"] or []
    if topology.tasks:
        facts.strategies, facts.saved = found["strategies"], found["saved"]
        facts.evaluations, facts.newest, facts.logs = found["evaluations"], found["newest"], found["logs"]
    else:
        facts.files, facts.memory_growth = found["files"], found["memory_growth"]
    if found["error"]:
        error = found["error"]
        message = _steady(str(error.get("message")))
        facts.error = f"{error.get('kind')}: {message}"[:500]
        if error.get("kind") == "SystemExit":
            facts.error = (
                str(error.get("message"))[:500]
                if not re.fullmatch(r"\d*", str(error.get("message")))
                else (f"it exits with status {error.get('message')}")
            )
        facts.error_line = error.get("line") if isinstance(error.get("line"), int) else None
        facts.traceback = _steady(str(error.get("traceback", "")))
    return facts


def _name(number: int, topology: Topology) -> str:
    if not topology.tasks:
        return f"Rank {number}"
    kinds = [task.kind for task in topology.tasks]
    kind = kinds[number]
    return kind.capitalize() if kinds.count(kind) == 1 else f"{kind.capitalize()} {kinds[:number].count(kind)}"


def _steady(text: str) -> str:
    """Return an error's text without what differs from run to run: names of TensorFlow's nodes, who was first."""

    def in_order(found: re.Match) -> str:
        one, other = sorted((found[2], found[4]))
        return f"{found[1]}{one}, but another rank {found[3]}{other}."

    text = re.sub(r"{{.*?}} ?", "", text)
    text = re.sub(r'(?m)^ *File ".*", line \d+, in .*\n+', "", text)  # TensorFlow tells where each node was made
    return re.sub(r"(One rank [^.]*? )(\[[^]]*]|\S+), but another rank ([^.]*? )(\[[^]]*]|\S+)\.", in_order, text)
