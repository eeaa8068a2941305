"""What a forging script is: one that lacks what its step asks for, and must not pass."""

from dataclasses import dataclass

from grader.terms.report import Report


@dataclass(frozen=True)
class Forgery:
    """A script that must not pass."""

    name: str
    kind: str  # its class
    step: int  # that it is judged for
    script: str
    in_ci: bool = True  # whether CI judges it, where reading lets it through; scripts/bench judges all

    def __str__(self) -> str:
        """Return its class and name."""
        return f"{self.kind}: {self.name}"

    def text(self) -> str:
        """Return the script."""
        return self.script

    def deserves(self, report: Report) -> bool:
        """Whether this is a correct verdict on it."""
        return report.status in ("failed", "needs_review")
