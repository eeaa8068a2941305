"""What a check finds: that a script lacks something, or that this cannot be seen. One place makes the sentences."""

from msgspec import Struct


class Finding(Struct, kw_only=True):
    """A script lacks what a step asks for.

    The message has what was seen, what was expected, and what to look at, in this order.
    """

    seen: str  # one or more sentences, without the last full stop
    expected: str = ""  # what follows "Expected: ", without a full stop
    hint: str = ""  # one or more whole sentences
    line: int | None = None  # of the script
    explains: bool = False  # why the program does not run to completion, too

    @property
    def message(self) -> str:
        """All of it, as a learner reads it."""
        expected = f"Expected: {_ended(self.expected)}" if self.expected else ""
        return " ".join(part for part in (_ended(self.seen), expected, self.hint) if part)


class Untold(Finding):
    """The program does not get far enough to show what a step asks for."""

    @property
    def message(self) -> str:
        """What is in the way."""
        return f"Not checked: {super().message}"


class Unclear(Finding):
    """What the host saw contradicts what ranks report, or the facts are unclear: a person has to look."""

    @property
    def message(self) -> str:
        """What is unclear."""
        return f"Needs manual review: {super().message}"


def _ended(sentence: str) -> str:
    """Return a sentence with its full stop."""
    return sentence if sentence.endswith((".", "!", "?", "…", "”", ":")) or "\n" in sentence else f"{sentence}."
