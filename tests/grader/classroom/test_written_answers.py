"""Written answers, in notebooks as learners hand them in: each is found, or a person is asked."""

import copy
import json

import nbformat
import pytest

from course.steps import get
from grader.classroom import downloads, release, submission, written_answers

STEP = get(3)
LESSON = json.loads(nbformat.writes(release.lesson(STEP)))
OWN = written_answers.cell_of(release.lesson(STEP)).id
WRITTEN = "Because each rank\ntrains alone."


def place(notebook):
    """Return the place of the answer's cell."""
    return next(at for at, cell in enumerate(notebook["cells"]) if cell["id"] == OWN)


def markdown(text, **more):
    """Return a cell."""
    return {"cell_type": "markdown", "id": f"new-{len(text)}", "metadata": {}, "source": text, **more}


def shown(content, tmp_path):
    """Return the answer that reaches the gradebook from a notebook's file."""
    handed_in = tmp_path / "in"
    handed_in.mkdir()
    (handed_in / f"{STEP.name}.ipynb").write_bytes(content)
    submission.copy(handed_in, tmp_path / "out", STEP)
    return written_answers.in_cells(nbformat.read(tmp_path / "out" / f"{STEP.name}.ipynb", as_version=4).cells, STEP)


def minor_4(notebook, own):
    notebook["nbformat_minor"] = 4


def no_outputs(notebook, own):
    del next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")["outputs"]


def odd_ids(notebook, own):
    notebook["cells"][0]["id"] = "not allowed!"
    own["id"] = "nor this!"


def one_id_twice(notebook, own):
    notebook["cells"][0]["id"] = notebook["cells"][1]["id"]


def a_blank_copy_first(notebook, own):
    notebook["cells"].insert(place(notebook), {**copy.deepcopy(own), "id": "copy", "source": "*Your answer*"})


def split(notebook, own):
    first, second = WRITTEN.split("\n")
    own["source"] = first
    notebook["cells"].insert(place(notebook) + 1, {**copy.deepcopy(own), "id": "second", "source": second})


def split_without_metadata(notebook, own):
    first, second = WRITTEN.split("\n")
    own["source"] = first
    notebook["cells"].insert(place(notebook) + 1, markdown(second))


def below(notebook, own):
    own["source"] = "*Your answer*"
    notebook["cells"].insert(place(notebook) + 1, markdown(WRITTEN))


def in_a_code_cell_below(notebook, own):
    own["source"] = ""
    cell = {"cell_type": "code", "execution_count": None, "outputs": []}
    notebook["cells"].insert(place(notebook) + 1, markdown(WRITTEN, **cell))


def at_the_top(notebook, own):
    own["source"] = "*Your answer*"
    notebook["cells"].insert(0, markdown(WRITTEN))


def in_the_question_s_cell(notebook, own):
    own["source"] = "*Your answer*"
    question = notebook["cells"][place(notebook) - 1]
    question["source"] = ["".join(question["source"]), "\n\n", WRITTEN]


def no_metadata(notebook, own):
    for cell in notebook["cells"]:
        cell["metadata"] = {}


def neither_metadata_nor_ids(notebook, own):
    no_metadata(notebook, own)
    minor_4(notebook, own)
    for cell in notebook["cells"]:
        del cell["id"]


def large(notebook, own):
    output = {"output_type": "stream", "name": "stdout", "text": "x" * 21 * 2**20}
    next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")["outputs"] = [output]


def many_cells(notebook, own):
    notebook["cells"] += [markdown("", id=f"c{number}") for number in range(3000)]


CHANGES = (minor_4, no_outputs, odd_ids, one_id_twice, a_blank_copy_first, split, split_without_metadata, below)
CHANGES += (in_a_code_cell_below, at_the_top, in_the_question_s_cell, no_metadata, neither_metadata_nor_ids, large)


@pytest.mark.parametrize("change", [*CHANGES, many_cells], ids=lambda change: change.__name__)
def test_an_answer_is_found(change, tmp_path):
    notebook = copy.deepcopy(LESSON)
    own = notebook["cells"][place(notebook)]
    own["source"] = WRITTEN
    change(notebook, own)
    assert shown(json.dumps(notebook).encode(), tmp_path).split() == WRITTEN.split()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_an_answer_is_found_in_any_encoding(encoding, tmp_path):
    notebook = copy.deepcopy(LESSON)
    notebook["cells"][place(notebook)]["source"] = "Größer: 10 €"
    assert shown(json.dumps(notebook, ensure_ascii=False).encode(encoding), tmp_path) == "Größer: 10 €"


@pytest.mark.parametrize(
    "conflict", ['<<<<<<< HEAD\n"mine"\n=======\n"theirs"\n>>>>>>> other\n', '<<<<<<< HEAD\n"mine"\n=====\n"theirs"\n']
)
def test_all_that_a_merge_left_is_shown(conflict, tmp_path):
    notebook = copy.deepcopy(LESSON)
    notebook["cells"][place(notebook)]["source"] = "HERE"
    found = shown(json.dumps(notebook, indent=1).replace('"HERE"', f"\n{conflict}").encode(), tmp_path)
    assert "mine" in found and "theirs" in found


MARKS = b"<<<<<<< HEAD\n" * 50_000 + b"=======\n" * 50_000  # a search that goes back for each would not end


WITHOUT = {
    "many marks": MARKS,
    "empty": b"",
    "a zip": b"PK\x03\x04",
    "null": b"null",
    "no list": b'{"cells": 3}',
    "half a mark": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("content", WITHOUT.values(), ids=WITHOUT)
def test_a_file_without_an_answer_is_shown_to_a_person(content, tmp_path):
    assert shown(content, tmp_path)


def test_only_an_answer_that_is_nowhere_is_blank(tmp_path):
    assert shown(json.dumps(LESSON).encode(), tmp_path) == ""
    lesson = copy.deepcopy(LESSON)
    lesson["nbformat_minor"] = 4
    (tmp_path / "again").mkdir()
    assert shown(json.dumps(lesson).encode(), tmp_path / "again") == ""
    del lesson["cells"][place(lesson)]
    (tmp_path / "without").mkdir()
    assert shown(json.dumps(lesson).encode(), tmp_path / "without") == written_answers.MISSING


@pytest.mark.parametrize("step", downloads.EXERCISES, ids=lambda step: step.name)
def test_a_lesson_as_it_is_has_no_answer(step):
    assert written_answers.in_cells(nbformat.read(step.notebook, as_version=4).cells, step) == ""
