"""Which kinds of mistakes a class does not diagnose, of a drill, in which each learner has another one."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from grader.checks import drill
from grader.reading import form
from grader.reading.parsing import NoScriptError


def undiagnosed(handed_in: Iterable[tuple[bytes | None, dict[str, Any]]]) -> list[str]:
    """Return a line for each kind of mistake that learners had and did not name: "moved in: 2 of 3".

    Args:
        handed_in: the file of each learner, and its report, as published.
    """
    had, missed = Counter[str](), Counter[str]()
    for script, report in handed_in:
        try:
            case = drill.case_of(form.read((script or b"").decode()))
        except (NoScriptError, UnicodeDecodeError):
            continue
        if case is None:
            continue
        had[case.diagnosis.cause] += 1
        named = next(check for check in drill.part.checks if check.judge is drill.cause).description
        passed = any(check["name"] == named and check["status"] == "passed" for check in report["checks"])
        missed[case.diagnosis.cause] += not passed
    return [f"{cause.replace('_', ' ')}: {count} of {had[cause]}" for cause, count in missed.most_common() if count]
