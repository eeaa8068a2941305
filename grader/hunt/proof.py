"""Compare what a job did with what is true after every right repair of its case."""

from collections.abc import Iterator
from typing import Any

from course.hunt.cases import Case, Proof
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
    for name, limit in _broken(case.proof, facts.result):
        shown = f"{facts.result.get(name)}"[:100]
        return f"The job ends with {name.replace('_', ' ')}: {shown}, not {limit}."
    return ""


def _broken(proof: Proof, result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each field of a result that has not the value that it has to have, and that value in words."""
    for name, value in proof.equal.items():
        if result.get(name) != value:
            yield name, f"{value}"
    for name, most in proof.at_most.items():
        if not (_is_number(result.get(name)) and result[name] <= most):
            yield name, f"at most {most:g}"
    for name, least in proof.at_least.items():
        if not (_is_number(result.get(name)) and result[name] >= least):
            yield name, f"at least {least:g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
