"""Names of downloads from a learning platform: whose they are, and which file of which assignment."""

import logging
import re
import tarfile
import zipfile
from pathlib import Path

import pytest

from course.steps import STEPS
from grader.classroom import intake

SCRIPTS = sorted({Path(step.script).name for step in STEPS if step.has_exercise})


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_script_of_each_exercise_is_taken(script):
    for name in (f"alice_{script}", f"alice_late/{script}"):
        found = re.match(intake.NAMES, f"downloaded/extracted/{name}")
        assert found and found["student_id"] == "alice" and found["file_id"] == Path(script).stem
    assert Path(script).suffix in intake.SUFFIXES


@pytest.mark.parametrize("suffix", ["zip", "tar.gz"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_an_archive_has_the_script_of_any_exercise(script, suffix, tmp_path):
    files = {name: tmp_path / name for name in ("lesson.ipynb", script, "notes.txt")}
    for path in files.values():
        path.write_text(path.name)
    (tmp_path / "archive").mkdir()
    archive = tmp_path / "archive" / f"alice.{suffix}"
    if suffix == "zip":
        with zipfile.ZipFile(archive, "w") as packed:
            for name, path in files.items():
                packed.write(path, f"a folder/{name}")
    else:
        with tarfile.open(archive, "w:gz") as packed:
            for name, path in files.items():
                packed.add(path, f"a folder/{name}")
    intake.Extract(log=logging.getLogger()).extract(tmp_path / "archive", tmp_path / "extracted")
    assert {path.name for path in (tmp_path / "extracted" / "alice").iterdir()} == {"lesson.ipynb", script}
