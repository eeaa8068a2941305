"""The command that makes the stubs of a new step; tests/test_recipe.py follows the recipe to its end."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from course.__main__ import main
from tests.checkout import Checkout


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("6 --part horovod --after 5", "Step 6 exists already."),
        ("98 --part horovod --after 99", "There is no step 99"),
        ("98 --part a-b --after 6", "'a-b' cannot be the name of a Python module."),
        ("98 --part class --after 6", "'class' cannot be the name of a Python module."),
        ("98 --part training --after 6", "grader/checks/training.py is not a part: it checks no step."),
        ("98 --part horovod --after 5", "The last step of horovod is 6: a new one has to come after it."),
        ("98 --part horovod --after 11", "The last step of horovod is 6: a new one has to come after it."),
    ],
)
def test_a_step_that_cannot_be_is_refused_in_one_line(arguments, reason, monkeypatch):
    def forbidden(*args, **kwargs):
        raise AssertionError("nothing may be written")

    monkeypatch.setattr(Path, "write_text", forbidden)
    done = CliRunner().invoke(main, ["new-step", *arguments.split()])
    assert done.exit_code == 1 and done.output.startswith(f"Error: {reason}") and done.output.count("\n") == 1


def test_a_new_part_is_made_with_its_first_step(tmp_path):
    checkout = Checkout(tmp_path)
    made = checkout.run("-m", "course", "new-step", "31", "--part", "brand_new", "--after", "6")
    assert made.returncode == 0, made.stderr
    assert checkout.changed() == {
        "course/steps.py",
        "grader/checks/brand_new.py",
        "notebooks/step_31/step_31.ipynb",
        "solutions/answers/step_31.md",
        "solutions/brand_new_after_step_31.py",
        "tests/corpus/brand_new_correct.py",
        "tests/corpus/brand_new_wrong.py",
    }
    found = checkout.run(
        "-c",
        "from grader import checks; from tests import corpus\n"
        "assert checks.of(31) is checks.PARTS['brand_new'] and len(corpus.PARTS['brand_new']) == 3",
    )
    assert found.returncode == 0, found.stderr
    for tool in (["ruff", "check"], ["ruff", "format", "--check"]):
        done = checkout.run("-m", *tool)
        assert done.returncode == 0, done.stdout + done.stderr
