"""What GitHub's runner makes of the lines that a job prints: the commands that it follows.

It follows two forms: `::name key=value,…::message` at the beginning of a line, and `##[name key=value;…]message`
anywhere in it. After stop-commands it follows none until its token comes.
"""

import re
from dataclasses import dataclass

NAMES = {"error", "warning", "notice", "debug", "group", "endgroup", "add-mask", "set-output", "save-state", "set-env"}
ESCAPES = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}  # the last one last
IN_MESSAGES = ("%0D", "%0A", "%25")
NEW_FORM = re.compile(r"\s*::(\S+?)(?: (.*?))?::(.*)", re.DOTALL)
OLD_FORM = re.compile(r".*?##\[(\S+?)(?: (.*?))?\](.*)", re.DOTALL)


@dataclass
class Command:
    """A command that the runner follows."""

    name: str
    properties: dict[str, str]
    message: str


def followed(output: str) -> list[Command]:
    """Return the commands in the output of a job, in their order."""
    found, token = [], None
    for line in re.split("\r\n|\r|\n", output):
        if token is not None:
            token = None if line.strip() == f"::{token}::" else token
            continue
        command = _parsed(line, NEW_FORM, ",", tuple(ESCAPES)) or _parsed(line, OLD_FORM, ";", IN_MESSAGES)
        if command and command.name == "stop-commands":
            token = command.message
        elif command:
            found.append(command)
    return found


def _parsed(line: str, form: re.Pattern[str], separator: str, escapes: tuple[str, ...]) -> Command | None:
    match = form.fullmatch(line)
    if not match or match[1] not in {*NAMES, "stop-commands"}:
        return None
    pairs = (pair.partition("=") for pair in (match[2] or "").split(separator) if pair)
    properties = {key: _plain(value, escapes) for key, _, value in pairs}
    return Command(match[1], properties, _plain(match[3], IN_MESSAGES))


def _plain(text: str, escapes: tuple[str, ...]) -> str:
    for escape in escapes:
        text = text.replace(escape, ESCAPES[escape])
    return text
