"""A report as JUnit XML, which GitLab, Jenkins and other servers show: a suite with a test case per check."""

import re
from collections import Counter
from xml.etree import ElementTree

from course import steps
from grader.terms.report import Outcome, OutcomeStatus, Report

ELEMENTS: dict[OutcomeStatus, str] = {"failed": "failure", "error": "error", "skipped": "skipped"}
NOT_IN_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # characters that XML 1.0 cannot hold


def document(report: Report) -> bytes:
    """Return the report as an XML document in UTF-8. A run without a verdict has an error, and the rest is skipped."""
    counts = Counter(outcome.status for outcome in report.checks)
    totals = {
        "tests": str(len(report.checks)),
        "failures": str(counts["failed"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
        "time": f"{report.seconds:.3f}",
    }
    suites = ElementTree.Element("testsuites", {key: totals[key] for key in totals if key != "skipped"})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": steps.label(report.step)} | totals)
    properties = ElementTree.SubElement(suite, "properties")
    facts = {
        "file": report.file,
        "status": report.status,
        "score": f"{report.score:g}",
        "max_score": f"{report.max_score:g}",
    }
    for name, value in facts.items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": _valid(value)})
    for outcome in report.checks:
        _add(suite, outcome, report.file)
    ElementTree.indent(suites)
    document: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return document


def _add(suite: ElementTree.Element, outcome: Outcome, file: str) -> None:
    """Add the test case of a check. Its text holds all that the report says: GitLab shows no attribute of a failure."""
    # GitLab names the suite by the class, and tells test cases apart by class and name.
    named = {"classname": steps.label(outcome.step), "name": _valid(outcome.name)}
    case = ElementTree.SubElement(suite, "testcase", named)
    if outcome.status == "passed":
        return
    said = {"type": outcome.status, "message": _valid(outcome.summary)}
    lines = [f"{file}:{outcome.line}"] if outcome.line else []
    lines += [outcome.message] + ([f"Hint: {outcome.hint}"] if outcome.hint else [])
    ElementTree.SubElement(case, ELEMENTS[outcome.status], said).text = _valid("\n".join(lines))


def _valid(text: str) -> str:
    """Return a text with escapes in place of the characters that XML cannot hold."""
    return NOT_IN_XML.sub(lambda found: ascii(found[0])[1:-1], text)
