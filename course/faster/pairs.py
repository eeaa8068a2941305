"""Measurements in pairs, and the logbook of a tuning: each change with its prediction, its pairs and the decision."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from statistics import median

WORTH = 1.05  # times as fast that a change has to be, or it is not worth a line of code


@dataclass(frozen=True)
class Pair:
    """Seconds of the same work before a change and after it, measured one right after the other."""

    before: float
    after: float

    @property
    def ratio(self) -> float:
        """How many times as fast the change makes it."""
        return self.before / self.after


@dataclass(frozen=True)
class Change:
    """A change that was tried."""

    name: str
    guess: float | None  # that was made before: how many times as fast
    pairs: Sequence[Pair]

    @property
    def ratio(self) -> float:
        """How many times as fast the change makes the work: the median of the pairs."""
        return median(pair.ratio for pair in self.pairs)

    @property
    def decision(self) -> str:
        """keep if it is worth it in each pair, drop if it is so in none, and otherwise measure again."""
        worth = [pair.ratio >= WORTH for pair in self.pairs]
        return "keep" if all(worth) else "measure again" if any(worth) else "drop"


class TuningLog:
    """All changes that were tried, in order. A notebook shows it as a table."""

    def __init__(self) -> None:
        """Begin without a line."""
        self.changes: dict[str, Change] = {}

    def add(self, name: str, guess: float | None, pairs: Sequence[Pair]) -> "TuningLog":
        """Add a change, in place of an earlier one of that name, and return the log."""
        self.changes[name] = Change(name, guess, pairs)
        return self

    def _repr_html_(self) -> str:
        """Return the table."""
        names = "change", "predicted", "pairs", "median", "decision"
        head = "".join(f"<th>{name}</th>" for name in names)
        rows = []
        for change in self.changes.values():
            cells = (
                change.name,
                "" if change.guess is None else f"{change.guess:g}",
                ", ".join(f"{pair.ratio:.2f}" for pair in change.pairs),
                f"{change.ratio:.2f}",
                change.decision,
            )
            rows.append(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
        return (
            "<p><b>Your logbook</b>: how many times as fast each change is</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        )

    def __repr__(self) -> str:
        """Return a line per change, for places without HTML."""
        return "\n".join(f"{each.name}: {each.ratio:.2f}, {each.decision}" for each in self.changes.values())
