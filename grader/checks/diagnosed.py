"""Compare a learner's diagnosis.toml with the case: who, where and why, each by itself."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from course.hunt.cases import NOTHING, Case
from grader.reading import form, parsing
from grader.terms.findings import listed
from grader.terms.report import Outcome, OutcomeStatus

NEAR = 1  # lines from one with the fault: a statement may have several lines
POINTS = {"who": 1, "line": 2, "cause": 2}


def judge(path: Path, case: Case) -> list[Outcome]:
    """Return an Outcome for each field of a diagnosis.

    Raises:
        UnreadableError, NoScriptError: see grader.reading.parsing.
    """
    answers = form.read(parsing.load(path))
    return [_outcome(name, answers.tables, case) for name in case.fields]


def _outcome(name: str, answers: Mapping[str, Any], case: Case) -> Outcome:
    """Return the Outcome for one field."""
    value = answers.get(name, "")
    if value == "":
        return _told(name, "failed", f"The diagnosis has no {name} yet.")
    judges = {"who": _who, "line": line, "cause": cause}
    right, message = judges[name](value, case)
    return _told(name, "passed" if right else "failed", message)


def _told(name: str, status: OutcomeStatus, message: str) -> Outcome:
    points = POINTS[name] if status == "passed" else 0
    return Outcome(f"Diagnosis: {name}", 0, status, points, POINTS[name], message, "", None)


def _who(value: Any, case: Case) -> tuple[bool, str]:
    right = _plain(value) in map(_plain, case.diagnosis.who)
    return right, "Correct." if right else f"Not so: {str(value)[:60]}. What does each of them do?"


def _plain(value: object) -> str:
    """Return a name as it is compared: "Rank 1" and 1 are rank1, "ranks 2, 1" is rank1+2, and "all ranks" is all."""
    words = re.findall(r"[a-z]+|\d+", str(value).lower())
    if set(words) - {"rank", "ranks", "and", "on", "the"} == {word for word in words if word.isdecimal()} != set():
        return "rank" + "+".join(sorted({word for word in words if word.isdecimal()}, key=int))
    text = re.sub(r"^host(?=[a-z])", "", "".join(words))
    text = re.sub(r"^(?:the|on|only)(?=\w)", "", text)
    if re.fullmatch(
        r"(?:all|every|each)(?:of)?(?:the)?(?:rank|worker|host|process|node|task)?(?:s|es)?|(?:ranks|workers|hosts|nodes|processes|tasks)",
        text,
    ):
        return "all"
    return text


def line(value: Any, case: Case) -> tuple[bool, str]:
    """Return whether this is a line with the fault, and what is said of it."""
    lines = case.lines
    if _plain(value) == NOTHING:  # a cable is in no file
        right = not lines or (case.proof is not None and bool(case.job.faults))
        return right, "Correct." if right else "Something is wrong in the file."
    number = form.line_of(value)
    if number is None:
        return False, f"{str(value)[:60]} is no line."
    last = len(case.broken.splitlines())
    if not 1 <= number <= last:
        return False, f"{case.script} has lines 1 to {last}."
    if any(abs(number - each) <= NEAR for each in lines):
        return True, "Correct."
    return False, f"The fault is not in line {number} of the file as you got it."


def cause(value: Any, case: Case) -> tuple[bool, str]:
    """Return whether this is the name of the cause, and what is said of it."""
    chosen = case.causes.get(str(value).strip().lower())
    if chosen is None:
        return False, f"{str(value)[:60]} is none of {listed(list(case.causes))}."
    right = chosen is case.causes[case.diagnosis.cause]
    return right, f"{'Correct.' if right else 'Not this one.'} {chosen.because}"
