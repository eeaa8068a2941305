"""What zip_collect takes out of downloads: whose each file is, and which of several counts."""

import io
import os
import re
import tarfile
import zipfile
from types import SimpleNamespace

import pytest

from course.steps import get
from grader.classroom import downloads
from grader.classroom.learners import Roster
from tests.school import School

STEP = get(3)
LESSON, SCRIPT = f"{STEP.name}.ipynb", STEP.script


def student(name, first="", last="", email="", number=""):
    """Return a learner as nbgrader's gradebook has them."""
    return SimpleNamespace(id=name, first_name=first, last_name=last, email=email, lms_user_id=number)


def zipped(files):
    """Return a zip archive of these files, by their names in it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


@pytest.fixture
def collect(tmp_path):
    """Return a function that collects from files in a folder of downloads, for learners of a roster."""
    folder = tmp_path / STEP.name / "archive"
    folder.mkdir(parents=True)

    def collected(files, students=()):
        for age, (name, content) in enumerate(files.items()):  # those named first are the newest
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(zipped(content) if isinstance(content, dict) else content)
            os.utime(path, (1000 - age, 1000 - age))
        lines = downloads.take(folder, tmp_path / "extracted", Roster(students))
        taken = {f"{path.parent.name}/{path.name}": path.read_bytes() for path in (tmp_path / "extracted").glob("*/*")}
        assert all(re.match(downloads.NAMES, f"{tmp_path}/extracted/{path}") for path in taken)
        return taken, "\n".join(lines)

    return collected


OF_A = f"a/{SCRIPT}"
ONE = {  # downloads of which one script is a's
    "all lessons": {"a.zip": {f"step_01/{SCRIPT}": b"1", f"step_03/{SCRIPT}": b"a", f"step_03/{LESSON}": b"{}"}},
    "all lessons, no notebook": {"a.zip": {f"n/step_01/{SCRIPT}": b"1", f"n/step_03/{SCRIPT}": b"a"}},
    "a backup": {"a.zip": {f"backup/{SCRIPT}": b"old", SCRIPT: b"a", LESSON: b"{}"}},
    "made by .NET": {"a.zip": {f"step_03\\{SCRIPT}": b"a", f"step_03\\{LESSON}": b"{}"}},
    "a zip in a zip": {"a.zip": {"step_03.zip": zipped({SCRIPT: b"a"})}},
    "capital letters": {"a.ZIP": {SCRIPT.upper(): b"a"}},
    "Canvas's number": {"a.zip": {"fashion_mnist-1.py": b"a"}},
    "a browser's number": {"a (1).zip": {"fashion_mnist (2).py": b"a"}},
    "macOS's files": {"a.zip": {f"__MACOSX/._{SCRIPT}": b"x", f".ipynb_checkpoints/{SCRIPT}": b"x", SCRIPT: b"a"}},
    "a folder": {f"a/step_03/{SCRIPT}": b"a"},
    "two files": {f"a_{SCRIPT}": b"a", f"a_{LESSON}": b"{}"},
    "two copies alike": {"a.zip": {SCRIPT: b"a", f"copy/{SCRIPT}": b"a"}},
    "the newest": {"a_again.zip": {SCRIPT: b"a"}, "a.zip": {SCRIPT: b"old"}},
    "next to archives": {f"a_{SCRIPT}": b"a", "a.zip": {SCRIPT: b"x", f"b/{SCRIPT}": b"y"}},
}


@pytest.mark.parametrize("files", ONE.values(), ids=ONE)
def test_the_script_that_is_meant_is_taken(files, collect):
    taken, _ = collect(files)
    assert taken[OF_A] == b"a" and {name for name in taken if name.endswith(".py")} == {OF_A}


def test_a_tar_archive_is_unpacked(collect, tmp_path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in (SCRIPT, "notes.txt"):
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, io.BytesIO(b"a"))
    taken, lines = collect({"a.tar.gz": packed.getvalue()})
    assert taken == {OF_A: b"a"} and "notes.txt" in lines


TWO = {
    "in two folders": {f"one/{SCRIPT}": b"1", f"two/{SCRIPT}": b"2"},
    "two downloads next to the lesson": {SCRIPT: b"1", "fashion_mnist (1).py": b"2", LESSON: b"{}"},
    "of two members of one name": [(SCRIPT, b"1"), (SCRIPT, b"2")],
}


@pytest.mark.parametrize("files", TWO.values(), ids=TWO)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_candidates_are_a_question(files, collect):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items() if isinstance(files, dict) else files:
            archive.writestr(name, content)
    taken, lines = collect({"a.zip": packed.getvalue()})
    assert OF_A not in taken and f"a_{SCRIPT}" in lines
    taken, lines = collect({f"a_{SCRIPT}": b"2", "a.zip": packed.getvalue()})
    assert taken[OF_A] == b"2", "the instructor's answer"


def test_another_step_s_script_is_not_taken(collect):
    taken, lines = collect({"a.zip": {SCRIPT: b"1", "step_01.ipynb": b"{}"}, "b.zip": {f"step_05/{SCRIPT}": b"5"}})
    assert taken == {} and f"a.zip/{SCRIPT}" in lines and f"b.zip/step_05/{SCRIPT}" in lines


CLASSES = {
    "Moodle": ("Nora Quist_12_assignsubmission_file_/", "Ömer Şen_13_assignsubmission_file/step_03/"),
    "Moodle, without folders": ("Nora Quist_12_assignsubmission_file_", "Ömer Şen_13_assignsubmission_file_"),
    "Canvas": ("questnora_LATE_12_345_", "şenömer_13_346_"),
    "Blackboard": (
        "Step_03_nora_attempt_2026-11-01-12-00-00_",
        "Step_03_oe.s_attempt_2026-11-02-12-00-00_",
    ),
    "Brightspace": ("12-9 - Nora Quist - Nov 28, 2026 1123 PM/", "13-9 - Ömer Şen - Nov 28, 2026 1124 PM/"),
    "Sakai": ("Quist, Nora(nora)/Submission attachment(s)/", "Şen, Ömer(oe.s)/Submission attachment(s)/"),
}
CLASS = student("nora", "Nora", "Quist", number="12"), student("oe.s", "Ömer", "Şen", number="13"), student("pia")


@pytest.mark.parametrize("around", ["", "a folder/"])
@pytest.mark.parametrize("names", CLASSES.values(), ids=CLASSES)
def test_a_platform_s_archive_is_of_its_learners(names, around, collect):
    content = {f"{around}{names[0]}{SCRIPT}": b"n", f"{around}{names[1]}{SCRIPT}": b"o", f"{around}readme.txt": b""}
    taken, lines = collect({"CS101-step 3-98.zip": content}, CLASS)
    assert taken == {f"nora/{SCRIPT}": b"n", f"oe.s/{SCRIPT}": b"o"}
    assert "readme.txt" in lines and "\n  pia" in lines


def test_without_a_roster_learners_are_called_as_the_platform_calls_them(collect):
    names = (f"Ann Lee_{number}_assignsubmission_file_/{SCRIPT}" for number in (7, 8))
    taken, _ = collect(
        {"class.zip": {**dict.fromkeys(names, b"x"), **dict.fromkeys([f"{CLASSES['Moodle'][0]}{SCRIPT}"], b"n")}}
    )
    assert set(taken) == {f"Ann-Lee-7/{SCRIPT}", f"Ann-Lee-8/{SCRIPT}", f"Nora-Quist/{SCRIPT}"}


def test_folders_with_names_of_the_roster_are_of_these_learners(collect):
    taken, _ = collect({"class.zip": {f"nora/{SCRIPT}": b"n", f"Ömer Şen/{SCRIPT}": b"o"}}, CLASS)
    assert taken == {f"nora/{SCRIPT}": b"n", f"oe.s/{SCRIPT}": b"o"}


def test_a_later_attempt_counts(collect):
    first, later = (f"Step_nora_attempt_2026-11-0{day}-12-00-00_{SCRIPT}" for day in (1, 2))
    taken, lines = collect({"gradebook.zip": {later: b"2", first: b"1"}})
    assert taken == {f"nora/{SCRIPT}": b"2"} and first in lines


AS_CLASS = {f"nora_1_assignsubmission_file_/{SCRIPT}": b"x", f"pia/{SCRIPT}": b"y"}


def test_a_learner_s_own_archive_counts_before_another_one_that_names_them(collect):
    taken, lines = collect({"mallory.zip": AS_CLASS, "nora.zip": {SCRIPT: b"n"}})
    assert taken[f"nora/{SCRIPT}"] == b"n" and "mallory.zip" in lines


def test_an_archive_with_a_name_of_the_roster_is_not_of_a_class(collect):
    taken, _ = collect({"pia.zip": AS_CLASS}, CLASS)
    assert set(taken) <= {f"pia/{SCRIPT}"}


def test_what_cannot_be_read_is_named(collect, tmp_path):
    os.mkfifo(tmp_path / STEP.name / "archive" / f"f_{SCRIPT}")
    (tmp_path / STEP.name / "archive" / f"l_{SCRIPT}").symlink_to("/etc/passwd")
    taken, lines = collect({"a.7z": b"7z", "b.zip": b"PK\x03\x04 broken", "c\x1b.txt": b"", SCRIPT: b"whose?"})
    assert taken == {} and "\x1b" not in lines
    assert all(f"\n  {name}" in lines for name in ("a.7z", "b.zip", "c?.txt", SCRIPT, f"f_{SCRIPT}", f"l_{SCRIPT}"))


@pytest.mark.slow
def test_zip_collect_lists_at_its_end_what_was_not_taken(tmp_path):
    school = School(tmp_path)
    school.run("db", "student", "add", "nora")
    folder = school.course / "downloaded" / STEP.name / "archive"
    folder.mkdir(parents=True)
    (folder / "ben.zip").write_bytes(zipped({SCRIPT: b"b", LESSON: b"{}", "notes.txt": b""}))
    said = school.run("zip_collect", STEP.name).splitlines()
    assert {path.name for path in (school.course / "submitted" / "ben" / STEP.name).iterdir()} == {SCRIPT, LESSON}
    assert "ben.zip/notes.txt" in said[-3] and "nora" in said[-1]
