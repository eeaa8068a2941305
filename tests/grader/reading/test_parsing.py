"""Reading a script: any file is read or refused, honest work passes, and what has no business there is found."""

import ast
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course.steps import get
from grader import checks
from grader.reading import parsing
from grader.reading.parsing import NoScriptError
from tests.corpus import CORRECT

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


@given(
    st.sampled_from(RENAMED), names.filter(lambda name: f"\n{name}" not in SOLUTION and name not in SOLUTION.split())
)
def test_other_names_and_no_comments_are_nothing_out_of_place(old, new):
    assert parsing.read(rewritten(old, new)).suspicious == []


@pytest.mark.parametrize("variant", [row for rows in CORRECT.values() for row in rows], ids=lambda row: row.name)
def test_reading_finds_nothing_out_of_place_in_honest_work(variant):
    assert checks.of(variant.step).read(variant.text()).suspicious == []


HONEST = """
import atexit, csv, enum, glob, hashlib, json, logging, math, os, pathlib, pickle, platform, re, shutil, signal, socket
import statistics, tempfile, threading, types
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from os import environ, replace
from typing import Any

parser = argparse.ArgumentParser()
args = parser.parse_args()
__author__ = "A. Learner"
with open("settings.json", "w") as file:
    json.dump(vars(args), file)
text = json.load(open(os.devnull, mode="r"))
handle, name = tempfile.mkstemp(dir="../logs")
os.close(handle)
os.replace(name, "checkpoint-1.h5")
os.rename("a", "b"), os.remove("b"), os.listdir("."), os.stat("."), os.walk("."), os.open("c", os.O_RDONLY)
with os.fdopen(os.open("d", os.O_CREAT | os.O_WRONLY), "wb") as file:
    os.fsync(file.fileno())
number = int(re.search(r"(\\d+)", name).group(1))
digest = hashlib.sha256(pathlib.Path("x").read_bytes()).hexdigest()
pathlib.Path("x").write_text("y")
shutil.rmtree("old", ignore_errors=True), shutil.copytree("a", "b"), shutil.move("b", "c")
atexit.register(shutil.rmtree, tempfile.mkdtemp(), ignore_errors=True)
signal.signal(signal.SIGTERM, lambda *_: None)
host, system, job = socket.gethostname(), platform.system(), os.environ.get("SLURM_JOB_ID")
os.environ["NCCL_DEBUG"] = environ["MY_LEVEL"] = "INFO"
Point = namedtuple("Point", "x y")
Point(1, 2)._replace(x=3)._asdict()
way = getattr(tf.distribute.experimental.CommunicationImplementation, args.communication)
ways = tf.distribute.experimental.CommunicationImplementation
way = getattr(ways, args.communication)
optimizer = getattr(tf.keras.optimizers, args.optimizer)()
setattr(args, "epochs", 3)
wanted = types.SimpleNamespace(mean=statistics.mean([1, 2]))
logging.getLogger(__name__).info("%s", sys.argv)
print(self.__class__.__name__, file=sys.stderr)
"""


def test_reading_lets_training_scripts_use_the_standard_library():
    code = f"import argparse, sys\nimport tensorflow as tf\n{HONEST}"
    assert parsing.read(code).suspicious == []


@pytest.mark.parametrize("path", ["os.devnull", "'/dev/null'"])
def test_reading_lets_a_rank_be_silenced(path):
    assert parsing.read(f"import os, sys\nsys.stdout = sys.stderr = open({path}, 'w')").suspicious == []


@pytest.mark.parametrize(
    "code",
    [
        "import ctypes",
        "import gc",
        "from os import system",
        "import sys; sys.modules",
        "eval('1')",
        "import subprocess",
        "import multiprocessing",
        "from concurrent.futures import ProcessPoolExecutor",
        "from operator import attrgetter",
        "import logging; logging.sys.modules",
        "import os; os.execv('python', [])",
        "import os; os.dup2(1, 2)",
        "import socket; socket.socket()",
        "import types; types.FunctionType",
        "import json; vars(json)",
        "look = vars",
        "getattr(json, '__dict__')",
        "try:\n    pass\nexcept ValueError as e:\n    e.__traceback__.tb_frame",
        "import horovod.tensorflow.keras as hvd; hvd.rank = None",
        "import tensorflow as tf; tf.keras.Model.fit = None",
        "().__class__",
        "p = '/proc/self'",
        "import os; os.environ['HOROVOD_RANK']",
        "import sys; sys.exit = None",
    ],
)
def test_reading_finds_what_has_no_business_in_a_lesson(code):
    assert parsing.read(code).suspicious


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


@pytest.mark.parametrize("deep", ["+".join(["1"] * 500), ".a" * 500, "[" * 150 + "]" * 150])
def test_a_script_nested_as_none_is_gets_refused_before_it_is_looked_through(deep, monkeypatch):
    monkeypatch.setattr(source.uses, "out_of_place", lambda tree: pytest.fail("it is looked through"))
    with pytest.raises(NoScriptError, match="nested more than 100 deep"):
        parsing.read(f"x = x{deep}")
