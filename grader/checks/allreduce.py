"""The part of allreduce.py, step 21: a function that sums an array over all ranks, around a ring.

What it sends is compared with what the solution's function sends, in the same cases. Open MPI counts both: see
grader.watchers.allreduce_rank.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Sequence

from grader.checks import ending, on_hosts
from grader.checks.part import Part
from grader.reading import parsing
from grader.reading.parsing import Source
from grader.terms.findings import Finding, Untold, counted, listed
from grader.terms.report import Outcome
from grader.terms.runs import AllreduceRank, AllreduceRuns
from grader.terms.watched_facts import AllreduceFacts, Attempt, Case

RANKS = on_hosts.cluster("allreduce_watcher", "ranks", "1 to 5 ranks", 1, reserved=False)

LARGE = 1_000_000  # bytes, from which on a share of them is compared: a pickled array has some more than its elements
TOLERANCE = 0.02
BYTES = {"float32": 4, "float64": 8, "": 0}
RETURNS = "the function returns on all ranks"
SENDS = "send", "ssend", "rsend"
# Calls of mpi4py in which a rank waits for others, in small letters: its methods for arrays begin with a capital.
WAITS = (*SENDS, "recv", "sendrecv", "sendrecv_replace", "wait", "waitall", "waitany", "probe", "mprobe", "barrier")
SEND_FIRST = (
    "Send may return only once the receiver calls Recv, and does so for large arrays. If all ranks call Send first, "
    "none receives. Use Sendrecv, or Isend and then Wait."
)
UNSENT = "They wait for messages that no rank has sent: compare the ranks and the number of messages of both sides."
WORLD = "MPI.COMM_WORLD may have other ranks than comm: use comm."
POINT_TO_POINT = (
    "Open MPI counts neither messages inside of its collectives, such as comm.Allreduce, nor persistent requests, such "
    "as comm.Send_init. Use Sendrecv, Send and Recv, or Isend and Irecv."
)


def _ended(runs: AllreduceRuns, step: int, seconds: float, script: str) -> Outcome:
    """Return the outcome of how the function ended, in all cases together."""
    found = _failure(on_hosts.of(runs, RANKS), parsing.read(script))
    if found is None:
        return ending.outcome("passed", step, "Correct.")
    return ending.outcome("failed", step, found.message, found.line)


def _failure(ran: AllreduceRank, source: Source) -> Finding | None:
    """Return why the function did not return in all cases, if so."""
    if ran.ended_for == "output":
        return Finding(seen="The function prints endlessly", expected="it returns the sum")
    failed = next((attempt for attempt in ran.facts.attempts if attempt.error), None)
    if failed:
        where = _where(failed) if failed.case.kind else f"Rank {failed.rank}"
        hint = WORLD if source.mentions("COMM_WORLD") else ""
        line = ran.error_line or source.line_of("allreduce")
        return Finding(seen=f"{where} fails: {ran.error}", expected=RETURNS, hint=hint, line=line)
    waiting = [attempt for attempt in ran.facts.attempts if not attempt.ended]
    if ran.ended_for and waiting:
        return _hang([each for each in ran.facts.attempts if each.case == waiting[-1].case], source)
    if ran.ended_for:
        return Finding(
            seen="The ranks do not end", expected="the file defines a function, and no more runs when it is imported"
        )
    if ran.exit or waiting:
        where = f"{_where(waiting[-1])}: " if waiting else ""
        return Finding(
            seen=f"{where}the job ends with status {ran.exit}",
            expected=RETURNS,
            hint=on_hosts.printed(ran.stdout),
        )
    return None


def _hang(attempts: Sequence[Attempt], source: Source) -> Finding:
    """Return who waits where, in a case that does not end."""
    by_line = defaultdict[int | None, list[int]](list)
    for attempt in attempts:
        if not attempt.ended:
            by_line[attempt.line].append(attempt.rank)
    calls = {line: _call(source, line) for line in by_line}
    places = [f"{_ranks(ranks)} {_waits(calls[line], line, len(ranks))}" for line, ranks in by_line.items()]
    done = [attempt.rank for attempt in attempts if attempt.ended]
    if done:
        places.append(f"{_ranks(done)} {'has' if len(done) == 1 else 'have'} returned")
    names = {call.lower() for call in calls.values()}
    hint = UNSENT if any(names) else "Look for a loop that never ends."
    if names <= set(SENDS):
        hint = SEND_FIRST
    if source.mentions("COMM_WORLD"):
        hint = WORLD
    what = "Deadlock" if any(names) else "The function does not end"
    return Finding(
        seen=f"{what} ({_of(attempts[0].case)}): {'; '.join(places)}",
        expected="each rank receives what another one sends, and the function returns",
        hint=hint,
        line=next((line for line in by_line if line), None),
    )


def _call(source: Source, line: int | None) -> str:
    """Return the name of the call of mpi4py on a line, in which a rank waits; "" if there is none."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and node.lineno <= (line or 0) <= (node.end_lineno or 0):
            name = getattr(node.func, "attr", "")
            if name.lower() in WAITS:
                return str(name)
    return ""


def _waits(call: str, line: int | None, number: int) -> str:
    verb = f"wait{'s' if number == 1 else ''} in {call}" if call else f"{'is' if number == 1 else 'are'} still"
    return f"{verb} on line {line}" if line else f"{verb} at work"


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {listed(ranks)}"


def _of(case: Case) -> str:
    """Return a case in words."""
    size = case.length * BYTES[case.kind]
    what = f"{size / 1e6:.1f} MB" if size > LARGE else counted(case.length, "element")
    out = {"new": "", "array": ", out=array", "other": ", another array as out"}[case.into]
    return f"{counted(case.ranks, 'rank')}, {what} of {case.kind}{out}"


def _where(attempt: Attempt) -> str:
    return f"Rank {attempt.rank} ({_of(attempt.case)})"


part = Part("allreduce.py", AllreduceFacts, read=parsing.read, ended=_ended)


def _compare(
    runs: AllreduceRuns,
    expected: AllreduceRuns,
    chosen: Callable[[Case], bool],
    wrong: Callable[[Attempt, Attempt], Finding | None],
) -> Finding | None:
    """Return what is wrong in the first of these cases in which something is.

    Args:
        runs: of the function.
        expected: of the solution's.
        chosen: whether a case is one of them.
        wrong: says what is wrong with a rank's attempt, next to the solution's.
    """
    own = {(each.case, each.rank): each for each in on_hosts.of(runs, RANKS).facts.attempts if each.ended}
    missing = None
    for right in on_hosts.of(expected, RANKS).facts.attempts:
        if not chosen(right.case):
            continue
        attempt = own.get((right.case, right.rank))
        if attempt is None:
            missing = missing or Untold(seen=f"{_where(right)} does not get to the end")
        elif found := wrong(attempt, right):
            return found
    return missing


def _is_even(case: Case) -> bool:
    """Whether all ranks have chunks of the same size."""
    return case.length >= case.ranks and case.length % case.ranks == 0


def _other_sum(attempt: Attempt, right: Attempt) -> Finding | None:
    """Return what a rank returns in place of the sum, if it does."""
    case = attempt.case
    if attempt.returned:
        an_array = f"an array of {case.kind} with the shape ({case.length},)"
        return Finding(seen=f"{_where(attempt)}: allreduce returns {attempt.returned}", expected=an_array)
    if attempt.first is None:
        return None
    last = attempt.last or 0
    which = f"element {last} is" if last == attempt.first else f"elements {attempt.first} to {last} are"
    more = attempt.wrong - (last - attempt.first + 1)
    rest = f"; {counted(more, 'other element')} {'is' if more == 1 else 'are'} wrong, too" if more > 0 else ""
    each = "the only rank" if case.ranks == 1 else _ranks(range(case.ranks))
    return Finding(seen=f"{_where(attempt)}: {which} {_content(attempt.times)}{rest}", expected=f"the sum over {each}")


def _content(times: Sequence[int]) -> str:
    """Return what elements are made of, by how often each rank's value is in them."""
    if not times:
        return "no sum of the ranks' values"
    often = {1: "", 2: "twice "}
    found = [f"{often.get(number, f'{number} times ')}rank {rank}'s" for rank, number in enumerate(times) if number]
    if not found:
        return "zero"
    return f"{found[0]} values only" if len(found) == 1 else f"the sum of {listed(found)} values"


@part.check(
    21,
    points=3,
    clusters=(RANKS,),
    asks=("Return the sum over all ranks, on each rank",),
    look_at=("allreduce",),
    hint="In which chunk does a rank add, and which one does it send next? It is the one that it has just added to.",
)
def sums(runs: AllreduceRuns, expected: AllreduceRuns, source: Source) -> Finding | None:
    """Each rank gets the sum of all ranks' arrays."""
    return _compare(runs, expected, lambda case: case.into == "new" and _is_even(case), _other_sum)


@part.check(
    21,
    points=2,
    asks=("also for a length that is not divisible by the number of ranks, or smaller, or 0",),
    look_at=("array_split", "allreduce"),
    needs=(sums,),
    hint="np.array_split cuts an array into chunks of which some may have an element more, or none.",
)
def lengths(runs: AllreduceRuns, expected: AllreduceRuns, source: Source) -> Finding | None:
    """The sum is right for an array of any length."""
    return _compare(runs, expected, lambda case: case.into == "new" and not _is_even(case), _other_sum)


@part.check(
    21,
    points=1,
    asks=("Put the sum into `out`, if it is given: it may be `array` itself. Otherwise, leave `array` as it is",),
    look_at=("out", "allreduce"),
    needs=(sums,),
    hint="`out[:] = …` and `out += …` change the array; `out = …` only gives the name to another one.",
)
def in_place(runs: AllreduceRuns, expected: AllreduceRuns, source: Source) -> Finding | None:
    """The sum is in `out`, which may be `array` itself; otherwise `array` stays as it is."""

    def wrong(attempt: Attempt, right: Attempt) -> Finding | None:
        if attempt.changed:
            return Finding(seen=f"{_where(attempt)}: `array` is changed", expected="it has the elements of before")
        if attempt.case.into == "new":
            return None
        if attempt.elsewhere:
            seen = f"{_where(attempt)}: `out` has other elements than the array that is returned"
            return Finding(seen=seen, expected="`out` has the sum, and is returned")
        return _other_sum(attempt, right)

    return _compare(runs, expected, lambda case: True, wrong)


@part.check(
    21,
    points=2,
    asks=("Send 2(N - 1) messages on each of N ranks",),
    look_at=("Sendrecv", "sendrecv", "Isend", "isend", "Send", "send", "allreduce"),
    needs=(sums,),
    hint="A chunk is one message. N - 1 of them are for the reduce-scatter, and N - 1 for the allgather.",
)
def messages(runs: AllreduceRuns, expected: AllreduceRuns, source: Source) -> Finding | None:
    """Each of N ranks sends 2(N - 1) messages."""

    def wrong(attempt: Attempt, right: Attempt) -> Finding | None:
        empty = attempt.case.length < attempt.case.ranks  # a chunk without elements need not be sent
        if attempt.messages == right.messages or (empty and attempt.messages < right.messages):
            return None
        return Finding(
            seen=f"{_where(attempt)} sends {counted(attempt.messages, 'message')}, as Open MPI counts",
            expected=f"{right.messages}, which is 2(N - 1)",
            hint="" if attempt.messages else POINT_TO_POINT,
        )

    return _compare(runs, expected, lambda case: True, wrong)


@part.check(
    21,
    points=2,
    asks=("with 2(N - 1)/N of the array's bytes in them",),
    look_at=("array_split", "Sendrecv", "sendrecv", "Isend", "isend", "Send", "send", "allreduce"),
    needs=(sums,),
    hint="Each message is one chunk: an N-th of the array, in the array's own type.",
)
def traffic(runs: AllreduceRuns, expected: AllreduceRuns, source: Source) -> Finding | None:
    """Each of N ranks sends 2(N - 1)/N of the array's bytes."""

    def wrong(attempt: Attempt, right: Attempt) -> Finding | None:
        if right.bytes < LARGE or abs(attempt.bytes - right.bytes) <= TOLERANCE * right.bytes:
            return None
        return Finding(
            seen=f"{_where(attempt)} sends {attempt.bytes / 1e6:.1f} MB, as Open MPI counts",
            expected=f"{right.bytes / 1e6:.1f} MB, which is 2(N - 1)/N of the array",
        )

    return _compare(runs, expected, lambda case: True, wrong)
