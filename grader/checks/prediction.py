"""The part of predict.py, step 22: functions that predict the seconds of a training step.

What they return is compared with what the solution's functions return for the same arguments, and then with a step that
was measured on hosts: see grader.watchers.prediction_watcher.
"""

from collections.abc import Callable, Mapping

from grader.checks import ending, on_hosts
from grader.checks.part import Part
from grader.reading import parsing
from grader.reading.parsing import Source
from grader.terms.findings import Finding, Untold, counted
from grader.terms.report import Outcome
from grader.terms.runs import PredictionRuns
from grader.terms.watched_facts import FitAnswer, PredictionFacts, Returned, StepAnswer, StepCase

NETWORK = on_hosts.cluster("prediction_watcher", "network", "4 hosts at 150 Mbit/s", 4, reserved=False)

EXACT = 1e-6  # of the right value, by which a calculated one may differ
FITTED = 0.01  # likewise one that is fitted to seconds without noise
MEASURED = 0.15  # likewise a prediction, from what is measured

Formula = Callable[[StepCase], float]


def _message(case: StepCase, share: float = 1.0) -> float:
    """Return the seconds of a message that carries a share of the gradients."""
    return case.alpha + share * case.gradient_bytes * case.beta


def _ring_seconds(case: StepCase) -> float:
    return 2 * (case.ranks - 1) * _message(case, 1 / case.ranks)


# Mistakes that are recognised by what they return.
RING: Mapping[str, Formula] = {
    "Only one of the two halves is counted": lambda case: (case.ranks - 1) * _message(case, 1 / case.ranks),
    "That is N messages per half, in place of N - 1": lambda case: 2 * case.ranks * _message(case, 1 / case.ranks),
    "Each message carries the whole array": lambda case: 2 * (case.ranks - 1) * _message(case),
    "The latency counts once, and not for each message": lambda case: (
        case.alpha + 2 * (case.ranks - 1) / case.ranks * case.gradient_bytes * case.beta
    ),
    "The bytes are counted as bits": lambda case: (
        2 * (case.ranks - 1) * (case.alpha + 8 * case.gradient_bytes / case.ranks * case.beta)
    ),
}
LEVELS: Mapping[str, Formula] = {
    "That is the time of a ring": _ring_seconds,
    "That is the time of recursive doubling": lambda case: (case.ranks - 1).bit_length() * _message(case),
    "That is the time of a tree": lambda case: 2 * (case.ranks - 1).bit_length() * _message(case),
    "Only the way to rank 0 is counted": lambda case: (case.ranks - 1) * _message(case),
}


OVERLAP: Mapping[str, Formula] = {
    "Nothing is hidden": lambda case: case.compute + _ring_seconds(case),
    "All computation hides communication": lambda case: max(case.compute, _ring_seconds(case)),
    "The computation is missing": lambda case: max(0.0, _ring_seconds(case) - case.overlap * case.compute),
    "The share of the communication is hidden, and not that of the computation": lambda case: (
        case.compute + (1 - case.overlap) * _ring_seconds(case)
    ),
    "The step takes less time than its computation": lambda case: (
        case.compute + _ring_seconds(case) - case.overlap * case.compute
    ),
}


def _ended(runs: PredictionRuns, step: int, seconds: float, script: str) -> Outcome:
    """Return the outcome of how the calls of the functions ended."""
    ran = on_hosts.of(runs, NETWORK)
    if ran.ended_for == "output":
        found = Finding(seen="The functions print endlessly", expected="they return numbers")
    elif ran.ended_for:
        found = Finding(seen="The functions do not end", expected="they return numbers", hint="Look for a loop.")
    elif ran.error:
        found = Finding(
            seen=f"The file fails: {ran.error}", expected="it defines fit and step_seconds", line=ran.error_line
        )
    elif ran.exit or not ran.facts.steps:
        hint = on_hosts.printed(ran.stdout)
        found = Finding(seen=f"The functions end with status {ran.exit}", expected="they return numbers", hint=hint)
    else:
        return ending.outcome("passed", step, "Correct.")
    return ending.outcome("failed", step, found.message, found.line)


part = Part("predict.py", PredictionFacts, read=parsing.read, ended=_ended)


def _seconds(number: float) -> str:
    """Return seconds in words, with a unit in which they can be read."""
    for unit, name in ((1, "s"), (1e-3, "ms")):
        if abs(number) >= unit:
            return f"{number / unit:.4g} {name}"
    return f"{number / 1e-6:.4g} us"


def _bytes(size: float) -> str:
    return f"{size / 1e6:g} MB" if size >= 1e6 else f"{size / 1e3:g} kB"


def _near(value: float, right: float, tolerance: float) -> bool:
    return abs(value - right) <= tolerance * abs(right) + 1e-12


def _no_numbers(function: str, returned: Returned, number: int) -> Finding | None:
    """Return a Finding where a function failed, or did not return so many numbers."""
    expected = "a number, the seconds" if number == 1 else "alpha and beta"
    if returned.error:
        why = f"{returned.error.kind}: {returned.error.message}".removesuffix(": ")
        return Finding(seen=f"{function} fails: {why}", expected=expected, line=returned.error.line)
    if len(returned.numbers) != number:
        return Finding(seen=f"{function} returns {returned.shown}", expected=expected)
    return None


def _compare(
    runs: PredictionRuns, expected: PredictionRuns, chosen: Callable[[StepCase], bool], mistakes: Mapping[str, Formula]
) -> Finding | None:
    """Return what is wrong in the first of these cases in which step_seconds returns other seconds than the solution's.

    Args:
        runs: of the functions.
        expected: of the solution's.
        chosen: whether a case is one of them.
        mistakes: what each would return.
    """
    own, wrong = {answer.case: answer for answer in _steps(runs)}, []
    for right in filter(lambda right: chosen(right.case), _steps(expected)):
        if right.case not in own:
            return Untold(seen=f"step_seconds was not called ({_of(right.case)})")
        answer = own[right.case]
        if _no_numbers("", answer.returned, 1) or not _right(answer, right):
            wrong.append((answer, right.returned.numbers[0]))
    if not wrong:
        return None
    answer, seconds = wrong[0]
    case, returned = answer.case, answer.returned
    call = f"step_seconds ({_of(case)})"
    if found := _no_numbers(call, returned, 1):
        return found
    hint = next(
        (f"{mistake}." for mistake, formula in mistakes.items() if all(_is(formula, each) for each, _ in wrong)), ""
    )
    return Finding(seen=f"{call} returns {_seconds(returned.numbers[0])}", expected=_seconds(seconds), hint=hint)


def _is(formula: Formula, answer: StepAnswer) -> bool:
    """Return whether an answer is what a formula gives."""
    return len(answer.returned.numbers) == 1 and _near(answer.returned.numbers[0], formula(answer.case), EXACT)


def _right(answer: StepAnswer, right: StepAnswer) -> bool:
    return _near(answer.returned.numbers[0], right.returned.numbers[0], EXACT)


def _steps(runs: PredictionRuns) -> list[StepAnswer]:
    return on_hosts.of(runs, NETWORK).facts.steps


def _of(case: StepCase) -> str:
    """Return a case in words."""
    computing = f", compute {_seconds(case.compute)}, overlap {case.overlap:g}" if case.compute else ""
    return (
        f"{counted(case.ranks, 'rank')}, {_bytes(case.gradient_bytes)}, alpha {_seconds(case.alpha)}, "
        f"{8e-6 / case.beta:g} Mbit/s, {case.algorithm}{computing}"
    )


@part.check(
    22,
    points=3,
    clusters=(NETWORK,),
    asks=("The seconds of an allreduce over a ring",),
    look_at=("step_seconds",),
    hint="Seconds = messages one after another · (alpha + beta · bytes of a message).",
)
def ring(runs: PredictionRuns, expected: PredictionRuns, source: Source) -> Finding | None:
    """Without computation, a step takes the seconds of an allreduce over a ring."""
    return _compare(runs, expected, lambda case: case.algorithm == "ring" and not case.compute, RING)


@part.check(
    22,
    points=2,
    asks=("by gather and broadcast, by a tree, and by recursive doubling",),
    look_at=("step_seconds",),
    hint="The table in the lesson has the messages of each algorithm. Each of these sends the whole array.",
)
def algorithms(runs: PredictionRuns, expected: PredictionRuns, source: Source) -> Finding | None:
    """The seconds of the other algorithms are right."""
    return _compare(runs, expected, lambda case: case.algorithm != "ring", LEVELS)


@part.check(
    22,
    points=2,
    asks=("computation, and the part of the communication that it does not hide",),
    look_at=("step_seconds",),
    needs=(ring,),
    hint="Communication can run during overlap · compute seconds. What is left, if anything, comes on top.",
)
def overlap(runs: PredictionRuns, expected: PredictionRuns, source: Source) -> Finding | None:
    """A step takes its computation, and the communication that is not hidden."""
    return _compare(runs, expected, lambda case: case.compute > 0, OVERLAP)


@part.check(
    22,
    points=2,
    asks=("alpha and beta from measured allreduces over a ring",),
    look_at=("fit",),
    hint="seconds = messages · alpha + bytes one after another · beta: one row of np.linalg.lstsq per measurement.",
)
def fitting(runs: PredictionRuns, expected: PredictionRuns, source: Source) -> Finding | None:
    """`fit` finds the latency and the seconds per byte of a network."""
    fits = on_hosts.of(runs, NETWORK).facts.fits
    if len(fits) < len(on_hosts.of(expected, NETWORK).facts.fits):
        return Untold(seen="fit was not called for all networks")
    for answer in fits:
        call = f"fit ({answer.measured} allreduces without noise, alpha {_seconds(answer.alpha)})"
        if found := _no_numbers(call, answer.returned, 2):
            return found
        if found := _other_network(call, answer):
            return found
    return None


def _other_network(call: str, answer: FitAnswer) -> Finding | None:
    """Return which of alpha and beta is wrong, if one is."""
    alpha, beta = answer.returned.numbers
    if not _near(beta, answer.beta, FITTED):
        hint = "That is the number of bytes per second." if _near(beta, 1 / answer.beta, FITTED) else ""
        return Finding(seen=f"{call}: beta is {beta:.4g}", expected=f"{answer.beta:.4g} s per byte", hint=hint)
    if not _near(alpha, answer.alpha, FITTED):
        twice = _near(alpha, 2 * answer.alpha, FITTED)
        hint = "An allreduce on two ranks has two messages one after another." if twice else ""
        return Finding(seen=f"{call}: alpha is {_seconds(alpha)}", expected=_seconds(answer.alpha), hint=hint)
    return None


@part.check(
    22,
    points=1,
    asks=("within 15% of a step that is measured",),
    look_at=("fit", "step_seconds"),
    needs=(overlap, fitting),
    hint="Measurements have noise: the fit must not follow a single one, and small arrays have to count, too.",
)
def network(runs: PredictionRuns, expected: PredictionRuns, source: Source) -> Finding | None:
    """The prediction for a network that the lesson does not use is within 15% of a measured step."""
    seen = on_hosts.of(runs, NETWORK).facts.network
    if seen is None:
        return Untold(seen="no step was predicted")
    where = f"{seen.ranks} hosts, {seen.rate}"
    if found := _no_numbers(f"fit (measured allreduces, {seen.rate})", seen.fitted, 2):
        return found
    if found := _no_numbers(f"step_seconds ({where})", seen.predicted, 1):
        return found
    noise = abs(seen.model - seen.measured)  # by which the course's own model is wrong here
    predicted = seen.predicted.numbers[0]
    if abs(predicted - seen.measured) <= MEASURED * seen.measured + noise:
        return None
    return Finding(
        seen=f"The step that is predicted from measured allreduces takes {_seconds(predicted)} ({where})",
        expected=f"{_seconds(seen.measured)}, as measured; the course's model predicts {_seconds(seen.model)}",
    )
