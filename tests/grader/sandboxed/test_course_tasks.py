"""A training next to an evaluator: how long it waits for an evaluation."""

import pytest

from grader.sandboxed import course_tasks, evaluator_pacing


@pytest.mark.parametrize(
    ("states", "looks"),
    [
        ([(0, 3), (0, 4), (1, 4), (9, 9)], 3),  # until the checkpoint of epoch 0 is evaluated
        ([(0, 3), (0, 8), (0, 9), (9, 9)], 3),  # or the evaluator has paused often and does not evaluate it
        ([(0, 0), (evaluator_pacing.ENDED, 0), (9, 9)], 2),  # or has ended
    ],
)
def test_a_training_waits_as_long_as_an_evaluation_may_come(monkeypatch, states, looks):
    seen = []

    def state():
        seen.append(evaluator_pacing.State(*states[len(seen)]))
        return seen[-1]

    monkeypatch.setattr(evaluator_pacing, "state", state)
    course_tasks.WaitForEvaluation().epoch_ends(0, None)
    assert len(seen) == looks


def test_its_patience_with_an_evaluator_that_does_nothing_ends(monkeypatch):
    monkeypatch.setattr(evaluator_pacing, "state", lambda: evaluator_pacing.State(0, 0))
    waiting = course_tasks.WaitForEvaluation()
    waiting.patience = 0.2
    waiting.epoch_ends(0, None)
    assert waiting.patience <= 0
