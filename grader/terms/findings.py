"""What a check finds: that a script lacks something, or that this cannot be seen. One place makes the sentences."""

from collections.abc import Sequence

from msgspec import Struct


class Finding(Struct, kw_only=True):
    """A script lacks what a step asks for.

    The message has what was seen, what was expected, and what to look at, in this order.
    """

    seen: str  # one or more sentences; the last one without its full stop
    expected: str  # what follows "Expected: ", without a full stop
    hint: str = ""  # whole sentences, beyond the hint of the check
    line: int | None = None  # of the script, where it is not the one that the check looks at
    explains: bool = False  # why the program does not run to completion, too

    @property
    def message(self) -> str:
        """All of it, as a learner reads it."""
        expected = _ended(f"Expected: {self.expected}") if self.expected else ""
        return " ".join(filter(None, (_ended(self.seen), expected, self.hint)))


class Untold(Finding):
    """The program does not get far enough to show what a step asks for."""

    expected: str = ""

    @property
    def message(self) -> str:
        """What is in the way."""
        return f"Not checked: {super().message}"


class Unclear(Finding):
    """What the host saw contradicts what ranks report, or the facts are unclear: a person has to look."""

    expected: str = ""

    @property
    def message(self) -> str:
        """What is unclear."""
        return f"Needs manual review: {super().message}"


def seen_and_expected(message: str) -> tuple[str, str]:
    """Return what a Finding with this message says was seen, and what was expected; "" where it does not say that."""
    seen, _, expected = message.removesuffix(".").partition(". Expected: ")
    return seen, expected


def not_until(what: str) -> str:
    """Return the message of a check that is not judged before something else passes."""
    return f"Not checked until {_ended(what)}"


def counted(number: int, thing: str) -> str:
    """Return a number with what it counts."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def listed(things: Sequence[object]) -> str:
    """Return things in a row: 1, 2 and 3."""
    words = [str(thing) for thing in things]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _ended(sentence: str) -> str:
    """Return a sentence with its full stop."""
    return sentence if sentence.endswith((".", "!", "?", "…", ":")) else f"{sentence}."
