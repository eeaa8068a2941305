"""What JupyterLab shows: nbgrader's pages of the exchange only where a class has one, and to learners few folders."""

import json
import subprocess
from pathlib import Path

import pytest

from course import __main__ as command
from course.steps import ROOT


@pytest.mark.parametrize(
    ("name", "text", "has"),
    [
        ("nbgrader_config.py", "c.Exchange.root = '/shared/exchange'", True),
        ("nbgrader_config.json", '{"Exchange": {"root": "/shared/exchange"}}', True),
        ("nbgrader_config.py", "c.Exchange.assignment_dir = '.'", False),
        ("other.py", "c.Exchange.root = '/shared/exchange'", False),
    ],
)
def test_a_class_has_an_exchange_where_settings_or_the_machine_have_one(tmp_path, monkeypatch, name, text, has):
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    monkeypatch.setattr(command, "EXCHANGE", tmp_path / "exchange")
    (tmp_path / name).write_text(text)
    assert command._has_exchange() == has
    (tmp_path / "exchange").mkdir()
    assert command._has_exchange()


def test_the_file_browser_of_learners_hides_the_course_s_own_programs():
    settings = json.loads((ROOT / "course/internal/for_learners/jupyter_server_config.json").read_text())
    hidden = {glob for glob in settings["ContentsManager"]["hide_globs"] if "*" not in glob and glob != "__pycache__"}
    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    outermost = {name.partition("/")[0] for name in tracked if not name.startswith(".")}
    assert outermost - hidden == {"LICENSE", "README.md", "data", "docs", "hunt", "notebooks", "solutions"}
    # A name is hidden anywhere, so hunt/, which has the tickets' causes, would hide notebooks/hunt/ with it.
    inside = {Path(name) for name in tracked if name.startswith(("data/", "docs/", "notebooks/", "solutions/"))}
    assert {path.name for path in inside if hidden & {*path.parts}} == {"recorded.json"}, "names are hidden anywhere"
