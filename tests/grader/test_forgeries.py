"""No forged script passes: what reading finds is for a person, and the rest is judged by what it did."""

import base64
import json
import zlib

import pytest

from course.steps import get
from grader import checks
from grader.judge import judge
from grader.runner import expectations
from grader.reading import parsing
from grader.runner.pool import Pool
from tests.attacks.forgeries import FORGERIES, WRAPPED, without

HIDDEN = [forgery for forgery in FORGERIES if not checks.of(forgery.step).read(forgery.script).suspicious]


def test_there_are_many_of_each_class_and_no_two_alike():
    assert len({forgery.script for forgery in FORGERIES}) == len(FORGERIES) >= 170
    assert {forgery.kind for forgery in FORGERIES} == {
        "recorder",
        "text",
        "data",
        "numbers",
        "witness",
        "checks",
        "items",
        "hosts",
    }


@pytest.mark.parametrize("forgery", [each for each in FORGERIES if each not in HIDDEN], ids=str)
def test_what_goes_after_the_verdict_is_pointed_out(forgery):
    """A script that reading points out never passes; without the forged code, nothing of it is pointed out."""
    assert parsing.read(forgery.script).suspicious
    assert not parsing.read(get(forgery.step).starter.read_text()).suspicious


@pytest.fixture(scope="module")
def pool():
    """One pool for all."""
    with Pool() as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("forgery", [each for each in HIDDEN if each.in_ci], ids=str)
def test_a_forgery_that_reading_lets_through_does_not_pass(forgery, pool, tmp_path):
    path = tmp_path / get(forgery.step).script
    path.write_text(forgery.script)
    report = judge(path, forgery.step, pool)
    assert forgery.deserves(report), report
    assert report.first_failure.message


# Writes to every pipe what a rank of the solution reported in the same place, and ends.
REPLAYED = """
import base64
import zlib

RECORDED = {recorded}
place = f"{{hvd.size()}} {{hvd.local_size()}} {{hvd.rank()}}"
for number in range(3, 200):
    try:
        os.write(number, {secret} + zlib.decompress(base64.b85decode(RECORDED[place])))
    except OSError:
        pass
os._exit(0)
"""


@pytest.mark.slow
@pytest.mark.parametrize("secret", [b"", b"0" * 32], ids=["without a secret", "with another one"])
def test_reports_of_the_solution_sent_again_are_no_reports(secret, pool, tmp_path):
    step = get(3)
    clusters = checks.of(3).clusters(3)
    ran = json.loads(expectations.of(step, clusters, pool, checks.of(3).facts).answer)
    recorded = {}
    for cluster in clusters:
        for number, result in zip(cluster.numbers, ran["clusters"][cluster.name], strict=True):
            facts = json.dumps(result["facts"]).encode()
            recorded[f"{cluster.size} {cluster.slots} {number}"] = base64.b85encode(zlib.compress(facts, 9))
    assert all(zlib.decompress(base64.b85decode(each)) != b"null" for each in recorded.values())
    code = REPLAYED.format(recorded=recorded, secret=secret)
    path = tmp_path / step.script
    path.write_text(without(3, WRAPPED, code))
    report = judge(path, 3, pool)
    assert not parsing.read(path.read_text()).suspicious
    assert report.status == "failed" and report.score == 0 and "leaves no report" in report.first_failure.message
