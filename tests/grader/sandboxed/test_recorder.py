"""The recorder: how a script ended, on which line, and projections that tell tensors apart."""

import mmap
import os
import sys
import textwrap
import threading

import msgspec
import numpy as np
import pytest

from grader.sandboxed.recorder import Recorder, plain, salted_hash
from grader.terms.facts import ARGUMENTS, HorovodFacts


@pytest.fixture(autouse=True)
def arguments(monkeypatch):
    """Restore what running a script as the main program changes."""
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


def recorded(tmp_path, script, *arguments):
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    recorder = Recorder(str(path), 1, mmap.mmap(-1, 40), HorovodFacts())
    recorder.run(arguments)
    return recorder


def test_no_file_next_to_the_script_is_imported(tmp_path):
    (tmp_path / "helper_of_mine.py").write_text("")
    assert recorded(tmp_path, "import helper_of_mine").facts.error.kind == "ModuleNotFoundError"


def test_an_exception_is_a_fact_without_frames_of_ours(tmp_path):
    error = recorded(tmp_path, "def fail():\n    raise ValueError('too bad')\n\n\nfail()\n").facts.error
    assert (error.kind, error.message, error.line) == ("ValueError", "too bad", 2)
    assert error.traceback.count("File ") == 2 and "recorder.py" not in error.traceback


def test_an_error_of_a_graph_is_told_without_where_each_node_was_made(tmp_path):
    script = r"""
        def fail():
            made = '  File "/usr/lib/a.py", line 3, in call\n\n' * 500
            raise ValueError(f"Graph execution error:\n\nDetected at node a/b defined at (last):\n{made}no more")
        fail()
    """
    error = recorded(tmp_path, script).facts.error
    assert error.message == "Graph execution error:\n\nno more"
    assert 'File "script.py", line 4, in fail' in error.traceback and "a.py" not in error.traceback


@pytest.mark.parametrize(
    "call",
    [
        "model.fit(batches(), steps_per_epoch=2, verbose=0)",
        "list(tf.data.Dataset.from_generator(batches, (tf.float32, tf.float32)))",
        "list(tf.data.Dataset.range(3).map(lambda number: tf.py_function(second, [[]], tf.float32)))",
    ],
)
def test_an_error_in_code_that_tensorflow_calls_is_on_the_line_where_it_arose(tmp_path, call):
    script = f"""
        import tensorflow as tf

        def second(values):
            raise IndexError(f"only {{len(values)}} values")

        def batches():
            yield tf.zeros((2, 3)), tf.zeros(2)
            yield second([])

        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        {call}
    """
    error = recorded(tmp_path, script).facts.error
    assert (error.kind, error.message, error.line) == ("IndexError", "only 0 values", 5)
    assert error.traceback.startswith('  File "script.py", line 13') and "site-packages" not in error.traceback
    assert error.traceback.endswith(""", line 5, in second
    raise IndexError(f"only {len(values)} values")
IndexError: only 0 values
""")


def test_an_error_while_a_function_is_traced_is_on_the_line_where_it_arose(tmp_path):
    script = """
        import tensorflow as tf

        @tf.function
        def step(images):
            return tf.matmul(images, tf.zeros((4, 2)))

        step(tf.zeros((2, 3)))
    """
    error = recorded(tmp_path, script).facts.error
    assert (error.kind, error.line) == ("ValueError", 6)
    assert error.message.startswith("Dimensions must be equal")
    assert error.traceback.count("File ") == 2 and "user code" not in error.traceback


def test_a_syntax_error_has_its_line(tmp_path):
    error = recorded(tmp_path, "first = 1\nsecond = (\n").facts.error
    assert (error.kind, error.line) == ("SyntaxError", 2)


@pytest.mark.parametrize(("code", "message"), [("3", "3"), ("'no data'", "no data")])
def test_an_exit_is_a_fact_where_it_is_no_success(tmp_path, code, message):
    error = recorded(tmp_path, f"import sys\nsys.exit({code})").facts.error
    assert (error.kind, error.message) == ("SystemExit", message)


def test_an_early_success_has_its_line(tmp_path):
    facts = recorded(tmp_path, "import sys\nsys.exit()\n").facts
    assert facts.error is None and facts.lines == {"exit": 2}


def test_arguments_that_argparse_refuses_are_told_apart_from_other_exits(tmp_path, capfd):
    script = "import argparse\nparser = argparse.ArgumentParser()\nparser.parse_args()\n"
    error = recorded(tmp_path, script, "--depth", "4").facts.error
    assert (error.kind, error.message, error.line) == (ARGUMENTS, "unrecognized arguments: --depth 4", 3)


def test_what_happens_first_is_noted_once_with_its_line(tmp_path):
    recorder = recorded(tmp_path, "pass")
    recorder.script = __file__
    recorder.note("init")
    recorder.note("init")
    assert recorder.facts.order == ["init"] and recorder.facts.lines["init"] > 0


def test_shared_memory_shows_the_collective_and_no_more_than_fits(tmp_path):
    recorder = recorded(tmp_path, "pass")
    recorder.show("allreduce " * 9)
    assert recorder.shared[:] == (b"allreduce " * 4)
    recorder.show("")
    assert not recorder.shared[:].strip(b"\0")


def test_the_projection_of_a_mean_is_the_mean_of_the_projections(tmp_path):
    recorder = recorded(tmp_path, "pass")
    one, other = np.random.default_rng(1).standard_normal((2, 300_000))
    mean = np.mean([recorder.project([one]), recorder.project([other])], axis=0)
    assert np.allclose(recorder.project([(one + other) / 2]), mean)
    assert not np.allclose(recorder.project([one]), recorder.project([other]))


@pytest.mark.parametrize(
    ("value", "should"),
    [
        (np.float64(0.9), 0.9),
        (np.int64(4), 4),
        (4.0, 4),
        (np.float64(4), 4),
        (4.5, 4.5),
        (True, True),
        (np.str_("a"), "a"),
    ],
)
def test_numbers_of_numpy_are_facts_like_python_s_own(tmp_path, value, should):
    assert plain(value) == should and type(plain(value)) is type(should)
    recorder = recorded(tmp_path, "pass")
    recorder.facts.lines["fit"] = value
    assert msgspec.msgpack.decode(recorder.encoded())["lines"]["fit"] == should


def test_the_line_where_a_script_waits_is_seen_from_another_thread(tmp_path):
    reads, writes = os.pipe()

    def look():
        while Recorder.latest.facts.lines.get("waiting") != 4:
            Recorder.latest.note_waiting()
        os.write(writes, b".")

    looking = threading.Thread(target=look)
    recorder = Recorder(str(tmp_path / "script.py"), 1, mmap.mmap(-1, 40), HorovodFacts())
    (tmp_path / "script.py").write_text("import os\nimport sys\n\nos.read(int(sys.argv[1]), 1)\n")
    looking.start()
    recorder.run([str(reads)])
    looking.join()
    assert recorder.facts.error is None


def test_hashes_of_texts_differ_between_ranks_as_between_processes(tmp_path):
    one, other = salted_hash(1), salted_hash(2)
    for same in (3, 2.5, None, (1, 2)):
        assert one(same) == other(same) == hash(same)
    for text in ("epoch", b"epoch", ("epoch", 1), frozenset({"epoch"})):
        assert one(text) == one(text) != other(text)
    recorder = Recorder(str(tmp_path / "script.py"), 1, mmap.mmap(-1, 40), HorovodFacts())
    recorder.names = {"hash": one}
    (tmp_path / "script.py").write_text("raise ValueError(hash('epoch'))\n")
    recorder.run([])
    assert recorder.facts.error.message == str(one("epoch"))
