"""A finding's sentences: what was seen, what was expected, what to look at, each with one full stop."""

import ast
from pathlib import Path

import pytest

from grader import checks
from grader.terms.findings import Finding, Unclear, Untold, counted, listed


@pytest.mark.parametrize(
    ("finding", "message"),
    [
        (Finding(seen="Rank 1 ends", expected="it trains"), "Rank 1 ends. Expected: it trains."),
        (Finding(seen="It fails: odd.", expected="a copy", hint="See x."), "It fails: odd. Expected: a copy. See x."),
        (Untold(seen="Rank 1 ends"), "Not checked: Rank 1 ends."),
        (Unclear(seen="hardly any data", expected="more"), "Needs manual review: hardly any data. Expected: more."),
    ],
)
def test_the_parts_of_a_finding_are_sentences_in_this_order(finding, message):
    assert finding.message == message


def test_numbers_and_lists_in_words():
    assert [counted(number, "step") for number in (0, 1, 2)] == ["0 steps", "1 step", "2 steps"]
    assert [listed([]), listed([1]), listed([1, 2, 3])] == ["", "1", "1, 2 and 3"]


def test_no_check_writes_the_words_of_the_renderer():
    words = "Expected:", "Not checked", "Needs manual review"
    for path in Path(checks.__file__).parent.rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text()))
        texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        assert not [text for text in texts for word in words if word in text], path.name
