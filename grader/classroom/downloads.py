"""nbgrader's zip_collect: the notebook and the script of each learner, out of downloads from a learning platform.

Where two files could be meant, none is taken, and the instructor decides. Every file that is not taken is listed at the
end, with the reason.
"""

import re
import shutil
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from course import steps
from course.steps import Step
from grader.classroom import learners
from grader.classroom.archives import Downloads, Found, Left, Where, shown
from grader.classroom.learners import Owner, Roster, plain, stem_of

EXERCISES = [step for step in steps.STEPS if step.has_exercise]
SUFFIXES = [".ipynb", *sorted({Path(step.script).suffix for step in EXERCISES})]
NAMES = rf".*/extracted/(?P<student_id>[^/]+)/(?P<file_id>[^/]+)({'|'.join(map(re.escape, SUFFIXES))})$"
REPORT = "not_taken.txt"  # in the assignment's folder of downloads
EXPLICIT, OF_CLASS = 1, 0  # a download of one learner counts before one of a class


@dataclass
class Attempt:
    """The files of one learner in one download."""

    order: tuple[int, str, float]  # the largest counts: EXPLICIT or OF_CLASS, the platform's time, the download's
    files: list[tuple[PurePosixPath, Found]] = field(default_factory=list)  # with its place below what is theirs


class Collection:
    """What is taken from a folder of downloads for one step, and what is not."""

    def __init__(self, downloads: Downloads, step: Step, roster: Roster):
        """Find out whose each file is, and choose a notebook and a script for each learner."""
        self.step, self.roster = step, roster
        self.wanted = f"{step.name}.ipynb", step.script
        self.taken: dict[str, dict[str, Found | None]] = {}  # by learner and name; None while it is a question
        self.questions: list[str] = []
        self.left = list(downloads.left)
        for learner, attempts in sorted(self._attempts(downloads.files).items()):
            self.taken[learner] = {}
            for attempt in sorted(attempts, key=lambda attempt: attempt.order, reverse=True):
                self._choose(learner, attempt)

    def _attempts(self, files: list[Found]) -> dict[str, list[Attempt]]:
        """Return the attempts of each learner, and leave the files of which the learner is not clear."""
        owners = self._owners(files)
        numbers: dict[str | None, set[str]] = defaultdict(set)  # several: that many learners with one name
        for owner, _ in owners.values():
            numbers[owner.id(self.roster)] |= {owner.number} - {""}
        attempts: dict[str, dict[tuple, Attempt]] = defaultdict(dict)
        for found in files:
            owner, kind = owners.get(found.where, (Owner((), ()), EXPLICIT))
            learner = owner.id(self.roster)
            if learner is None:
                why = f"it is not clear whose it is: name it LEARNER_{plain(found.name)}"
                self.left.append(Left(found.where, why if found.content else "it is not asked for"))
                continue
            if owner.number and len(numbers[learner]) > 1:
                learner = f"{learner}-{owner.number}"
            attempt = Attempt((kind, owner.time, found.downloaded))
            attempt = attempts[learner].setdefault((found.where[0], owner.time), attempt)
            attempt.files.append((PurePosixPath(*owner.rest), found))
        return {learner: list(those.values()) for learner, those in attempts.items()}

    def _owners(self, files: list[Found]) -> dict[Where, tuple[Owner, int]]:
        """Return the owner of each file of which one is named, and how its download shows it."""
        owners: dict[Where, tuple[Owner, int]] = {}
        by_download = defaultdict(list)
        for found in files:
            by_download[found.where[0]].append(found.where)
        for places in by_download.values():
            known = {where: learners.by_download(where, self.wanted, self.roster) for where in places}
            of_class = self._class(places, known)
            if of_class:
                owners |= {where: (owner, OF_CLASS) for where, owner in of_class.items()}
            else:
                owners |= {where: (owner, EXPLICIT) for where, owner in known.items() if owner}
        return owners

    def _class(self, places: list[Where], known: dict[Where, Owner | None]) -> dict[Where, Owner]:
        """Return the owners of a download's files if it is of a class: if a platform or the roster names several."""
        if any(owner and self.roster.ids_of(*owner.names) for owner in known.values()):
            return {}  # the download has a learner's own name, and says nothing about others
        for depth in range(3):  # a class may be in a folder of the download
            there = [where for where in places if len(where) > depth]
            by_platform = {where: learners.by_platform(where, depth) for where in there}
            if any(by_platform.values()):
                return {where: owner for where, owner in by_platform.items() if owner}
            by_roster = {where: learners.by_roster(where, depth, self.roster) for where in there}
            if len({owner.names for owner in by_roster.values() if owner}) > 1:
                return {where: owner for where, owner in by_roster.items() if owner}
        return {}

    def _choose(self, learner: str, attempt: Attempt) -> None:
        """Take from an attempt what none before it has, if it is clear which file is meant."""
        taken = self.taken[learner]
        for at, found in attempt.files:
            if plain(at.name) not in self.wanted:
                self.left.append(Left(found.where, "it is not asked for"))
        for name in self.wanted:
            named = [(at, found) for at, found in attempt.files if plain(at.name) == name]
            meant = self._meant(named, attempt)
            for _, found in named:
                if name in taken:
                    self.left.append(Left(found.where, "another download of this learner is newer, or has their name"))
                elif found not in meant:
                    self.left.append(Left(found.where, f"it is not next to {self.wanted[0]}, or of another step"))
            if meant and name not in taken:
                taken[name] = self._decided(learner, name, meant)

    def _meant(self, named: list[tuple[PurePosixPath, Found]], attempt: Attempt) -> list[Found]:
        """Return which files of a name can be meant: scripts next to the lesson, or in no folder of another step."""
        lessons = {at.parent for at, _ in attempt.files if plain(at.name) == self.wanted[0]}
        near = [found for at, found in named if at.parent in lessons]
        others = {step.name for step in steps.STEPS} - {self.step.name}
        foreign = {at.parent for at, _ in attempt.files if plain(at.name).removesuffix(".ipynb") in others} - lessons
        return near or [
            found
            for at, found in named
            if at.parent not in foreign and not {stem_of(part).lower() for part in at.parts[:-1]} & others
        ]

    def _decided(self, learner: str, name: str, candidates: list[Found]) -> Found | None:
        """Return the one file that is meant; None, with a question to the instructor, if they differ."""
        different = {found.content.read_bytes(): found for found in reversed(candidates) if found.content}
        if len(different) == 1:
            (chosen,) = different.values()
            self.left += [Left(found.where, "it is a copy of what is taken") for found in candidates if found != chosen]
            return chosen
        those = ", ".join(sorted(shown(found.where) for found in different.values()))
        self.questions.append(
            f"Which {name} of {learner} is meant? There are {those}. "
            f"Put the right one next to the downloads, as {learner}_{name}, and collect again with --force."
        )
        return None


def take(folder: Path, target: Path, roster: Roster) -> list[str]:
    """Copy the files that are taken from a folder of downloads to target/LEARNER/.

    Returns:
        lines for the instructor: what is a question, what was not taken and why, and who handed in nothing.
    """
    names = {f"{step.name}.ipynb" for step in EXERCISES} | {step.script for step in EXERCISES}
    ends = tuple(f"_{name}" for name in names)  # a platform puts the learner's name in front
    with Downloads(folder, lambda name: f"_{plain(name)}".endswith(ends)) as found:
        collection = Collection(found, _step(folder, found), roster)
        for learner, files in collection.taken.items():
            for name, file in files.items():
                if file and file.content:
                    (target / learner).mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file.content, target / learner / name)
    return _report(collection)


def _step(folder: Path, found: Downloads) -> Step:
    """Return the step whose downloads these are: nbgrader names the folder; else, the one with most notebooks.

    Raises:
        ValueError: there is none.
    """
    lessons = Counter(plain(file.name).removesuffix(".ipynb") for file in found.files)
    for name in (folder.parent.name, *(name for name, _ in lessons.most_common())):
        if name in (step.name for step in EXERCISES):
            return next(step for step in EXERCISES if step.name == name)
    raise ValueError(f"{folder} is for no step: its parent has to be named like step_03")


def _report(collection: Collection) -> list[str]:
    """Return in lines what the instructor has to know about what was collected."""
    taken = {learner for learner, files in collection.taken.items() if any(files.values())}
    lines = [f"Files of {len(taken)} learners are collected for {collection.step.label}."]
    for title, each in (
        ("Questions, which only you can answer:", collection.questions),
        ("Not taken:", sorted(map(str, collection.left))),
        ("Learners of the roster without a submission:", sorted(collection.roster.ids - taken)),
    ):
        lines += [title, *(f"  {line}" for line in each)] if each else []
    return lines
