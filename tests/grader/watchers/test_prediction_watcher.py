"""Step 22's watcher: what it notes of the functions that it calls."""

import msgspec
import pytest

from grader.terms.watched_facts import PredictionFacts
from grader.watchers import prediction_process
from tests.grader.checks.made_up_prediction import MEASURED, SOLUTION, predicted

BOTH = "def fit(measured): return 1, 2\ndef step_seconds(*arguments): return {}\n"


@pytest.mark.parametrize(
    ("result", "numbers"),
    [
        ("0.5", [0.5]),
        ("(1, 2)", [1, 2]),
        ("__import__('numpy').float32(0.5)", [0.5]),
        ("__import__('numpy').array([1, 2])", [1, 2]),
        ("None", []),
        ("'text'", []),
        ("[[1]]", []),
        ("float('nan')", ["nan"]),
    ],
)
def test_a_function_returns_numbers_or_it_is_shown(result, numbers, tmp_path):
    program = tmp_path / "predict.py"
    program.write_text(BOTH.format(result))
    facts = prediction_process.answers(str(program), MEASURED)
    returned = facts.steps[0].returned
    assert [str(each) for each in returned.numbers] == [str(float(each)) for each in numbers]
    assert returned.shown and returned.error is None
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(facts), type=PredictionFacts).steps


def test_an_error_has_its_line(tmp_path):
    program = tmp_path / "predict.py"
    program.write_text(BOTH.format("1 / 0"))
    error = prediction_process.answers(str(program), MEASURED).steps[0].returned.error
    assert (error.kind, error.line) == ("ZeroDivisionError", 2)


@pytest.mark.parametrize("program", ["", "fit = 1", "1 / 0", "raise SystemExit"])
def test_a_file_that_cannot_be_used_is_an_error(program, tmp_path):
    (tmp_path / "predict.py").write_text(program)
    (tmp_path / "measured.json").write_bytes(msgspec.json.encode(MEASURED))
    with pytest.raises(SystemExit, match="1"):
        prediction_process.main(str(tmp_path / "predict.py"), tmp_path)
    facts = msgspec.msgpack.decode((tmp_path / "facts").read_bytes(), type=PredictionFacts)
    assert facts.error and not facts.steps


def test_the_solution_predicts_what_was_measured():
    (rank,) = predicted(SOLUTION).clusters.popitem()[1]
    network = rank.facts.network
    assert [*network.predicted.numbers, network.model] == pytest.approx([network.measured] * 2)
