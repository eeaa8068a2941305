"""The examples for GitHub and GitLab in docs/examples/: their own commands run here, in a bare home and on a bare PATH.

What is replaced: GitHub's actions. A checkout is a copy; the cache has the environment of the tests, as a link, so that
none is made; the upload is that of a file that has to be there. sudo is a program that notes what it is called with.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from course.steps import ROOT, get
from tests.checkout import Checkout
from tests.grader.report.actions_runner import Command, followed

EXAMPLES = ROOT / "docs" / "examples"
GITHUB = yaml.safe_load((EXAMPLES / "github-actions.yml").read_text())
GITLAB = yaml.safe_load((EXAMPLES / "gitlab-ci.yml").read_text())
STEPS = GITHUB["jobs"]["check"]["steps"]
BROKEN = "raise SystemExit('a module of the learner was imported')\n"  # as a script's helper json.py could be


@dataclass
class Done:
    """The result of a pipeline."""

    passed: bool
    output: str
    suite: ElementTree.Element
    summary: str = ""
    called: list[str] = field(default_factory=list)  # by sudo

    @property
    def commands(self) -> list[Command]:
        """The commands that GitHub's runner follows."""
        return followed(self.output)

    @property
    def failures(self) -> list[str]:
        """The texts of the failed test cases."""
        return [failure.text or "" for failure in self.suite.iter("failure")]


class Machine:
    """A machine of its own for a job: a workspace with the learner's files, an empty home, and a bare PATH."""

    def __init__(self, folder: Path, course: Path, script: str):
        """Make it in a folder; the script is the learner's."""
        self.course, self.work, self.home, self.programs = course, folder / "work", folder / "home", folder / "bin"
        for made in (self.work, self.home, self.programs):
            made.mkdir()
        (self.work / "fashion_mnist.py").write_text(script)
        for name in ("json.py", "click.py", "grader/__init__.py"):
            (self.work / name).parent.mkdir(exist_ok=True)
            (self.work / name).write_text(BROKEN)
        self.sudo, self.summary = folder / "sudo.txt", folder / "summary.md"
        (self.programs / "sudo").write_text(f'#!/bin/sh\necho "$@" >> {self.sudo}\n')
        (self.programs / "sudo").chmod(0o755)
        self.environment = {"HOME": str(self.home), "PATH": f"{self.programs}:/usr/local/bin:/usr/bin:/bin"}

    def link_cache(self, paths: list[str]) -> None:
        """Put the environment of the tests where the cache is."""
        for path in paths:
            (self.work / path).parent.mkdir(exist_ok=True)
            (self.work / path).symlink_to(ROOT / Path(path).name)

    def run(self, commands: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run commands as a runner does: in bash, without its settings, up to the first that fails."""
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", commands]
        environment = self.environment | variables
        return subprocess.run(
            command, cwd=self.work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def done(self, passed: bool, output: str, report: str) -> Done:
        """Return what the job left."""
        (suite,) = ElementTree.parse(self.work / report).getroot()
        summary = self.summary.read_text() if self.summary.exists() else ""
        return Done(passed, output, suite, summary, self.sudo.read_text().splitlines() if self.sudo.exists() else [])


def on_github(machine: Machine) -> Done:
    """Go through the steps of the workflow, as its runner would."""
    variables = GITHUB["env"] | {
        "GITHUB_WORKSPACE": str(machine.work),
        "GITHUB_STEP_SUMMARY": str(machine.summary),
    }
    passed, output, kept = True, "", ""
    for step in STEPS:
        if not passed and "cancelled" not in step.get("if", ""):
            continue
        action, given = step.get("uses", "").partition("@")[0], step.get("with", {})
        if action == "actions/checkout" and "repository" in given:
            shutil.copytree(machine.course, machine.work / given["path"], symlinks=True)
        elif action == "actions/cache":
            machine.link_cache(given["path"].split())
        elif action == "actions/upload-artifact":
            kept = given["path"]
        elif "run" in step:
            done = machine.run(step["run"], **variables)
            passed, output = passed and done.returncode == 0, output + done.stdout
        else:
            assert action in ("actions/checkout", "actions/setup-python")
    return machine.done(passed, output, kept)


def on_gitlab(machine: Machine) -> Done:
    """Run the job's commands, in one shell, with the cache and the variables that its runner would give them."""
    job = GITLAB["check"]
    machine.link_cache(job["cache"]["paths"])
    variables = GITLAB["variables"] | {"COURSE": f"file://{machine.course}", "COURSE_REF": "HEAD"}
    done = machine.run("\n".join([*job["before_script"], *job["script"]]), **variables)
    assert job["artifacts"]["when"] == "always"
    return machine.done(done.returncode == 0, done.stdout, job["artifacts"]["reports"]["junit"])


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A repository of the course, with all that is in this checkout."""
    root = Checkout(tmp_path_factory.mktemp("course")).root
    identity = ["-c", "user.name=Course", "-c", "user.email=course@localhost"]
    for command in (["init", "--quiet"], ["add", "--all"], [*identity, "commit", "--quiet", "--message", "All"]):
        subprocess.run(["git", *command], cwd=root, check=True, env=os.environ | {"HOME": str(root.parent)})
    return root


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", [on_github, on_gitlab])
def test_a_right_script_passes(pipeline, course, tmp_path):
    done = pipeline(Machine(tmp_path, course, get(3).solution.read_text()))
    assert done.passed, done.output
    assert int(done.suite.get("tests")) > 2 and done.failures == [] and done.commands == []
    assert "No sandbox" not in done.output


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", [on_github, on_gitlab])
def test_a_wrong_script_fails_and_the_line_is_shown(pipeline, course, tmp_path):
    script = get(3).starter.read_text()
    done = pipeline(Machine(tmp_path, course, script))
    assert not done.passed
    assert len(done.failures) == 1, done.output
    line = int(re.match(r"fashion_mnist\.py:(\d+)\n", done.failures[0])[1])
    assert "optimizers.SGD" in script.splitlines()[line - 1]
    if pipeline is on_github:
        (error,) = done.commands
        assert error.name == "error" and error.properties["file"] == "fashion_mnist.py"
        assert int(error.properties["line"]) == line and f"(line {line})" in done.summary
        assert done.called == ["sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"]


def test_actions_have_a_major_version_and_few_rights():
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert used and all(re.fullmatch(r"actions/[\w-]+@v\d+", action) for action in used)
    assert GITHUB["permissions"] == {"contents": "read"}


def test_no_value_that_another_person_chose_becomes_a_command():
    assert not any("${{" in step.get("run", "") for step in STEPS)
