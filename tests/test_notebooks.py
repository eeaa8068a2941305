"""The lessons as they are committed: complete, alike in shape, without outputs."""

import json

import nbformat
import pytest

from course.steps import NOTEBOOKS, STEPS
from grader.classroom import release

PARAMETERS = ("np", "profile", "epochs", "train_samples", "test_samples", "data_dir", "script")

LOOKED_UP = {
    1: ("?hvd.rank", "?hvd.local_rank"),
    2: ("?hvd.rank",),
    3: ("?hvd.DistributedOptimizer",),
    4: ("?hvd.callbacks.BroadcastGlobalVariablesCallback",),
    5: ("?hvd.size",),
    6: ("?hvd.callbacks.MetricAverageCallback",),
    8: ("?hvd.local_rank", "?hvd.allreduce", "?store.download", "?store.upload"),
    9: ("?hvd.rank", "?numpy.random.default_rng"),
}


@pytest.fixture
def lesson(step):
    return nbformat.read(step.notebook, as_version=4)


def sources(lesson, kind):
    return [cell.source for cell in lesson.cells if cell.cell_type == kind]


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*/*.ipynb")), ids=lambda path: path.stem)
def test_no_output_is_committed(path):
    notebook = json.loads(path.read_text())
    nbformat.validate(notebook)
    for cell in notebook["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None


def test_no_stray_notebook_is_there():
    beside = {NOTEBOOKS / "step_00" / "spmd.ipynb", NOTEBOOKS / "step_08" / "hang.ipynb"}
    known = {step.notebook for step in STEPS} | beside
    assert {path for path in NOTEBOOKS.glob("**/*.ipynb") if ".ipynb_checkpoints" not in path.parts} == known


def test_a_lesson_can_be_run_by_papermill(lesson):
    (cell,) = (cell for cell in lesson.cells if "parameters" in cell.metadata.get("tags", []))
    assert [line.split(" = ")[0] for line in cell.source.splitlines()] == list(PARAMETERS)


def test_a_lesson_has_the_shape_of_all_lessons(lesson, step):
    text = "\n".join(sources(lesson, "markdown"))
    assert text.startswith(f"# Step {step.number}: {step.title}\n\n**What you will learn**")
    headings = ["## What goes wrong in practice", "## Questions"]
    if step.has_exercise:
        headings += ["## The idea", "## Exercise", "## Run it", "## Look it up"]
        assert "<details><summary>Hint</summary>" in text
        assert f"exercise.solution({step.number})" in sources(lesson, "code")
    if step.has_exercise:
        assert f"report = check(step={step.number}, script=script)" in sources(lesson, "code")[-1]
        assert {release.SOLUTION, release.CHECK} <= {cell.id for cell in lesson.cells}
    for heading in headings:
        assert heading in text
    assert "<details><summary>Answer</summary>" in text


def test_no_stub_is_left_in_a_lesson(lesson, step):
    """The stubs of `course new-step` say TODO; lessons name the programs' own markers, `TODO: Step N`."""
    text = "\n".join([step.title, *sources(lesson, "markdown")])
    assert "TODO" not in text.replace("TODO: Step ", "")


def test_a_lesson_looks_up_its_calls(lesson, step):
    for call in LOOKED_UP.get(step.number, ()):
        assert call in sources(lesson, "code")


def test_prose_comes_in_short_pieces(lesson):
    for source in sources(lesson, "markdown"):
        prose = [line for line in source.splitlines() if not line.startswith(("|", "-", "<", "#"))]
        assert len(" ".join(prose).split()) <= 130, source
