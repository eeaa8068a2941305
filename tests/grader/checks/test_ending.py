"""How a run ended, in words: which rank, in which collective, in a line of which step, and what was expected."""

import math

import pytest
from msgspec.structs import replace

from course.internal.stalls import EXPECTED, GRADIENTS, METRICS, VARIABLES
from grader.checks import ending
from grader.terms.facts import Batch, Epoch, Fit, HorovodFacts, State, TaskFacts
from grader.terms.report import Outcome
from grader.terms.runs import Rank, Runs

BROADCAST = "broadcast of a tensor (3,) in broadcast_variables"
GRADIENT = "allreduce of a tensor (3,) in allreduce_grads"
METRIC = "allreduce of a tensor () in _average_metrics_in_place"
SCRIPT = "import os\ncallbacks.append(hvd.callbacks.BroadcastGlobalVariablesCallback())\nmodel.fit()\n"
FIT = Fit(0, {}, [], [], 1, [], [], 0, State([], [], 0, []))


def rank(number: int, name: str = "", facts=None, **seen) -> Rank:
    """Return a rank that trained and ended well, but for what is given."""
    values = {"exit": 0, "ended_for": None, "collective": "", "stdout": "", "stderr": "", "reported": True} | seen
    own = HorovodFacts(fits=[FIT]) if facts is None else facts
    return Rank(number, 0, name or f"Rank {number}", "2 hosts with a rank and a GPU each", facts=own, **values)


def judged(*ranks: Rank, script: str = "") -> Outcome:
    return ending.judge(Runs({"two-hosts": list(ranks)}), 6, 60, script)


def crashed(number: int, error: str, line: int | None = None, causes=(), **seen) -> Rank:
    return rank(number, exit=1, error=error, error_line=line, causes=frozenset(causes), **seen)


def stuck(number: int, collective: str) -> Rank:
    return rank(number, exit=-9, ended_for="stall", collective=collective)


def test_ranks_that_end_well_pass():
    assert judged(rank(0), rank(1)).status == "passed"


def test_a_run_that_had_to_be_ended_before_all_others_is_told():
    killed = rank(0, "Chief", TaskFacts(), exit=-9, ended_for="memory")
    found = ending.judge(Runs({}, {"killed": [killed]}), 15, 60)
    assert found.status == "failed"
    assert found.message.startswith("Chief (2 hosts with a rank and a GPU each) was ended: ")
    found = ending.judge(Runs({}, {"killed": [rank(0, exit=-9)]}), 15, 60)
    assert (found.status, found.message) == ("error", "No run of the program was seen.")


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        ((stuck(0, BROADCAST), stuck(1, "")), f"rank 0 waits in {VARIABLES}; rank 1 never reaches a collective."),
        ((stuck(0, METRIC), rank(1)), f"rank 0 waits in {METRICS}; rank 1 has ended."),
        (
            (stuck(0, GRADIENT), stuck(1, BROADCAST)),
            f"rank 1 waits in {VARIABLES}; rank 0 never joins it: it waits in {GRADIENTS}.",
        ),
    ],
)
def test_a_deadlock_names_each_rank_s_place_and_the_rank_at_fault(ranks, message):
    said = judged(*ranks).message
    assert said.startswith(f"Deadlock (2 hosts with a rank and a GPU each): {message} {EXPECTED}")


def test_ranks_that_horovod_pairs_in_different_collectives_are_said_to_be_there():
    mismatch = "FailedPreconditionError: Mismatched ALLREDUCE tensor shapes"
    ranks = [crashed(0, mismatch, 3, {"mismatch"}, collective=METRIC)]
    ranks.append(crashed(1, mismatch, 3, {"mismatch"}, collective=GRADIENT))
    found = judged(*ranks)
    assert found.message.startswith(
        "The ranks call different collectives at the same time (2 hosts with a rank and a GPU each):"
    )
    assert f"rank 0 calls {METRICS}; rank 1 never joins it: it calls {GRADIENTS}." in found.message
    assert "a MetricAverageCallback that rank 1 lacks" in found.message


def test_a_mismatch_within_one_collective_shows_horovod_s_error():
    mismatch = "FailedPreconditionError: Mismatched BROADCAST root ranks"
    ranks = [crashed(number, mismatch, 3, {"mismatch"}, collective=BROADCAST) for number in range(2)]
    assert "Mismatched BROADCAST root ranks" in judged(*ranks).message


@pytest.mark.parametrize(
    "waiting",
    [
        crashed(0, "UnknownError: Horovod has been shut down", 3, {"shut down"}, collective=GRADIENT),
        rank(0, exit=-9, ended_for="others", collective=GRADIENT),
    ],
)
def test_a_rank_that_waits_for_one_that_has_ended_names_both_and_the_collective(waiting):
    message = judged(waiting, rank(1)).message
    assert f"waits in {GRADIENTS} for rank 1, which has already ended." in message and EXPECTED in message


def test_a_rank_that_waits_for_several_that_have_ended_names_none_of_them():
    waiting = rank(0, exit=-9, ended_for="others", collective=GRADIENT)
    assert f"waits in {GRADIENTS} for ranks that have already ended." in judged(waiting, rank(1), rank(2)).message


def test_two_processes_that_do_one_task_are_not_named():
    taken = crashed(0, "TaskError: worker 0 is already running here", causes={"task taken"})
    found = judged(taken, rank(1))
    assert found.status == "failed" and found.message == (
        "Two processes do the same task of the cluster. "
        "Expected: each process has an index of its own, which TF_CONFIG gives."
    )


def test_the_rank_that_fails_first_is_reported_and_not_the_one_that_waits_for_it():
    waiting = crashed(0, "UnknownError: Horovod has been shut down", 3, {"shut down"})
    assert judged(waiting, crashed(1, "ValueError: odd", 1)).message.startswith("Rank 1")


def test_a_crash_belongs_to_the_step_of_its_line():
    found = judged(crashed(0, "TypeError: root_rank", 2), rank(1), script=SCRIPT)
    assert (found.step, found.line) == (4, 2)
    assert (
        "Rank 0 (2 hosts with a rank and a GPU each) fails in a line of step 4: TypeError: root_rank" in found.message
    )


def test_a_crash_in_a_line_of_the_first_program_belongs_to_the_step_in_work():
    found = judged(crashed(0, "KeyError: 'val_accuracy'", 1), rank(1), script=SCRIPT)
    assert found.step == 6 and "fails: KeyError" in found.message


def test_a_gpu_that_is_chosen_too_late_leads_to_the_line_that_used_all_of_them():
    late = crashed(0, "RuntimeError: Visible devices", 3, {"late GPU"}, facts=HorovodFacts(lines={"devices used": 2}))
    assert f"on line 2: {SCRIPT.splitlines()[1]}. Expected: " in judged(late, rank(1), script=SCRIPT).message


def test_ranks_of_which_only_some_validate_are_named():
    trained, validated = (
        HorovodFacts(fits=[replace(FIT, epochs=[Epoch(1, steps, {"loss": 1.0}, [], [])])]) for steps in (0, 1)
    )
    apart = [stuck(0, METRIC), stuck(1, GRADIENT)]
    failed = [rank(0), crashed(1, "KeyError: 'val_accuracy'", 3)]
    for ranks in (apart, failed):
        ranks[0].facts, ranks[1].facts = validated, trained
        assert judged(*ranks).message.splitlines()[0].endswith("on rank 0, and not on rank 1.")


@pytest.mark.parametrize("kind", ending.HINTS)
def test_an_error_that_stands_for_one_mistake_leads_to_it(kind):
    found = judged(crashed(0, f"{kind}: …", 3, error_kind=kind))
    assert found.message.endswith(f"last line. {ending.HINTS[kind]}")
    assert ending.HINTS[kind] not in judged(crashed(0, "ImportError: …", 3, error_kind="ImportError")).message


def test_a_hidden_cpu_leads_to_the_call_that_hides_it():
    found = judged(crashed(0, "NotFoundError: No CPU devices are available in this process", 86, causes=["no CPU"]))
    assert found.message.endswith(f"last line. {ending.NO_CPU}")


def test_weights_that_are_nan_are_named_with_the_highest_learning_rate_before():
    batches = [Batch(rate, [0.0], [0.0], [weight]) for rate, weight in ((25.5, 1.0), (0.02, math.nan), (9.0, math.nan))]
    found = judged(rank(0, facts=HorovodFacts(fits=[replace(FIT, batches=batches)])))
    assert "weights are NaN after step 2, at a learning rate of up to 25.5. " in found.message


def test_a_rank_that_had_to_be_ended_names_the_line_that_it_had_reached():
    for reason in ("time", "output"):
        endless = rank(1, facts=HorovodFacts(lines={"waiting": 2}), exit=-9, ended_for=reason)
        assert judged(rank(0), endless).line == 2


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        ({"ended_for": "output"}, "prints endlessly"),
        ({"ended_for": "memory"}, "took too much memory"),
        ({"ended_for": "time", "exit": -9}, "does not end: it was ended after 60 s"),
        ({"exit": 1, "error": "BlockingIOError: …", "causes": {"locked"}}, "fails: another rank writes the same file"),
        ({"exit": -11}, "was killed by signal 11"),
        ({"exit": 3}, "ends with exit status 3"),
        ({"exit": 3, "reported": False}, "ends with exit status 3, and leaves no report"),
        ({"facts": HorovodFacts()}, "ends without training. Expected: it trains a model with model.fit"),
    ],
)
def test_each_way_to_end_is_named_with_the_rank(seen, message):
    found = judged(rank(0), rank(1, **seen))
    assert found.status == "failed" and message in found.message and "Rank 1" in found.message


def test_an_evaluator_ends_without_evaluating_and_not_without_training():
    assert judged(rank(0, "Evaluator", TaskFacts(evaluations=[[1.0]]))).status == "passed"
    message = judged(rank(0, "Evaluator", TaskFacts())).message
    assert "ends without evaluating a checkpoint. Expected: it evaluates each one that is saved." in message
