"""What must hold for any input: reading, judging and reporting, on inputs that hypothesis makes up.

Ranks are made up too: a synthetic run in which every rank's gradient is known says what the rubric has to find.
"""

import ast
import contextlib
import json

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course.steps import ROOT, get
from grader import epochs, facts, judge, pictures, properties, source, tiny
from grader.facts import RankFacts, Runs
from grader.plans import CLUSTERS
from grader.pool import Pool
from grader.report import Check, Report

SOLUTION = get(6).solution.read_text()
SCHEMA = json.loads((ROOT / "grader" / "schema.json").read_text())
NOTHING = source.read("pass")

vectors = st.lists(st.floats(-10, 10, width=32), min_size=4, max_size=4)
names = st.from_regex(r"[a-z][a-z0-9]{2,10}", fullmatch=True)


# --- Reading --------------------------------------------------------------------------------------------------------


@given(st.binary(max_size=2000))
def test_any_file_is_read_or_refused_with_a_message(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("file") / "fashion_mnist.py"
    path.write_bytes(content)
    try:
        assert isinstance(judge._read(path), str)
    except judge.NoScriptError as refusal:
        assert str(refusal).startswith("The file is")


@given(st.text(max_size=300))
def test_any_text_is_parsed_or_refused(text):
    with contextlib.suppress(SyntaxError, ValueError):
        source.read(text)


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
    assert source.read(rewritten(old, new)).suspicious == []


@pytest.mark.slow
@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=st.sampled_from(RENAMED), new=names.filter(lambda name: name not in SOLUTION))
def test_other_names_and_no_comments_pass(warm_pool, tmp_path, old, new):
    path = tmp_path / "fashion_mnist.py"
    path.write_text(rewritten(old, new))
    report = judge.judge(path, 6, warm_pool)
    assert report.status == "passed", report.first_failure


@pytest.fixture(scope="module")
def warm_pool():
    with Pool() as pool:
        yield pool


# --- Judging --------------------------------------------------------------------------------------------------------


def trained(gradients, update, start=None, rate=0.01) -> Runs:
    """Return a run of a batch, in which each rank has a gradient and applies what update makes of all of them."""
    ranks = []
    for rank, gradient in enumerate(gradients):
        before = np.array(start[rank] if start else [1.0, 2.0, 3.0, 4.0])
        updated = before - rate * np.array(update(rank))
        batch = {"local": gradient, "before": list(before), "rate": rate, "updated": list(updated)}
        batch |= {"after": list(updated), "slots": [0.0] * 4}
        fit = {"optimizer": {"kind": "SGD"}, "batches": [batch], "callbacks": [], "weights_built": list(before)}
        fit |= {"loss_weights": []}
        ranks.append(RankFacts(rank, 0, f"Rank {rank}", "made up", 0, None, "", "", "", fits=[fit], reported=True))
    return Runs({"one-host": ranks}, {}, traffic=1000)


several = st.lists(vectors, min_size=2, max_size=5).filter(
    lambda gradients: np.ptp(np.array(gradients), axis=0).max() > 1 and np.abs(np.sum(gradients, axis=0)).max() > 1
)


@given(several)
def test_the_mean_of_all_gradients_is_right_and_nothing_else_is(gradients):
    mean, total = np.mean(gradients, axis=0), np.sum(gradients, axis=0)
    right = trained(gradients, lambda rank: mean)
    assert properties.judge_mean_gradient(right, right, NOTHING) is None
    summed = properties.judge_mean_gradient(trained(gradients, lambda rank: total), right, NOTHING)
    assert "the sum of their gradients" in summed.message
    own = properties.judge_mean_gradient(trained(gradients, lambda rank: gradients[rank]), right, NOTHING)
    assert "its own gradient" in own.message


@given(several)
def test_what_the_host_did_not_see_is_no_pass(gradients):
    mean = np.mean(gradients, axis=0)
    right, claimed = trained(gradients, lambda rank: mean), trained(gradients, lambda rank: mean)
    claimed.traffic = 10
    assert properties.judge_mean_gradient(claimed, right, NOTHING).unclear


@given(several)
def test_other_weights_on_any_rank_are_found(gradients):
    mean = np.mean(gradients, axis=0)
    runs = trained(gradients, lambda rank: mean)
    assert properties.judge_same_weights(runs, runs, NOTHING) is None
    apart = trained(gradients, lambda rank: mean, start=[[1.0, 2.0, 3.0, 4.0 + rank] for rank in range(len(gradients))])
    assert "own weights" in properties.judge_same_weights(apart, runs, NOTHING).message


@given(
    st.sets(st.integers(0, 17), min_size=4),
    st.floats(0.002, 3),
    st.floats(-5, 5),
    st.lists(st.floats(-0.1, 0.1), min_size=40, max_size=40),
)
def test_images_are_told_apart_however_they_are_scaled_and_shifted(shown, scale, offset, noise):
    greys = [float(tiny._grey(number, 60).mean()) for number in sorted(shown)] * 2
    seen = [f"{scale * (grey + blur) + offset:.4f}" for grey, blur in zip(greys, noise, strict=False)]
    assert epochs._different(seen) == len(shown)


def test_a_training_of_no_epochs_is_no_pass_and_no_fault_of_the_grader():
    runs = trained([[1.0] * 4] * 2, lambda rank: [1.0] * 4)
    for _, rank in runs.ranks():
        rank.fits[0] |= {"verbose": int(not rank.rank), "epochs": [], "batches": [], "log_dirs": [], "reads": []}
    runs.topologies["one-host"][0].stdout = "Test accuracy"
    assert properties.judge_one_voice(runs, runs, NOTHING).unclear
    assert pictures.draw(4, runs) == ""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_facts_of_any_shape_are_taken_or_count_as_none(found):
    result = {"exit": 0, "ended_for": None, "collective": "", "facts": found, "stdout": "", "stderr": ""}
    runs = facts.parse({"topologies": {"one-host": [result]}, "traffic": 0}, CLUSTERS)
    ((_, rank),) = runs.ranks()
    assert rank.reported in (True, False)


@pytest.mark.parametrize("fault", [ZeroDivisionError, ValueError, OSError])
def test_a_fault_of_the_grader_is_no_verdict(tmp_path, monkeypatch, fault):
    def broken(step, pool):
        raise fault("broken")

    monkeypatch.setattr(judge, "expected_runs", broken)
    path = tmp_path / "fashion_mnist.py"
    path.write_text(SOLUTION)
    report = judge.judge(path, 6, pool=None)
    assert (report.status, report.score) == ("not_graded", 0)
    assert "The grader broke: " in report.first_failure.message


# --- Reporting ------------------------------------------------------------------------------------------------------

checks = st.builds(
    Check,
    name=st.text(max_size=50),
    step=st.integers(1, 17),
    status=st.sampled_from(["passed", "failed", "skipped", "error"]),
    points=st.integers(0, 10),
    max_points=st.integers(0, 10),
    message=st.text(max_size=200),
    hint=st.text(max_size=50),
    line=st.none() | st.integers(1, 10_000),
)


@given(st.lists(checks, max_size=7), st.sampled_from(["passed", "failed", "needs_review", "not_graded"]))
def test_any_report_follows_the_schema_and_shows_no_html_of_the_learner(found, status):
    report = Report(3, "fashion_mnist.py", status, 1.0, found)
    jsonschema.validate(json.loads(report.to_json()), SCHEMA)
    report.checks = [Check("<script>", 3, "failed", 0, 10, "<script>", "<script>")]
    assert "<script>" not in report._repr_html_()
