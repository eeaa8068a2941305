"""The cases of the hunt: each is a folder in hunt/, with a ticket and the changes that break a program which works.

hunt/NN_name/case.toml is a Case, and ticket.md the text that a colleague wrote. The program is one of the solutions, or
a file of the case's own that works. So the right program exists once, and a case says only how it is broken.
"""

import difflib
import functools
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from course import steps
from course.steps import ROOT, SOLUTIONS

FOLDER = ROOT / "hunt"
WORK = steps.NOTEBOOKS / "hunt"  # below it, each case has a folder for the learner's files
DIAGNOSIS = "diagnosis.toml"
STEP_COMMENT = re.compile(r"^ *# (?:TODO: )?Step \d+: .*\n(?: *# .*\n)*", re.M)
NOTHING = "none"  # the answer to who and line where nothing is wrong


class Change(Struct, forbid_unknown_fields=True):
    """A passage of the program that works, and the one that breaks it."""

    old: str
    new: str


class Cause(Struct, forbid_unknown_fields=True):
    """A possible cause, of which one is right.

    Attributes:
        says: the cause in a few words, which the learner chooses by.
        because: why it is this one or not, which the learner reads after the choice.
    """

    says: str
    because: str


class Diagnosis(Struct, forbid_unknown_fields=True):
    """The right diagnosis.

    Attributes:
        who: each of these answers is right: a rank, a worker, a host, "all", or "none".
        cause: the name of the right cause.
        at: further passages of the broken program: a line that has one of them is a right answer, too.
    """

    who: list[str]
    cause: str
    at: list[str] = field(default_factory=list)


class Fault(Struct, forbid_unknown_fields=True):
    """Something that happens to a host.

    Attributes:
        do: a method of course.hosts.cluster.Cluster: pull_cable, slow, fill_disk, hide_shared, kill or revive.
        host: its name.
        rate: for slow.
        when: a passage of what the job prints, after which it happens; without one, before the job starts.
    """

    do: str
    host: str
    rate: str = ""
    when: str = ""


class Job(Struct, forbid_unknown_fields=True):
    """How the job of a ticket is started.

    Attributes:
        np, hosts, gpus, flags: as in course.launch.script(), for a program under mpirun.
        tasks: or the tasks of a TF_CONFIG cluster, as in python -m course cluster.
        slots: or the hosts to make, with the slots of each.
        rate: of their network.
        slurm: whether they have Slurm.
        command: what runs on their head, in bash, in the folder with the job's files.
        faults: what happens to the hosts.
        variables: environment variables.
        seconds: after which the job is ended.
    """

    np: int = 2
    hosts: int = 1
    gpus: int | None = None
    flags: dict[str, Any] = field(default_factory=dict)
    tasks: list[str] = field(default_factory=list)
    slots: dict[str, int] = field(default_factory=dict)
    rate: str = "1gbit"
    slurm: bool = False
    command: str = ""
    faults: list[Fault] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    seconds: int = 120


class Proof(Struct, forbid_unknown_fields=True):
    """What is true of the job after every right repair, where no step's check judges it.

    The program prints its result as a line of JSON.

    Attributes:
        says: all of it, in one line, for the learner.
        equal: fields of the result, and their values.
        at_most, at_least: fields of the result, and limits.
    """

    says: str
    equal: dict[str, Any] = field(default_factory=dict)
    at_most: dict[str, float] = field(default_factory=dict)
    at_least: dict[str, float] = field(default_factory=dict)


class Case(Struct, forbid_unknown_fields=True):
    """A case of the hunt.

    Attributes:
        title: the symptom.
        part: of the course, as in course.steps.PARTS.
        difficulty: 1 to 3.
        known_from: public issues with this fault, such as horovod#403.
        script: the name of the learner's file.
        changes: what breaks the program, or what worries the colleague where nothing is wrong.
        diagnosis: the right one.
        causes: to choose from.
        hints: three, each of which costs a point.
        job: how it is started.
        judged: the step whose check judges the repair.
        base: the program that works: a path in solutions/ or in the case's folder; without one, the step's solution.
        proof: where no step's check can judge the repair.
        name: of the folder.
        told: the ticket, where the case has no folder in hunt/.
    """

    title: str
    part: str
    difficulty: int
    diagnosis: Diagnosis
    causes: dict[str, Cause]
    hints: list[str]
    job: Job
    known_from: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list, name="change")
    script: str = ""
    judged: str = ""
    base: str = ""
    proof: Proof | None = None
    name: str = ""
    told: str = ""

    def __post_init__(self) -> None:
        """Fill in what follows from the step."""
        if self.judged:
            self.script = self.script or Path(steps.get(self.judged).script).name

    @property
    def number(self) -> int:
        """The number of the case, from 1."""
        return int(self.name.partition("_")[0])

    @property
    def label(self) -> str:
        """The case in a sentence: hunt 7."""
        return f"hunt {self.number}"

    @property
    def folder(self) -> Path:
        """Where the case is."""
        return FOLDER / self.name

    @property
    def work(self) -> Path:
        """Where the learner's files are."""
        return WORK / self.name

    @property
    def ticket(self) -> str:
        """The ticket, as Markdown."""
        return self.told or (self.folder / "ticket.md").read_text()

    @property
    def works(self) -> str:
        """The program that works, without the course's comments on it."""
        own = self.folder / self.base
        solution = SOLUTIONS / self.base if self.base else steps.get(self.judged).solution
        return STEP_COMMENT.sub("", (own if own.is_file() else solution).read_text())

    @property
    def broken(self) -> str:
        """The program as the ticket has it.

        Raises:
            ValueError: a passage to change is not in the program exactly once.
        """
        text = self.works
        for change in self.changes:
            if text.count(change.old) != 1:
                raise ValueError(f"{self.name}: the program has this {text.count(change.old)} times: {change.old!r}")
            text = text.replace(change.old, change.new)
        return text

    @property
    def lines(self) -> set[int]:
        """The lines of the broken program that name the fault; empty where nothing is wrong."""
        if NOTHING in self.diagnosis.who:
            return set()
        broken = self.broken.splitlines()
        found = {number for number, line in enumerate(broken, 1) if any(text in line for text in self.diagnosis.at)}
        matcher = difflib.SequenceMatcher(a=self.works.splitlines(), b=broken, autojunk=False)
        for kind, _, _, first, last in matcher.get_opcodes():
            if kind != "equal":  # of lines that are missing, those around them
                found |= set(range(first + 1, last + 1)) or {first, first + 1}
        return found

    @property
    def fields(self) -> list[str]:
        """The fields of the diagnosis. Of a case that was drawn, the fault is on all ranks."""
        return ["who", "line", "cause"] if self.diagnosis.who else ["line", "cause"]

    def form(self) -> str:
        """Return the empty diagnosis.toml."""
        wide = max(map(len, self.causes)) + 2
        asked = {
            "who": 'a rank, host or task, such as "rank 1", "ranks 1 and 2", "node2" or "evaluator"; "all"; or "none"',
            "line": f'the line of {self.script} with the fault, such as 12; "{NOTHING}" if it is not in this file',
            "cause": "one of these:",
        }
        lines = [f"# {self.label.capitalize()}: {self.title}"]
        lines += [f"#   {name:5}  {asked[name]}" for name in self.fields]
        lines += [f"#            {name:{wide}}{cause.says}" for name, cause in self.causes.items()]
        return "\n".join([*lines, "", *(f'{name} = ""' for name in self.fields), ""])


@functools.cache
def cases() -> Mapping[int, Case]:
    """Return all cases, by number."""
    read = [_read(path) for path in sorted(FOLDER.glob("[0-9][0-9]_*/case.toml"))]
    return {case.number: case for case in read}


def get(number: int) -> Case:
    """Return a case.

    Raises:
        KeyError: there is none of this number.
    """
    if number not in cases():
        raise KeyError(f"There is no hunt {number}. There are hunts {min(cases())} to {max(cases())}.")
    return cases()[number]


def _read(path: Path) -> Case:
    """Return the case of a file.

    Raises:
        ValueError: it does not describe a case.
    """
    try:
        return msgspec.convert(tomllib.loads(path.read_text()) | {"name": path.parent.name}, Case)
    except (msgspec.ValidationError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path}: {error}") from None
