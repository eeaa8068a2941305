"""The checks of step 19, on made-up facts: what each one says of a job that lacks what is asked for."""

import pytest

from grader.checks import scheduled as checks
from tests.grader.checks.made_up import of, rows
from tests.grader.checks.made_up_hosts import JOB, LARGE, of_ranks, only


def unmet(cluster, run):
    """Return a change of a run in which the ranks never exchange data."""
    return lambda runs: setattr((runs.clusters | runs.reserved)[cluster][0].facts.runs[run], "met", False)


def one_apart(runs):
    runs.clusters["steady"][0].facts.runs[0].ranks[1].variables = {"CHECKPOINTS": "/shared/c/8"}


def folder(cluster, path, run=0):
    """Return a change of the folder for checkpoints of all ranks of a run."""
    return of_ranks(cluster, run, variables={"CHECKPOINTS": path})


LOST = "After a node was lost, "
FAILED = only("moved", 2), of("moved", exit=9, state="FAILED")
WRONG = {
    checks.ranks: [
        (of_ranks("steady", host="zoe"), "on these hosts (steady): 4 on zoe. Expected: 2 on adam and 2 on zoe."),
        (unmet("steady", 0), "never exchanged data with each"),
    ],
    checks.arguments: [(of_ranks("steady", arguments=["two", "words"]), "has the arguments ['two', 'words'].")],
    checks.network: [
        (of("steady", received={"eth1": LARGE}), "received 8000 kB through eth1, and 0 kB"),
        (of("failing", received={"eth0": LARGE, "eth1": LARGE}), "8000 kB through eth0"),
    ],
    checks.staged: [
        (of_ranks("steady", copied="shared"), "to the folder '/scratch/7', which all hosts share."),
        (of_ranks("steady", copied="none"), "'/scratch/7', where the data are not."),
        (of("steady", copies=["zoe"]), "a copy is still on zoe. Expected: none."),
    ],
    checks.checkpoints: [
        (folder("steady", "/scratch/7"), "CHECKPOINTS is '/scratch/7'. Expected: a folder below the one that was"),
        (one_apart, "CHECKPOINTS differs from rank to rank. Expected: one folder for all ranks of the job."),
        (of("steady", other="/shared/c/7"), "is '/shared/c/7' in two jobs."),
        (folder("moved", "/shared/c/8", 1), "in one run of the job and"),
    ],
    checks.status: [
        (of("failing", state="COMPLETED"), "status 3, and the job ends as COMPLETED (failing)."),
        (of("failing", ended_for="time"), "status 3, and the job does not end (failing). Expected: FAILED."),
    ],
    checks.limit: [(of("steady", limit="1-00:00:00"), "time limit is 1-00:00:00, as Slurm writes it.")],
    checks.requeued: [
        (only("moved", 1), "a node was drained and the job requeued, the job did not run"),
        (only("moved", 2), f"{LOST}the job did not run again; its state is NODE_FAIL."),
        (FAILED, f"{LOST}the job did not run again; its state is FAILED: the script ended with status 9."),
        (of_ranks("moved", 2, found=[]), f"{LOST}the next run finds these check"),
        (of_ranks("moved", 2, found=["checkpoint-other"]), f"{LOST}the next run finds these check"),
        (unmet("moved", 2), f"{LOST}the job started again on ben and lee, and its ranks never exchanged data."),
        (of("moved", state="FAILED"), "The last run of the job ends as FAILED (moved). Expected: COMPLETED."),
    ],
    checks.output: [
        (of("moved", output="/shared/work/train.out"), "job 7 goes to train.out, and so does"),
        (of("moved", printed=[2]), "its file has the output of these runs: 3."),
    ],
    checks.signal: [
        (only("limit", 1), "set to two minutes. It did not run again; its state is NODE_FAIL."),
        (of_ranks("limit", 1, found=["checkpoint-0"]), "no rank had saved a checkpoint on SIGUSR1."),
        (unmet("limit", 1), "After the signal, the job ran again, and its ranks never exchanged data."),
        (of("limit", state="TIMEOUT"), "The last run of the job ends as TIMEOUT. Expected: COMPLETED."),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("check", "change", "message"), rows(WRONG))
def test_what_is_missing_is_said(check, change, message):
    assert JOB.fails(check, change, message).expected


@pytest.mark.parametrize(
    ("changes", "said", "line"),
    [
        ({"syntax": "job.sbatch: line 12: unexpected end of file"}, "not valid bash: job.sbatch: line 12", 12),
        ({"refused": "sbatch fails: error: invalid partition"}, "Slurm does not take the job: sbatch fails", None),
        (
            {"ended_for": "time"},
            "The job does not end (steady): 4 ranks started, which exchanged data. Expected",
            None,
        ),
        (
            {"ended_for": "time", "runs": [], "stdout": "waits\n"},
            "The job does not end (steady): no rank started. Expected: it ends by itself. It printed last: waits",
            None,
        ),
        ({"state": "FAILED", "exit": 127}, "ends as FAILED, with status 127 (steady): 4 ranks started, which", None),
        ({"runs": []}, "The job ends without starting a rank (steady).", None),
    ],
)
def test_a_job_that_does_not_run_fails(changes, said, line):
    runs = JOB.solved()
    of("steady", **changes)(runs)
    outcome = checks.part.ended(runs, 19, 60, JOB.source.text)
    assert outcome.status == "failed" and said in outcome.message and outcome.line == line
