"""The recipe of CONTRIBUTING.md: a step is added in a copy of the repository, then released, checked and listed."""

import nbformat
import pytest

from grader import checks
from tests import corpus
from tests.checkout import Checkout

SOLUTION = "solutions/fashion_mnist_after_step_31.py"
FINAL_SOLUTION = "solutions/fashion_mnist_solution.py"
LESSON = "notebooks/step_31/step_31.ipynb"
CHECK = "grader/checks/horovod/epochs.py"
CORRECT, WRONG = "tests/corpus/horovod_correct.py", "tests/corpus/horovod_wrong.py"
REGISTRY = "course/steps.py"
RULES = "docs/architecture.md"
ANSWER = "solutions/answers/step_31.md"
STUBS = {SOLUTION, FINAL_SOLUTION, LESSON, ANSWER, REGISTRY, CHECK, CORRECT, WRONG}

STOP = "callbacks.append(StopAtAccuracy(args.target_accuracy, args.patience))\n"
WRITTEN = "callbacks.append(tf.keras.callbacks.TerminateOnNaN())\n"

STUB_OF_THE_CHECK = '''    """TODO: what the step asks for, in one line that the learner reads."""
    return Finding(seen="TODO: what was observed", expected="TODO: what the solution does")
'''
WRITTEN_CHECK = '''    """Every rank stops training when the loss is not a number.

    Looks for the callback among those that model.fit gets on each rank.
    """
    for rank in runs.ranks():
        if rank.facts.fits and "TerminateOnNaN" not in rank.facts.fits[0].callbacks:
            return Finding(
                seen=f"{rank.where} trains without TerminateOnNaN",
                expected="every rank has it",
                line=source.line_of("callbacks"),
            )
    return None
'''


def test_no_stub_is_left_in_a_check():
    for check in checks.CHECKS:
        assert "TODO" not in check.description + check.hint + " ".join(check.asks), check.step.name


def test_no_stub_is_left_in_the_corpus():
    for rows in corpus.PARTS.values():
        for row in rows:
            assert "TODO" not in row.name and row.text() is not None, row.name


@pytest.fixture
def checkout(tmp_path):
    """A checkout with the stubs of a step 31."""
    checkout = Checkout(tmp_path)
    title = ("--title", "Stop when the loss is not a number")
    made = checkout.run("-m", "course", "new-step", "31", "--part", "horovod", "--after", "6", *title)
    assert made.returncode == 0, made.stderr
    return checkout


def write_the_step(checkout):
    """Write what the stubs leave open, in their places and nowhere else."""
    checkout.edit(SOLUTION, (STOP, f"{STOP}\n# Step 31: a loss that is not a number stays so.\n{WRITTEN}"))
    checkout.edit(LESSON, ("TODO: ", ""), ("TODO", "nan"))
    checkout.edit(ANSWER, ("TODO: a model answer", "An answer"))
    checkout.edit(CHECK, ("TODO: what to change", "what to change"))
    hint = "what to try where the script lacks what the step asks for."
    checkout.edit(CHECK, (f"TODO: {hint}", "Add tf.keras.callbacks.TerminateOnNaN() to callbacks on every rank."))
    checkout.edit(CHECK, (STUB_OF_THE_CHECK, WRITTEN_CHECK))
    lines, mistake = (text.replace("\n", "\\n") for text in (WRITTEN, "tf.keras.callbacks.TerminateOnNaN()\n"))
    checkout.edit(WRONG, ("TODO: a mistake", "the callback is made and never added"))
    checkout.edit(WRONG, ("TODO: right lines", lines), ("TODO: wrong lines", mistake))
    problem = "TODO: the problem that the step solves, without the solution"
    checkout.edit(REGISTRY, (f'{problem}",\n        0,', 'A loss that is not a number stays so",\n        20,'))
    checkout.edit(RULES, ("| 5, 6 |", "| 5, 6, 31 |"))


FILES = ("tests/test_solutions.py", "tests/test_notebooks.py", "tests/test_recipe.py", "tests/test_docs.py")
OF_STUBS = "changes_the_program or is_the_program_after or no_stub or rules_of_the_steps"


def test_the_stubs_fail_until_they_are_written(checkout):
    assert checkout.changed() == STUBS
    assert {test.partition("::")[0] for test in checkout.failing(*FILES, "-k", OF_STUBS)} == set(FILES)
    write_the_step(checkout)
    assert checkout.changed() == STUBS | {RULES}
    assert checkout.failing(*FILES, "tests/test_asked.py", "-k", f"{OF_STUBS} or step_31") == []


def test_a_written_step_is_listed(checkout):
    write_the_step(checkout)
    refused = checkout.run("-m", "course", "run", "--steps", "99")
    assert "There is no step 99. There are steps 0 to 31 and capstones 1 to 3." in refused.stderr
    listed = checkout.run("-c", "from course import steps; print([step.title for step in steps.parse('all')])")
    assert "'Stop when the loss is not a number'" in listed.stdout
    unknown = checkout.run("-c", "from grader import checks; checks.of(99)")
    assert "Step 99 has no check; steps 1, 2," in unknown.stderr and ", 31 have." in unknown.stderr


@pytest.mark.slow
def test_a_written_step_is_released_and_checked(checkout):
    write_the_step(checkout)
    assert checkout.failing("tests/grader/test_judge.py", "-k", "deserves and 31") == []  # the rows of the corpus

    released = checkout.run("-m", "nbgrader", "generate_assignment", "step_31")
    assert released.returncode == 0, released.stderr
    folder = checkout.root / "release" / "step_31"
    starter = checkout.root / "solutions" / "fashion_mnist_after_step_06.py"
    assert (folder / "fashion_mnist.py").read_text() == starter.read_text()
    cells = nbformat.read(folder / "step_31.ipynb", as_version=4).cells
    points = {
        cell.metadata.nbgrader.grade_id: cell.metadata.nbgrader.points for cell in cells if "nbgrader" in cell.metadata
    }
    assert points["step_31"] == 10
