"""Judge every mutant of the solutions: does the judge fail each one that is not equivalent to its solution?

All of them take some hours. Verdicts are kept in benchmarks/turns/, by mutant and judge, so that a run that was
interrupted continues where it stopped.
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.mutants import GRADED
from benchmarks.mutants.equivalents import EQUIVALENTS
from benchmarks.verdicts import JOBS, TURNS
from course import steps
from grader.classroom import verdicts
from grader.mutants import Mutant, of

# What may become of a mutant. The last three are faults: of the judge, or of the list of equivalents. So are entries of
# this list that name no mutant any more.
KILLED, EQUIVALENT, SURVIVED, REFUSED, UNDECIDED = "killed", "equivalent", "survived", "refused", "undecided"
FATES = KILLED, EQUIVALENT, SURVIVED, REFUSED, UNDECIDED
OUTDATED = "outdated"
FAULTS = SURVIVED, REFUSED, UNDECIDED, OUTDATED


def measure(numbers: str = "all") -> dict:
    """Return {"made", "killed", "equivalent", "steps": {number: the same for a step}} and for each fault its mutants.

    "survived" lists mutants that pass and are not known to be equivalent, "refused" those that are equivalent and fail,
    "undecided" those that need a review or could not be judged, "outdated" equivalents that are no mutants.

    Args:
        numbers: the steps whose mutants to judge, such as "1-6".
    """
    mutants = [mutant for step in steps.parse(numbers) if step in GRADED for mutant in of(step)]
    store = verdicts.Store(TURNS / "mutants")

    def judged(mutant: Mutant) -> str:
        return fate(mutant, verdicts.of(mutant.text.encode(), steps.get(mutant.step), store)["report"]["status"])

    with ThreadPoolExecutor(JOBS) as threads:
        fates = list(track(threads.map(judged, mutants), total=len(mutants), description="judging mutants"))
    counts: dict[int, Counter] = {mutant.step: Counter() for mutant in mutants}
    faults: dict[str, list[str]] = {fault: [] for fault in FAULTS}
    for mutant, became in zip(mutants, fates, strict=True):
        counts[mutant.step][became] += 1
        if became in FAULTS:
            faults[became].append(str(mutant))
    made = {mutant.key for mutant in mutants}
    faults[OUTDATED] = [str(key) for key in EQUIVALENTS if key[0] in counts and key not in made]
    _show(counts)
    per_step = {number: {"made": count.total(), **count} for number, count in counts.items()}
    total = sum(counts.values(), Counter())
    return {
        "made": total.total(),
        KILLED: total[KILLED],
        EQUIVALENT: total[EQUIVALENT],
        **faults,
        "steps": per_step,
    }


def fate(mutant: Mutant, status: str) -> str:
    """Return what became of a mutant that got a report with this status."""
    known = mutant.key in EQUIVALENTS
    if status == "passed":
        return EQUIVALENT if known else SURVIVED
    if status == "failed":
        return REFUSED if known else KILLED
    return UNDECIDED


def faultless(result: dict) -> bool:
    """Return whether every mutant is killed or equivalent, and every equivalent is a mutant."""
    return not any(result[fault] for fault in FAULTS)


def _show(counts: dict[int, Counter]) -> None:
    """Print the numbers of each step."""
    table = Table("step", "made", *FATES)
    for step, count in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        table.add_row(*map(str, (step, count.total(), *(count[became] for became in FATES))))
    Console().print(table)
