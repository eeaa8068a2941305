"""Facts: what a recorder writes is read as it was, and anything else counts as not reported."""

import copy
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course import tf_config
from grader.checks.training import CLUSTERS
from grader.runner import answers
from grader.terms.facts import Batch, Epoch, Error, Fit, HorovodFacts, State, TaskFacts
from grader.terms.job import Answer, Result

STATE = State([1.0], [float("nan")], 4, ["kernel"])
FACTS = HorovodFacts(
    order=["init", "model", "fit"],
    lines={"init": 3},
    gpus=[1],
    memory_growth=[1],
    fits=[
        Fit(
            verbose=1,
            optimizer={"kind": "SGD", "momentum": 0.9},
            callbacks=["First"],
            loss_weights=[],
            steps_per_epoch=4,
            log_dirs=[],
            weights_built=[1.0],
            initial_epoch=0,
            begin=STATE,
            batches=[Batch(0.01, [1.0], None, [2.0])],
            epochs=[Epoch(1, 0, {"loss": 0.5}, ["0.1"])],
            reads=[(0, "Stop", "loss", 0.5)],
        )
    ],
    error=Error("ValueError", "too bad", 7, "Traceback"),
)
WRITTEN = msgspec.to_builtins(FACTS)

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)


def read(found, kind=HorovodFacts):
    """Return the rank that reported these facts."""
    answer = Answer({"one-host": [Result(0, None, "", "", "", msgspec.msgpack.encode(found))]}, traffic=0)
    (rank,) = answers.read(answer, CLUSTERS, kind).ranks()
    return rank


def test_what_a_recorder_writes_is_read_as_it_was():
    rank = read(FACTS)
    assert rank.reported and msgspec.msgpack.encode(rank.facts) == msgspec.msgpack.encode(FACTS)
    assert (rank.error, rank.error_line) == ("ValueError: too bad", 7)


@pytest.mark.parametrize("sent", [b"", b"\xc1", b"\x91" * 100_000, msgspec.msgpack.encode(WRITTEN)[:-1], b"\xa1\xff"])
def test_what_cannot_be_read_counts_as_not_reported(sent):
    (rank,) = answers.read(Answer({"one-host": [Result(0, None, "", "", "", sent)]}, 0), CLUSTERS, HorovodFacts).ranks()
    assert not rank.reported and rank.facts == HorovodFacts()


@given(values)
def test_any_other_value_counts_as_not_reported(found):
    rank = read(found)
    assert rank.reported is (found == {}) and rank.facts == HorovodFacts()


@given(st.sampled_from(sorted(HorovodFacts.__struct_fields__)), values)
def test_facts_with_one_field_forged_are_whole_or_count_as_not_reported(name, value):
    forged = WRITTEN | {name: value}
    rank = read(forged)
    if rank.reported:
        assert msgspec.convert(msgspec.to_builtins(rank.facts), HorovodFacts).order == rank.facts.order
        assert getattr(rank.facts, name) is not None or value is None
    else:
        assert rank.facts == HorovodFacts()


def test_more_images_than_an_epoch_can_have_count_as_not_reported():
    for images in (5000, 60_000):
        facts = copy.deepcopy(WRITTEN)
        facts["fits"][0]["epochs"][0]["images"] = ["image"] * images
        assert read(facts).reported is (images == 5000)


def test_of_a_long_error_no_more_is_looked_through_than_any_library_writes():
    for text in ("2 root error(s) found.\n (0) ", "One rank [", "{{", "\n [[{{", "127.0.0.1:"):
        facts = copy.deepcopy(WRITTEN)
        facts["error"]["message"] = text * 100_000
        assert not read(facts).reported
        assert len(answers._steady(text * 100_000)) <= answers.LONGEST


def test_facts_of_another_kind_count_as_not_reported():
    assert not read(WRITTEN, TaskFacts).reported


@pytest.mark.parametrize(
    ("kind", "message", "cause"),
    [
        ("HorovodInternalError", "Horovod has been shut down. This was caused by …", "shut down"),
        ("UnavailableError", "{{function_node x}} Connection refused", "connection"),
        ("NotFoundError", "No CPU devices are available in this process", "no CPU"),
        ("RuntimeError", "Collective ops must be configured at program startup", "late strategy"),
        ("SystemExit", "TF_CONFIG: worker 0 of this cluster, :1, is already running here.", "task taken"),
    ],
)
def test_what_a_library_s_error_means_is_known(kind, message, cause):
    found = WRITTEN | {"error": {"kind": kind, "message": message, "line": None, "traceback": ""}}
    assert cause in read(found).causes
    assert read(WRITTEN).causes == frozenset()


@pytest.mark.parametrize("cause", ["task taken", "port taken"])
def test_causes_of_tf_config_are_in_its_words(cause):
    assert re.search(dict(answers.CAUSES)[cause], Path(tf_config.__file__).read_text())


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (
            "not: <tf.Variable numpy=\narray([[0.1, 0.2],\n [1, 2]], dtype=float32)>",
            "not: <tf.Variable numpy=\narray(…)>",
        ),
        (
            "Graph execution error:\n\n2 root error(s) found.\n  (0) OUT_OF_RANGE:  End of sequence\n"
            "\t [[{{node cond/IteratorGetNext}}]]\n  (1) UNAVAILABLE:  gone\n0 successful operations.",
            "Graph execution error:\n\nOUT_OF_RANGE:  End of sequence\n",
        ),
        ("shape:\n\n\t [[{{node a/b}}]] [Op:f]", "shape: [Op:f]"),
        ("it is to listen at 127.0.0.1:45589, and", "it is to listen at 127.0.0.1, and"),
        ('lost\nAdditional GRPC error information from remote target 0:\n:{"created":"@17","file":"a.cc"}\n', "lost\n"),
        ('  a\n  Additional GRPC error information from 0:\n  :{"created":"@17","file":"a.cc"}\n  b', "  a\n  b"),
    ],
)
def test_an_error_reads_alike_in_each_run(error, shown):
    assert answers._steady(error) == shown
