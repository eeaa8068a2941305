"""The solution files: one text, which changes from step to step only where the step says so."""

import ast
import difflib
import itertools
import re

import pytest

from course.steps import SOLUTIONS, STEPS

EXERCISES = [step for step in STEPS if step.has_exercise]
MARKER = re.compile(r"# TODO: Step (\d+): ")

# The program's flags, as its readers may rely on them.
DEFAULTS = {
    "--log-dir": "./logs",
    "--batch-size": 32,
    "--val-batch-size": 32,
    "--epochs": 40,
    "--base-lr": 0.01,
    "--wd": 0.000005,
    "--target-accuracy": 0.85,
    "--patience": 2,
    "--train-samples": None,
    "--test-samples": None,
    "--widen-factor": 10,
    "--seed": None,
}


def markers(path):
    return [int(number) for number in MARKER.findall(path.read_text())]


def test_the_starting_program_has_nine_markers():
    assert sorted(markers(SOLUTIONS / "fashion_mnist.py")) == [1, 1, 1, 2, 3, 4, 5, 5, 6]


@pytest.mark.parametrize("step", EXERCISES, ids=lambda step: step.name)
def test_a_step_changes_the_program_at_its_own_markers_only(step):
    before, after = step.starter.read_text().splitlines(), step.solution.read_text().splitlines()
    changed = [
        before[i1:i2]
        for tag, i1, i2, _, _ in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        if tag != "equal"
    ]
    assert changed, "the step changes nothing"
    for lines in changed:
        assert list(map(int, MARKER.findall("\n".join(lines)))) == [step.number]
    assert markers(step.solution) == [number for number in markers(step.starter) if number != step.number]


def test_steps_follow_each_other():
    for before, after in itertools.pairwise(EXERCISES):
        assert after.starter == before.solution


def test_the_solution_is_the_program_after_the_last_step():
    assert (SOLUTIONS / "fashion_mnist_solution.py").read_text() == EXERCISES[-1].solution.read_text()


def test_no_stray_file_is_among_the_solutions():
    known = {step.starter for step in STEPS} | {step.solution for step in STEPS}
    assert set(SOLUTIONS.glob("*.py")) == known


def test_flags_have_their_defaults():
    tree = ast.parse((SOLUTIONS / "fashion_mnist.py").read_text())
    found = {}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "add_argument":
            default = next((keyword.value for keyword in call.keywords if keyword.arg == "default"), ast.Constant(None))
            if isinstance(default, ast.Constant):
                found[call.args[0].value] = default.value
    assert found == DEFAULTS
