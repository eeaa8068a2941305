"""Reading a script: any file is read or refused, honest work passes, and what has no business there is found."""

import ast
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.steps import get
from grader import checks
from grader.runner import reading
from grader.runner.reading import NoScriptError
from tests.corpus import CORRECT

SOLUTION = get(6).solution.read_text()
names = st.from_regex(r"[a-z][a-z0-9]{2,10}", fullmatch=True)


@given(st.binary(max_size=2000))
def test_any_file_is_read_or_refused_with_a_message(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("file") / "fashion_mnist.py"
    path.write_bytes(content)
    try:
        assert isinstance(reading.load(path), str)
    except NoScriptError as refusal:
        assert str(refusal).startswith("The file is")


@given(st.text(max_size=300))
def test_any_text_is_parsed_or_refused(text):
    with contextlib.suppress(NoScriptError):
        reading.read(text)


class Rename(ast.NodeTransformer):
    """Gives one name another, wherever it stands for a variable or an import's alias."""

    def __init__(self, old: str, new: str):
        """Rename old to new."""
        self.old, self.new = old, new

    def visit_Name(self, node):
        """Rename a variable."""
        return ast.Name(self.new, node.ctx) if node.id == self.old else node

    def visit_alias(self, node):
        """Rename what a module is imported as."""
        return ast.alias(node.name, self.new) if node.asname == self.old else node


def rewritten(old: str, new: str) -> str:
    """Return the solution without comments, formatted anew, with one name changed."""
    return ast.unparse(ast.fix_missing_locations(Rename(old, new).visit(ast.parse(SOLUTION))))


RENAMED = ("hvd", "tf", "opt", "verbose", "callbacks", "gpu", "gpus", "train_iter", "model")


@given(
    st.sampled_from(RENAMED), names.filter(lambda name: f"\n{name}" not in SOLUTION and name not in SOLUTION.split())
)
def test_other_names_and_no_comments_are_nothing_out_of_place(old, new):
    assert reading.read(rewritten(old, new)).suspicious == []


@pytest.mark.parametrize("variant", [row for rows in CORRECT.values() for row in rows], ids=lambda row: row.name)
def test_reading_finds_nothing_out_of_place_in_honest_work(variant):
    assert reading.read(variant.text(), checks.of(variant.step).allowed).suspicious == []


def test_reading_lets_only_later_parts_use_files():
    assert reading.read("open('x')").suspicious and not reading.read("open('x')", checks.of(8).allowed).suspicious


@pytest.mark.parametrize("path", ["os.devnull", "'/dev/null'"])
def test_reading_lets_a_rank_be_silenced(path):
    assert reading.read(f"import os, sys\nsys.stdout = sys.stderr = open({path}, 'w')").suspicious == []


@pytest.mark.parametrize(
    "code",
    [
        "import ctypes",
        "import gc",
        "from os import system",
        "import sys; sys.modules",
        "eval('1')",
        "open('x')",
        "import horovod.tensorflow.keras as hvd; hvd.rank = None",
        "import tensorflow as tf; tf.keras.Model.fit = None",
        "().__class__",
        "getattr(x, y)",
        "p = '/proc/self'",
        "import os; os.environ['HOROVOD_RANK']",
        "import sys; sys.stdout = open('x', 'w')",
        "import sys; sys.exit = None",
        "class os:\n    devnull = 5\nopen(os.devnull, 'w')",
        "import os; open(os.devnull, 'w', opener=lambda *_: 5)",
    ],
)
def test_reading_finds_what_has_no_business_in_a_lesson(code):
    assert reading.read(code).suspicious
