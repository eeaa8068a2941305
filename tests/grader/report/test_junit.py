"""JUnit XML: valid for the strictest reader, and complete for those that show only a part of it."""

from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from grader import __main__ as command
from grader.report import junit
from grader.terms.report import Outcome, Report
from tests.grader.report.test_report import outcomes

# What the schema of Jenkins' xUnit plugin, the strictest of the readers, allows of the elements that are used here:
# the parent, attributes that an element has to have, and others that it may have.
SUITE = {"name", "tests", "failures", "errors"}
SCHEMA = {
    "testsuites": (None, set(), {*SUITE, "time"}),
    "testsuite": ("testsuites", SUITE, {"skipped", "time", "file", "timestamp", "id", "package", "hostname"}),
    "properties": ("testsuite", set(), set()),
    "property": ("properties", {"name", "value"}, set()),
    "testcase": ("testsuite", {"name"}, {"classname", "time"}),
    **dict.fromkeys(("failure", "error", "skipped"), ("testcase", set(), {"type", "message"})),
}
FAILED = Outcome("Gradients are averaged", 3, "failed", 0, 10, "why\nand where", "try this", 7)


def validate(element, parent=None):
    """Fail unless an element and all below it are as the schema asks."""
    above, required, optional = SCHEMA[element.tag]
    assert above == parent and required <= element.attrib.keys() <= required | optional, element.tag
    assert "time" not in element.attrib or float(element.attrib["time"]) >= 0
    for child in element:
        validate(child, element.tag)


def counted(suite):
    """Return a suite's test cases, failures, errors and skipped ones, by what it contains."""
    cases = suite.findall("testcase")
    return {"tests": len(cases)} | {
        f"{tag}s".replace("skippeds", "skipped"): sum(case.find(tag) is not None for case in cases)
        for tag in ("failure", "error", "skipped")
    }


def report(*found, status="failed"):
    return Report(3, "fashion_mnist.py", status, 1.5, list(found))


@given(st.lists(outcomes, max_size=7), st.sampled_from(["passed", "failed", "needs_review", "not_graded"]))
def test_any_report_is_valid_and_its_numbers_are_those_of_its_test_cases(found, status):
    suites = ElementTree.fromstring(junit.document(report(*found, status=status)))
    validate(suites)
    (suite,) = suites
    assert {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")} == counted(suite)
    assert all(suites.attrib[name] == suite.attrib[name] for name in ("tests", "failures", "errors", "time"))


def test_gitlab_shows_all_that_the_report_says():
    passed = Outcome("Runs", 1, "passed", 0, 0, "Correct.", "", None)
    suites = ElementTree.fromstring(junit.document(report(passed, FAILED)))
    cases = {(case.get("classname"), case.get("name")): case for case in suites.iter("testcase")}
    assert list(cases) == [("step 1", "Runs"), ("step 3", "Gradients are averaged")]
    assert len(cases["step 1", "Runs"]) == 0
    shown = cases["step 3", "Gradients are averaged"].find("failure").text
    assert shown == "fashion_mnist.py:7\nwhy\nand where\nHint: try this"


def test_jenkins_shows_where_to_look_in_one_line():
    (failure,) = ElementTree.fromstring(junit.document(report(FAILED))).iter("failure")
    assert failure.get("message") == "why (line 7)"


def test_the_points_are_properties():
    found = Outcome("A", 3, "passed", 2.5, 10, "", "", None)
    properties = ElementTree.fromstring(junit.document(report(found))).iter("property")
    named = {each.get("name"): each.get("value") for each in properties}
    assert named == {"file": "fashion_mnist.py", "status": "failed", "score": "2.5", "max_score": "10"}


def test_a_script_that_is_not_graded_is_an_error_and_no_failure(tmp_path):
    page = tmp_path / "report.xml"
    done = CliRunner().invoke(command.main, ["check", "--step", "99", "--junit", str(page), "fashion_mnist.py"])
    (suite,) = ElementTree.parse(page).getroot()
    assert done.exit_code == 2 and suite.get("name") == "step 99"
    assert counted(suite) == {"tests": 1, "failures": 0, "errors": 1, "skipped": 0}


@pytest.mark.parametrize("text", ["\ufffe", "\udcff", "\x00", "]]>", "&amp;", "<b>", "\u2028", "🙂"])
def test_characters_that_xml_cannot_hold_are_shown_as_what_they_are(text):
    found = Outcome(f"A{text}", 3, "failed", 0, 10, f"why {text}", text, None)
    document = junit.document(Report(3, f"{text}.py", "failed", 1.0, [found]))
    (case,) = ElementTree.fromstring(document).iter("testcase")
    assert case.get("name") in (f"A{text}", f"A{ascii(text)[1:-1]}") and case.find("failure").text


def test_the_file_is_written_next_to_the_usual_report(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "_judge", lambda number, file, console: report(FAILED))
    page = tmp_path / "report.xml"
    for options in ([], ["--json"]):
        check = ["check", "--step", "3", *options, "fashion_mnist.py"]
        usual = CliRunner().invoke(command.main, check)
        done = CliRunner().invoke(command.main, [*check, "--junit", str(page)])
        assert (done.stdout, done.exit_code) == (usual.stdout, usual.exit_code) == (usual.stdout, 1)
        assert counted(ElementTree.parse(page).getroot()[0])["failures"] == 1


@pytest.mark.parametrize("name", [".", "nowhere/report.xml"])
def test_a_file_that_cannot_be_written_is_no_verdict_and_no_traceback(monkeypatch, tmp_path, name):
    monkeypatch.setattr(command, "_judge", lambda number, file, console: report(FAILED))
    check = ["check", "--step", "3", "--junit", str(tmp_path / name), "fashion_mnist.py"]
    done = CliRunner().invoke(command.main, check)
    assert done.exit_code == 2 and "Gradients are averaged" in done.stdout
    assert str(tmp_path) in done.stderr and "Traceback" not in done.output
