"""Compare what a job did with what is true after every right repair of its case."""

from typing import Any

from course.hunt.cases import Case
from grader.checks import on_hosts
from grader.terms.job import Result
from grader.terms.watched_facts import HuntFacts


def missing(case: Case, ended: Result, facts: HuntFacts) -> str:
    """Return what is not true of a job yet, in words; "" if all of it is.

    Args:
        case: whose job it is.
        ended: how the job ended.
        facts: what was seen of it.
    """
    assert case.proof
    wanted = f"Expected: {case.proof.says}. {on_hosts.printed(ended.stdout)}".strip()
    if ended.ended_for:
        how = "prints endlessly" if ended.ended_for == "output" else "does not end"
        return f"The job {how}. {wanted}"
    if ended.exit:
        return f"The job ends with exit status {ended.exit}. {wanted}"
    if not facts.result:
        return f"The job ends without a result. {wanted}"
    for name, value in {**case.proof.equal, **case.proof.at_most, **case.proof.at_least}.items():
        if not _holds(case, name, facts.result.get(name)):
            shown = f"{facts.result.get(name)}"[:100]
            return f"The job ends with {name.replace('_', ' ')}: {shown}, not {_limit(case, name, value)}."
    return ""


def _holds(case: Case, name: str, value: Any) -> bool:
    """Return whether a field of the result has the value that it has to have."""
    assert case.proof
    if name in case.proof.equal:
        return bool(value == case.proof.equal[name])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return bool(value <= case.proof.at_most.get(name, value) and value >= case.proof.at_least.get(name, value))


def _limit(case: Case, name: str, value: Any) -> str:
    assert case.proof
    if name in case.proof.equal:
        return f"{value}"
    return f"at {'most' if name in case.proof.at_most else 'least'} {value:g}"
