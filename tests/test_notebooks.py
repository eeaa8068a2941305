"""The lessons as they are committed: complete, alike in shape, without outputs."""

import ast
import json
import re
import textwrap
from collections import defaultdict

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from course import launch, lessons
from course.hunt.cases import WORK
from course.steps import NOTEBOOKS, STEPS
from grader.classroom import release

PARAMETERS = ("ranks", "profile", "epochs", "train_samples", "test_samples", "data_dir", "script")

LOOKED_UP = {
    1: ("?hvd.rank", "?hvd.local_rank"),
    2: ("?hvd.rank",),
    3: ("?hvd.DistributedOptimizer",),
    4: ("?hvd.callbacks.BroadcastGlobalVariablesCallback",),
    5: ("?hvd.size",),
    6: ("?hvd.callbacks.MetricAverageCallback",),
    206: ("?faulthandler.dump_traceback_later",),
    8: ("?hvd.local_rank", "?hvd.allreduce", "?store.download", "?store.upload"),
    9: ("?hvd.rank", "?numpy.random.default_rng"),
}

LESSONS = [step for step in STEPS if not step.is_capstone]
CAPSTONES = [step for step in STEPS if step.is_capstone]
PATHS = sorted(NOTEBOOKS.glob("*/*.ipynb"))
every_notebook = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


@pytest.fixture
def lesson(step):
    return nbformat.read(step.notebook, as_version=4)


def sources(lesson, kind):
    return [cell.source for cell in lesson.cells if cell.cell_type == kind]


def parsed(source):
    """Return the syntax tree of a code cell, or of the file that a %%writefile cell writes."""
    if source.startswith("%%writefile "):
        return ast.parse(source.partition("\n")[2])
    return ast.parse(TransformerManager().transform_cell(source))


def is_program(text):
    """Whether a string is Python of more statements than a passage that a lesson looks for or replaces."""
    try:
        nodes = list(ast.walk(ast.parse(textwrap.dedent(text))))
    except (SyntaxError, ValueError):
        return False
    imports = any(isinstance(node, ast.Import | ast.ImportFrom) for node in nodes)
    return sum(isinstance(node, ast.stmt) for node in nodes) > (1 if imports else 2)


@every_notebook
def test_no_output_is_committed(path):
    notebook = json.loads(path.read_text())
    nbformat.validate(notebook)
    for cell in notebook["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None


@every_notebook
def test_the_id_of_a_cell_says_what_the_cell_is(path):
    ids = [cell["id"] for cell in json.loads(path.read_text())["cells"]]
    assert len(set(ids)) == len(ids)
    for name in ids:
        assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) and len(name) <= 64
        assert not re.fullmatch(r"cell-\d+|[0-9a-f]{6,}(-[0-9a-f]+)*", name), name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import time; time.sleep(1)", True),
        ("\nmean = 0.5\nfor step in range(3):\n    print(step)\n", True),
        ("with strategy.scope():\n    model = make_model()", False),
        ("    hvd.callbacks.BroadcastGlobalVariablesCallback(0),\n", False),
        ("from course import tf_config", False),
        ("The lines that each program adds.", False),
    ],
)
def test_a_program_in_a_string_is_recognised(text, expected):
    assert is_program(text) == expected


@every_notebook
def test_no_code_cell_holds_a_program_in_a_string(path):
    for source in sources(nbformat.read(path, as_version=4), "code"):
        strings = [node.value for node in ast.walk(parsed(source)) if isinstance(node, ast.Constant)]
        assert "-c" not in strings, source
        assert not [text for text in strings if isinstance(text, str) and is_program(text)], source


def test_no_function_is_defined_in_two_notebooks():
    defined = defaultdict(set)
    for path in PATHS:
        for source in sources(nbformat.read(path, as_version=4), "code"):
            for node in ast.walk(parsed(source)):
                if isinstance(node, ast.FunctionDef):
                    defined[node.name].add(path.stem)
    assert {name: notebooks for name, notebooks in defined.items() if len(notebooks) > 1} == {}


def test_no_stray_notebook_is_there():
    extra = {NOTEBOOKS / "index.ipynb", NOTEBOOKS / "step_07" / "spmd.ipynb"}
    extra |= {WORK / "index.ipynb", WORK / "toolbox.ipynb", *WORK.glob("*/ticket.ipynb")}
    known = {step.notebook for step in STEPS} | extra
    assert {path for path in NOTEBOOKS.glob("**/*.ipynb") if ".ipynb_checkpoints" not in path.parts} == known


def test_a_lesson_can_be_run_by_papermill(lesson):
    (cell,) = (cell for cell in lesson.cells if "parameters" in cell.metadata.get("tags", []))
    assert [line.split(" = ")[0] for line in cell.source.splitlines()] == list(PARAMETERS)
    (setup,) = (cell for cell in lesson.cells if cell.id == "setup")
    assert cell.metadata.jupyter.source_hidden and setup.metadata.jupyter.source_hidden, "a lesson begins with its idea"


@pytest.mark.parametrize("step", CAPSTONES, ids=lambda step: step.name)
def test_a_capstone_has_the_shape_of_all_capstones(lesson, step):
    text = "\n".join(sources(lesson, "markdown"))
    assert text.startswith(f"# {step.label.capitalize()}: {step.title}\n\n**What you will show**")
    assert "## The task" in text and "Hint" not in text
    code = sources(lesson, "code")
    assert any(f'report = check(step="{step.name}", script=script)' in source for source in code)
    assert any(source.startswith(f'certificate("{step.name}"') for source in code)
    assert {*release.ANSWERS, release.CHECK} <= {cell.id for cell in lesson.cells}


@pytest.mark.parametrize("step", LESSONS, ids=lambda step: step.name)
def test_a_lesson_has_the_shape_of_all_lessons(lesson, step):
    text = "\n".join(sources(lesson, "markdown"))
    assert text.startswith(f"# {step.label.capitalize()}: {step.title}\n\n**What you will learn**")
    typed = step.short if step.short.isdecimal() else f'"{step.short}"'
    headings = ["## What goes wrong in practice", "## Questions"]
    if step.has_exercise:
        headings += ["## The idea", "## Exercise", "## Run it", "## Look it up"]
        assert "<details><summary>Hint</summary>" in text
        assert f"exercise.solution({typed})" in sources(lesson, "code")
    if step.has_exercise:
        assert f"report = check(step={typed}, script=script)" in sources(lesson, "code")[-1]
        assert {*release.ANSWERS, release.CHECK} <= {cell.id for cell in lesson.cells}
    for heading in headings:
        assert heading in text
    assert "<details><summary>Answer</summary>" in text


@pytest.mark.parametrize("step", LESSONS[2:], ids=lambda step: step.name)
def test_a_lesson_asks_for_more_than_a_line_at_a_todo(lesson, step):
    cells = {cell.id: cell.source for cell in lesson.cells}
    order = [name for name in cells if name.startswith("puzzle")]
    assert order[:3] == ["puzzle", "puzzle-answer", "puzzle-check"]
    check = cells["puzzle-check"]
    if "puzzle.predicted(" in check:
        assert re.match(r"guess = None  # .", cells["puzzle-answer"]), "no prediction is committed"
        between = list(cells)[list(cells).index("puzzle-answer") + 1 : list(cells).index("puzzle-check")]
        assert len(between) > 0, "it is made before the run that shows the answer"
        (cell,) = (cell for cell in lesson.cells if cell.id == "puzzle-check")
        assert cell.metadata.jupyter.source_hidden, "its reasons would give the answer away"
        return
    assert f"puzzle.judged({step.number}, wrong, check)" in check or re.search(r"puzzle\.(repaired|edited)\(", check)
    assert cells["puzzle-solution"].startswith("<details><summary>Answer</summary>")


@pytest.mark.parametrize("step", LESSONS[2:], ids=lambda step: step.name)
def test_a_released_lesson_has_its_puzzle_unlocked(step):
    cells = {cell.id: cell for cell in release.lesson(step).cells}
    assert all("nbgrader" not in cells[name].metadata for name in ("puzzle", "puzzle-answer", "puzzle-check"))


def test_no_stub_is_left_in_a_lesson(lesson, step):
    """The stubs of `course new-step` say TODO; lessons name the programs' own markers, `TODO: Step N`."""
    answer = [step.answer.read_text()] if step.has_exercise else []
    text = "\n".join([step.title, step.problem, *sources(lesson, "markdown"), *answer])
    assert "TODO" not in text.replace("TODO: Step ", "")
    assert step.problem and step.minutes, "the map says which problem a step solves, and how long it takes"


def test_a_lesson_looks_up_its_calls(lesson, step):
    for call in LOOKED_UP.get(step.number, ()):
        assert call in sources(lesson, "code")


def test_prose_comes_in_short_pieces(lesson):
    for source in sources(lesson, "markdown"):
        prose = [line for line in source.splitlines() if not line.startswith(("|", "-", "<", "#"))]
        assert len(" ".join(prose).split()) <= 130, source


def test_only_prints_the_lines_that_match(capsys):
    say = lessons.only(r"^\$|val_accuracy")
    for line in ("$ python a.py", "a dollar: $", "loss: 1 - val_accuracy: 0.5"):
        say(line)
        lessons.quiet(line)
    assert capsys.readouterr().out.splitlines() == ["$ python a.py", "loss: 1 - val_accuracy: 0.5"]


def test_a_folder_of_a_lesson_starts_empty(tmp_path):
    folder = lessons.empty_folder(tmp_path / "logs" / "few")
    (folder / "old.txt").touch()
    assert list(lessons.empty_folder(folder).iterdir()) == []


def test_a_run_from_scratch_finds_nothing_of_the_run_before(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("cache", "logs", "results", "host-0", "images"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(launch, "script", lambda program, np, **options: (program, np, options))
    assert lessons.run_from_scratch("a.py", 2, epochs=1) == ("a.py", 2, {"epochs": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["images"]


def test_new_lines_leave_out_indentation_comments_and_the_docstring(tmp_path):
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text('"""One."""\na = 1\nb = 2\n')
    after.write_text('"""Several."""\n# why\nif True:\n    a = 1\n\nb = 3\n')
    assert lessons.new_lines(after, before) == ["if True:", "b = 3"]
