"""Reading a script: any file is read or refused, with a message."""

import ast
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.steps import get
from grader.reading import parsing
from grader.reading.parsing import NoScriptError

SOLUTION = get(6).solution.read_text()
names = st.from_regex(r"[a-z][a-z0-9]{2,10}", fullmatch=True)


@given(st.binary(max_size=2000))
def test_any_file_is_read_or_refused_with_a_message(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("file") / "fashion_mnist.py"
    path.write_bytes(content)
    try:
        assert isinstance(parsing.load(path), str)
    except NoScriptError as refusal:
        assert str(refusal).startswith("The file is")


@given(st.text(max_size=300))
def test_any_text_is_parsed_or_refused(text):
    with contextlib.suppress(NoScriptError):
        parsing.read(text)


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


@pytest.mark.parametrize(
    "text",
    [
        "tf.keras.utils.SidecarEvaluator(model).start()",
        "from keras.utils import SidecarEvaluator as Evaluator",
        "class Evaluator(tf.keras.utils.SidecarEvaluator): pass",
        "Evaluator = getattr(tf.keras.utils, 'SidecarEvaluator')",
    ],
)
def test_what_a_script_uses_is_found_by_whatever_name(text):
    assert parsing.read(text).mentions("SidecarEvaluator")
    assert not parsing.read(text).mentions("fit")


@pytest.mark.parametrize(
    "first", ["# -*- coding: latin-1 -*-", "#!/usr/bin/python\n# vim: set fileencoding=ISO-8859-1 :"]
)
def test_a_script_in_the_encoding_that_it_declares_is_read_as_python_reads_it(tmp_path, first):
    path = tmp_path / "script.py"
    path.write_bytes(f"{first}\nsaid = 'Größe'\n".encode("latin-1"))
    assert "said = 'Größe'" in parsing.load(path)
    path.write_bytes(f"import os\n\n{first}\nsaid = 'Größe'\n".encode("latin-1"))  # too late to count
    with pytest.raises(NoScriptError, match="not UTF-8"):
        parsing.load(path)


@pytest.mark.parametrize("line", ["%matplotlib inline", "<<<<<<< HEAD", "!DOCTYPE " + "x" * 1000])
def test_a_line_that_is_not_python_is_shown(line):
    with pytest.raises(NoScriptError) as refusal:
        parsing.read(f"import os\n{line}\n")
    assert str(refusal.value).endswith(f"The line: {line[:100]}")
    assert refusal.value.line == 2


@pytest.mark.parametrize("deep", ["+".join(["1"] * 500), ".a" * 500, "[" * 150 + "]" * 150])
def test_a_script_nested_as_no_script_is_gets_refused(deep):
    with pytest.raises(NoScriptError, match="nested more than 100 deep"):
        parsing.read(f"x = x{deep}")
