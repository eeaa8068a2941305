"""Reports: any of them follows the schema, is read back as it was, and shows no HTML of the learner."""

import itertools
import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.checks import CHECKS
from grader.report import figures, html
from grader.terms.report import NotYetError, Outcome, Remark, Report, schema
from tests.grader.checks.made_up_horovod import HOROVOD, rank
from tests.grader.checks.made_up_hosts import LAUNCH
from tests.grader.checks.made_up_production import PRODUCTION
from tests.grader.checks.made_up_workers import WORKERS

outcomes = st.builds(
    Outcome,
    name=st.text(max_size=50),
    step=st.integers(1, 17),
    status=st.sampled_from(["passed", "failed", "skipped", "error"]),
    points=st.integers(0, 10),
    max_points=st.integers(0, 10),
    message=st.text(max_size=200),
    hint=st.text(max_size=50),
    line=st.none() | st.integers(1, 10_000),
)


@given(st.lists(outcomes, max_size=7), st.sampled_from(["passed", "failed", "needs_review", "not_graded"]))
def test_any_report_follows_the_schema_and_shows_no_html_of_the_learner(found, status):
    report = Report(3, "fashion_mnist.py", status, 1.0, found)
    jsonschema.validate(json.loads(report.to_json()), schema())
    report.checks = [Outcome("<script>", 3, "failed", 0, 10, "<script>", "<script>", None)]
    assert "<script>" not in html.page(report, report.figure)


@given(st.lists(outcomes, max_size=7))
def test_a_report_is_read_back_as_it_was_written(found):
    report = Report(3, "fashion_mnist.py", "failed", 1.0, found)
    again = Report.from_published(json.loads(report.to_json()))
    assert again.checks == found and again.score == report.score


def test_the_json_object_has_the_fields_that_other_tools_read():
    outcome = ("name", "step", "status", "points", "max_points", "message", "hint", "line")
    report = Report(
        3, "fashion_mnist.py", "failed", 1.0, [Outcome("a", 3, "failed", 0, 10, "b", "c", None)]
    ).published()
    assert tuple(report) == ("schema", "step", "file", "status", "score", "max_score", "seconds", "checks", "remarks")
    assert report["schema"] == 1 and tuple(report["checks"][0]) == outcome


def test_a_check_that_is_not_passed_is_required_in_vain():
    report = Report(3, "fashion_mnist.py", "failed", 1.0, [Outcome("a", 3, "failed", 0, 10, "why", "try this", 7)])
    with pytest.raises(NotYetError, match=r"why \(line 7\) try this"):
        report.require(3)


def test_what_is_missing_is_shown_in_lines_that_fit_the_window_of_validate():
    found = Outcome("a", 3, "failed", 0, 10, "why " * 60, "try this", 7)
    with pytest.raises(NotYetError) as raised:
        Report(3, "fashion_mnist.py", "failed", 1.0, [found]).require(3)
    lines = str(raised.value).splitlines()
    assert len(lines) > 2 and max(map(len, lines)) <= 90 and "(line 7) try this" in " ".join(lines)


def test_a_check_is_required_by_its_name():
    outcomes = [Outcome("a", 8, "passed", 5, 5, "", "", None), Outcome("b", 8, "failed", 0, 5, "why", "", None)]
    report = Report(8, "imagenet_resnet50.py", "failed", 1.0, outcomes)
    report.require(8, "a")
    with pytest.raises(NotYetError, match="why"):
        report.require(8, "b")
    with pytest.raises(NotYetError, match="why"):
        report.require(8)
    with pytest.raises(NotYetError, match="newer than this notebook"):
        report.require(8, "c")


def test_every_figure_that_a_check_names_can_be_drawn():
    named = {check.figure for check in CHECKS if check.figure}
    assert named == figures.FIGURES.keys()


DRAWN = [
    *((name, HOROVOD) for name in ("visible_gpus", "lines_printed", "gradients_applied", "weight_distance")),
    *((name, HOROVOD) for name in ("steps_taken", "metrics_read")),
    *((name, PRODUCTION) for name in ("images_trained_on", "epochs_trained", "learning_rates")),
    ("images_of_workers", WORKERS),
    ("ranks_on_hosts", LAUNCH),
]


@pytest.mark.parametrize(("name", "made_up"), DRAWN, ids=[name for name, _ in DRAWN])
def test_a_figure_is_drawn_of_runs_and_none_of_ranks_that_did_nothing(name, made_up):
    runs = made_up.solved()
    assert figures.draw(name, runs).startswith("<svg")
    for each in runs.all_ranks():
        each.facts = type(each.facts)()
    assert name in ("visible_gpus", "lines_printed") or figures.draw(name, runs) == ""


def test_titles_of_a_figure_are_next_to_each_other():
    names = "2 ranks on one host without GPUs", "2 hosts with a rank and a GPU each", "3 ranks on one host with 4 GPUs"
    figure = figures.lines_printed([[rank(0, cluster=name)] for name in names])
    figure.draw_without_rendering()
    places = [ax.title.get_window_extent() for ax in figure.axes]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(places))


def test_what_failed_comes_before_what_a_person_has_to_look_at():
    outcomes = [Outcome("A", 3, status, 0, 10, "", "", None) for status in ("passed", "skipped", "error", "failed")]
    first = [Report(3, "fashion_mnist.py", "failed", 1.0, outcomes[:end]).first_failure for end in (4, 3, 2)]
    assert [outcome and outcome.status for outcome in first] == ["failed", "error", None]


def test_a_remark_is_in_the_json_object_and_in_no_learner_s_report():
    report = Report(3, "fashion_mnist.py", "passed", 1.0, remarks=[Remark(7, "imports ctypes: calls C code")])
    assert json.loads(report.to_json())["remarks"] == [{"line": 7, "text": "imports ctypes: calls C code"}]
    assert "ctypes" not in html.page(report, "")


def test_the_marks_of_a_report_have_colours_of_the_theme():
    outcomes = [Outcome("A", 3, status, 0, 10, "", "", None) for status in ("passed", "skipped", "error", "failed")]
    page = html.page(Report(3, "fashion_mnist.py", "failed", 1.0, outcomes), "")
    assert page.count('style="color:var(--jp-') == len(outcomes) and "color:#" not in page


@pytest.mark.parametrize(("name", "made_up"), DRAWN, ids=[name for name, _ in DRAWN])
def test_a_figure_has_a_white_background_of_its_own(name, made_up):
    assert "fill: #ffffff" in figures.draw(name, made_up.solved()).partition('id="patch_1"')[2][:300]
