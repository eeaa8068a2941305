"""The documents agree with the code: files that they name exist, and what they say of the judge's rooms is so."""

import ast
import importlib
import re
import tomllib

import pytest
import yaml

from course import steps
from course.steps import ROOT
from grader import checks

ARCHITECTURE = ROOT / "docs" / "architecture.md"
FOLDERS = "benchmarks|course|data|docs|grader|notebooks|scripts|solutions|tests|website"
CHANGELOG = ROOT / "CHANGELOG.md"
ELSEWHERE = "AGENTS.md", "CONTRIBUTING.md", "README.md", "benchmarks/README.md", "grader/README.md"
DOCUMENTS = [*sorted((ROOT / "docs").glob("*.md")), *(ROOT / name for name in ELSEWHERE)]
# At most: a page that a reader reads to its end.
LINES = {"AGENTS.md": 80, "README.md": 100, "docs/architecture.md": 120}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_a_document_names_exist(document):
    text = document.read_text()
    named = [ROOT / name for name in re.findall(rf"`((?:{FOLDERS})/[\w./-]*)`", text) if "NN" not in name]
    named += [document.parent / link for link in re.findall(r"\]\((?!https?:)([\w./-]+)", text)]
    assert [path for path in named if not path.exists()] == []


@pytest.mark.parametrize("document", LINES)
def test_a_document_is_short(document):
    assert len((ROOT / document).read_text().splitlines()) <= LINES[document]


def test_a_check_is_followed_in_at_most_nine_files():
    numbers = re.findall(r"^(\d+)\. `grader/", ARCHITECTURE.read_text(), re.M)
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)] and 0 < len(numbers) <= 9


def rows(pattern):
    """Return the groups of a pattern for each row of the tables that it matches."""
    return re.findall(pattern, ARCHITECTURE.read_text(), re.M)


def test_the_rules_of_the_steps_are_where_the_table_says():
    table = rows(r"^\| ((?:drill )?[\db, ]+) \| `(grader/checks/[\w/]+\.py)` \|$")
    told = {
        (steps.number(number.strip()), str(ROOT / path)) for numbers, path in table for number in numbers.split(",")
    }
    files = {(check.step.number, importlib.import_module(check.judge.__module__).__file__) for check in checks.CHECKS}
    assert told == files


def imported_rooms(room):
    """Return the rooms of the judge that a room's modules import, at any depth."""
    found = set()
    for path in room.rglob("*.py") if room.is_dir() else [room]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {name.split(".")[1] for name in names if name.startswith("grader.")}
    return found - {room.stem}


def test_rooms_import_what_the_table_says():
    table = rows(r"^\| `grader/([\w.]+)/?` \| [^|`]+ \|((?: `\w+`,?)*) \|$")
    for room, imports in table:
        assert imported_rooms(ROOT / "grader" / room) == set(re.findall(r"\w+", imports)), room
    rooms = {path.name for path in (ROOT / "grader").iterdir() if path.is_dir() and list(path.glob("*.py"))}
    assert rooms <= {room for room, _ in table}


def test_a_citation_names_this_version_and_licence():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (cited["version"], cited["license"]) == (project["version"], project["license"])
    assert cited["title"] == project["description"] and cited["authors"] and cited["message"]


def test_the_newest_changes_are_those_of_the_version():
    versions = re.findall(r"^## (.+)$", CHANGELOG.read_text(), re.M)
    assert versions[0] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    locked = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    assert versions[0] == next(each["version"] for each in locked if each["name"] == "distributed-training-course")
