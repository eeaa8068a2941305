"""The glossary explains the words that lessons use, and leads to the lesson where each is first used."""

import json
import re

import pytest

from course import steps
from course.steps import ROOT

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
ENTRIES = dict(re.findall(r"^## (.+)\n\n((?:(?!## ).*\n?)+)", GLOSSARY, re.M))
# What everyone knows who trains models with Keras, units, and names.
KNOWN = {"AI", "API", "AUC", "CPU", "F1", "GB", "GPU", "L2", "MB", "MNIST", "NVIDIA", "OBS", "PATH", "PSR", "SGD", "S3"}
KNOWN |= {"IDEFICS", "URL", "V3", "VGG"}
EXPLAINED = [*ENTRIES, *(term for entry in ENTRIES.values() for term in re.findall(r"\*\*(.+?)\*\*", entry))]


def prose(step):
    """Return a lesson's text, without its code."""
    cells = json.loads(step.notebook.read_text())["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return " ".join(re.sub(r"```.*?```|\]\([^)]*\)", "", text, flags=re.S).split())


PROSE = {step: prose(step) for step in steps.in_order()}


def uses(text, term):
    """Whether a text has a word, in one of its forms."""
    stem = term.lower().replace("-", " ").removesuffix("y" if len(term) > 5 else "")
    return re.search(rf"\b{re.escape(stem)}", text.lower().replace("-", " ")) is not None


@pytest.mark.parametrize("step", PROSE, ids=lambda step: step.name)
def test_an_abbreviation_and_a_word_that_a_lesson_introduces_are_explained(step):
    plain = re.sub(r"`[^`]*`", "", PROSE[step])
    abbreviations = {word.rstrip("s") for word in re.findall(r"\b[A-Z][A-Z0-9]+s?\b", plain)}
    introduced = set(re.findall(r"\b[Aa]n? \*\*([a-z-]+(?: [a-z-]+)?)\*\*", plain))
    named = (abbreviations - KNOWN) | introduced
    assert [word for word in named if not any(uses(word, term) for term in EXPLAINED)] == []


@pytest.mark.parametrize("term", ENTRIES)
def test_a_term_leads_to_the_lesson_that_uses_it_first(term):
    first = next((step for step in PROSE if uses(PROSE[step], term)), None)
    links = re.findall(r"\]\(../notebooks/(\w+)/", ENTRIES[term])
    assert links == ([first.name] if first else [])


def test_terms_are_in_order():
    assert list(ENTRIES) == sorted(ENTRIES, key=str.lower)
