"""Whose a downloaded file is: by the names that learning platforms give to files, and by the roster."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from grader.classroom.archives import ARCHIVE, Where

# How platforms name what a class handed in. A folder of a learner's files has no rest; the names of single files begin
# with the learner's, and end with the file's own. A user is known to the roster; a number is not, and tells two
# learners of one name apart.
PLATFORMS = [
    re.compile(pattern)
    for pattern in (
        r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_file(_(?P<rest>.*))?",  # Moodle
        r"(?P<name>[^_]+)_(LATE_)?(?P<user>\d+)_\d+_(?P<rest>.+)",  # Canvas
        r".+_(?P<user>[^_]+)_attempt_(?P<time>\d{4}(-\d\d){5})_(?P<rest>.+)",  # Blackboard
        r"(?P<number>\d+)-\d+ - (?P<name>.+) - (?P<time>\w+ \d+, \d{4} \d+ [AP]M)",  # Brightspace
        r"(?P<name>[^(),]+,[^()]+)\((?P<user>[^()]+)\)",  # Sakai
    )
]
COPY = re.compile(r"( ?\(\d+\)|[ -]\d+|[ _-]+(copy|kopie))$", re.IGNORECASE)  # what browsers and Canvas add to a name
LEARNER = re.compile(r"[^\W_][\w.@-]*")  # the id of a learner, which becomes a folder


def plain(name: str) -> str:
    """Return a file's name in small letters and without what a copy's name has: Step_03 (1).ipynb is step_03.ipynb."""
    stem, dot, suffix = name.rpartition(".")
    while stem and (found := COPY.search(stem)) and found.start():
        stem = stem[: found.start()]
    return f"{stem}{dot}{suffix}".lower()


def _letters(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())


class Roster:
    """The learners whom the gradebook knows, by all of their names."""

    def __init__(self, students: Iterable = ()):
        """Take nbgrader's students, which have an id and may have names, an address and a number in a platform."""
        self.ids: set[str] = set()
        self._named: dict[str, set[str]] = {}
        for student in students:
            first, last, email = (getattr(student, of) or "" for of in ("first_name", "last_name", "email"))
            numbers = student.lms_user_id or ""
            self.ids.add(student.id)
            for name in (student.id, f"{first}{last}", f"{last}{first}", email, email.partition("@")[0], numbers):
                if _letters(name):
                    self._named.setdefault(_letters(name), set()).add(student.id)

    def ids_of(self, *names: str | None) -> set[str]:
        """Return the ids of all learners with one of these names; small letters, capitals, blanks and dots are one."""
        return set().union(*(self._named.get(_letters(name), set()) for name in names if name))


@dataclass(frozen=True)
class Owner:
    """The learner whose a file is."""

    names: tuple[str, ...]  # the best one first: a platform's name of the user, the learner's own name
    rest: Where  # the names on the way to the file below what is the learner's
    number: str = ""  # tells two learners with the same names apart
    time: str = ""  # of the attempt, if the platform says it

    def id(self, roster: Roster) -> str | None:
        """Return the learner's id; None if there is no name, or several learners have it, or it can be no id."""
        ids = roster.ids_of(*self.names)
        made = re.sub(r"[^\w.@-]+", "-", "".join(self.names[-1:])).strip("-_.")
        if len(ids) > 1 or (not ids and not LEARNER.fullmatch(made)):
            return None
        return ids.pop() if ids else made


def by_platform(where: Where, at: int) -> Owner | None:
    """Return the owner of a file if the name at this place is as a platform makes it."""
    for platform in PLATFORMS:
        found = platform.fullmatch(where[at])
        if found:
            named = {"user": "", "name": "", "number": "", "time": "", "rest": "", **found.groupdict(default="")}
            rest = (named["rest"],) if named["rest"] else ()
            names = tuple(name for name in (named["user"], named["name"]) if name)
            return Owner(names, (*rest, *where[at + 1 :]), named["number"], named["time"])
    return None


def by_roster(where: Where, at: int, roster: Roster) -> Owner | None:
    """Return the owner of a file if the folder or archive at this place has a name of the roster."""
    stem = stem_of(where[at])
    return Owner((stem,), where[at + 1 :]) if roster.ids_of(stem) and at + 1 < len(where) else None


def by_download(where: Where, wanted: Iterable[str], roster: Roster) -> Owner | None:
    """Return the owner of a file by the name of its download: alice.zip, alice_anything.zip or alice_step_03.ipynb."""
    if len(where) == 1:
        name = plain(where[0])
        for each in wanted:
            if name.endswith(f"_{each}"):
                return Owner((where[0][: len(name) - len(each) - 1],), (each,))
        return None
    stem = stem_of(where[0])
    ends = [place for place, letter in enumerate(stem) if letter == "_"]
    beginnings = [stem, *(stem[:end] for end in reversed(ends))]
    known = next((name for name in beginnings if roster.ids_of(name)), beginnings[-1])
    return Owner((known,), where[1:])


def stem_of(name: str) -> str:
    """Return the name of a folder or an archive without the archive's suffix and the (1) that a browser adds."""
    return re.sub(r" ?\(\d+\)$", "", ARCHIVE.sub("", name))
