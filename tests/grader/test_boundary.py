"""The trust boundary is a folder: who imports grader.sandboxed, what it imports, and what the sandbox mounts."""

import ast

import pytest

from course.steps import ROOT
from grader.sandbox import policy

GRADER = ROOT / "grader"
SANDBOXED = GRADER / "sandboxed"
# What decides, what is expected, and who is graded: none of it is for a learner's process.
DECIDES = ("grader.checks", "grader.reading", "grader.report", "grader.judge", "grader.runner", "grader.classroom")


def modules(folder):
    return sorted(path for path in folder.rglob("*.py"))


def imports(path):
    """Return the modules that a file imports, at any depth, with what it imports from them."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_the_fork_server_alone_imports_what_is_sandboxed():
    outside = [path for path in modules(ROOT / "grader") + modules(ROOT / "course") if SANDBOXED not in path.parents]
    importers = [path for path in outside if any(name.startswith("grader.sandboxed") for name in imports(path))]
    assert importers == [GRADER / "runner" / "fork_server.py"]


@pytest.mark.parametrize("path", modules(SANDBOXED), ids=lambda path: path.stem)
def test_what_is_sandboxed_imports_nothing_that_decides(path):
    assert not [name for name in imports(path) if name.startswith(DECIDES)]


def test_the_sandbox_mounts_what_is_sandboxed_needs_and_no_more():
    mounted = {ROOT / path for path in policy.READABLE}
    files = {file for path in mounted for file in (modules(path) if path.is_dir() else [path])}
    assert all(file.is_file() for file in files)
    needed = {
        ROOT / f"{name.replace('.', '/')}.py"
        for path in files
        for name in imports(path)
        if name.startswith(("course", "grader"))
    }
    assert {path for path in needed if path.is_file()} <= files
    for room in ("checks", "report", "runner", "classroom", "judge.py"):
        assert not any(GRADER / room in (file, *file.parents) for file in files), room
    assert not any((ROOT / "solutions") in file.parents for file in files)


def test_course_never_imports_the_grader():
    importers = [path for path in modules(ROOT / "course") if any(name.startswith("grader") for name in imports(path))]
    assert importers == []


def test_no_two_files_of_the_judge_have_one_name():
    names = [path.name for path in modules(GRADER) if not path.name.startswith("__")]
    assert sorted(names) == sorted(set(names))


def test_no_modules_import_each_other_in_a_circle():
    files = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in modules(GRADER)}
    left = {name: imports(path) & files.keys() - {name} for name, path in files.items()}
    while free := [name for name, needed in left.items() if not needed & left.keys()]:
        for name in free:
            del left[name]
    assert left == {}
