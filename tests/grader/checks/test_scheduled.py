"""The checks of step 19, on made-up facts: what each one says, and what it leaves open."""

import pytest

from course.steps import get
from grader.checks import scheduled as checks
from grader.reading import shell
from grader.terms.findings import Finding, Untold
from grader.terms.runs import Rank, Runs
from grader.terms.watched_facts import JobFacts, SeenRank, SeenRun

SOURCE = shell.read(get(19).solution.read_text())
LARGE, SMALL = 8_000_000, 20_000  # bytes
NODES = {
    "steady": [["adam", "zoe"]],
    "failing": [["ida", "otto"]],
    "moved": [["ada", "ben"], ["ben", "eva"], ["ben", "lee"]],
    "limit": [["mia", "tom"], ["mia", "tom"]],
}


def job(name):
    """Return what the solution's job does on a cluster."""
    runs = []
    for number, nodes in enumerate(NODES[name]):
        found = [f"checkpoint-{before}" for before in range(number)]
        if name == "limit" and number:
            found.append("checkpoint-0-asked")
        runs.append(
            SeenRun(
                nodes,
                [
                    SeenRank(node, ["two  words"], {"DATA": "/scratch/7", "CHECKPOINTS": "/shared/c/7"}, "own", found)
                    for node in nodes
                    for _ in range(2 if name == "steady" else 1)
                ],
                True,
            )
        )
    data, other = ("eth1", "eth0") if name == "failing" else ("eth0", "eth1")
    return JobFacts(
        number=7,
        limit="01:00:00",
        output="/shared/work/train-7.out",
        printed=list(range(len(runs))),
        runs=runs,
        other="/shared/c/1" if name == "steady" else "",
        received={data: LARGE, other: SMALL},
        state="FAILED" if name == "failing" else "COMPLETED",
    )


def solved():
    """Return the runs of the solution."""
    ranks = {
        name: [Rank(0, 0, "The script", name, 3 * (name == "failing"), None, "", "", "", job(name), reported=True)]
        for name in NODES
    }
    return Runs({"steady": ranks.pop("steady")}, ranks)


def found(check, name, change):
    """Return what a check finds where the facts of a cluster are changed."""
    runs = solved()
    ran = (runs.clusters | runs.reserved)[name][0]
    change(ran.facts)
    return check(runs, solved(), SOURCE)


def setting(field, value):
    """Return a change of a field of a job."""
    return lambda facts: setattr(facts, field, value)


def of_run(number, field, value):
    """Return a change of a field of a run."""
    return lambda facts: setattr(facts.runs[number], field, value)


def of_ranks(field, value, run=0):
    """Return a change of a field of all ranks of a run."""

    def change(facts):
        for rank in facts.runs[run].ranks:
            setattr(rank, field, value)

    return change


def checkpoints(folder, run=0):
    """Return a change of the folder for checkpoints of all ranks of a run."""
    return of_ranks("variables", {"CHECKPOINTS": folder}, run)


def only(number):
    """Return a change of a job that did not run again after so many runs."""

    def change(facts):
        del facts.runs[number:]
        facts.state = "NODE_FAIL"

    return change


def test_the_solution_passes_each_check():
    for check in checks.part.checks:
        assert check.judge(solved(), solved(), SOURCE) is None
    assert checks.part.ended(solved(), 19, 60, SOURCE.text).status == "passed"


@pytest.mark.parametrize(
    ("check", "name", "change", "said"),
    [
        (
            checks.ranks,
            "steady",
            of_ranks("host", "zoe"),
            "Ranks were started on these hosts (steady): 4 on zoe. Expected: 2 on adam and 2 on zoe.",
        ),
        (checks.ranks, "steady", of_run(0, "met", False), "never exchanged data with each"),
        (checks.arguments, "steady", of_ranks("arguments", ["two", "words"]), "has the arguments ['two', 'words']."),
        (checks.network, "steady", setting("received", {"eth1": LARGE}), "received 8000 kB through eth1, and 0 kB"),
        (checks.network, "failing", setting("received", {"eth0": LARGE, "eth1": LARGE}), "8000 kB through eth0"),
        (checks.staged, "steady", of_ranks("copied", "shared"), "to the folder '/scratch/7', which all hosts share."),
        (checks.staged, "steady", of_ranks("copied", "none"), "'/scratch/7', where the data are not."),
        (checks.staged, "steady", setting("copies", ["zoe"]), "a copy is still on zoe. Expected: none."),
        (
            checks.checkpoints,
            "steady",
            checkpoints("/scratch/7"),
            "CHECKPOINTS is '/scratch/7'. Expected: a folder below the one that was given, '/shared/c'.",
        ),
        (
            checks.checkpoints,
            "steady",
            lambda facts: setattr(facts.runs[0].ranks[1], "variables", {"CHECKPOINTS": "/shared/c/8"}),
            "CHECKPOINTS differs from rank to rank. Expected: one folder for all ranks of the job.",
        ),
        (checks.checkpoints, "steady", setting("other", "/shared/c/7"), "is '/shared/c/7' in two jobs."),
        (checks.checkpoints, "moved", checkpoints("/shared/c/8", 1), "in one run of the job and"),
        (checks.status, "failing", setting("state", "COMPLETED"), "status 3, and the job ends as COMPLETED (failing)."),
        (checks.limit, "steady", setting("limit", "1-00:00:00"), "time limit is 1-00:00:00, as Slurm writes it."),
        (
            checks.requeued,
            "moved",
            only(1),
            "a node was drained and the job requeued, the job did not run",
        ),
        (
            checks.requeued,
            "moved",
            only(2),
            "a node was lost, the job did not run again; its state is NODE_FAIL.",
        ),
        (checks.requeued, "moved", of_ranks("found", [], 2), "After a node was lost, the next run finds these check"),
        (
            checks.requeued,
            "moved",
            of_ranks("found", ["checkpoint-other"], 2),
            "a node was lost, the next run finds these check",
        ),
        (
            checks.requeued,
            "moved",
            of_run(2, "met", False),
            "After a node was lost, the job started again on ben and lee, and its ranks never exchanged data.",
        ),
        (
            checks.requeued,
            "moved",
            setting("state", "FAILED"),
            "The last run of the job ends as FAILED (moved). Expected: COMPLETED.",
        ),
        (checks.output, "moved", setting("output", "/shared/work/train.out"), "job 7 goes to train.out, and so does"),
        (checks.output, "moved", setting("printed", [2]), "its file has the output of these runs: 3."),
        (checks.signal, "limit", only(1), "set to two minutes. It did not run again; its state is NODE_FAIL."),
        (checks.signal, "limit", of_ranks("found", ["checkpoint-0"], 1), "no rank had saved a checkpoint on SIGUSR1."),
        (
            checks.signal,
            "limit",
            of_run(1, "met", False),
            "After the signal, the job ran again, and its ranks never exchanged data.",
        ),
        (
            checks.signal,
            "limit",
            setting("state", "TIMEOUT"),
            "The last run of the job ends as TIMEOUT. Expected: COMPLETED.",
        ),
    ],
)
def test_what_is_missing_is_said(check, name, change, said):
    finding = found(check, name, change)
    assert said in finding.message and type(finding) is Finding and finding.expected


def test_a_job_that_does_not_end_when_a_rank_fails_is_found():
    runs = solved()
    runs.reserved["failing"][0].ended_for = "time"
    finding = checks.status(runs, solved(), SOURCE)
    assert finding.message == "A rank fails with status 3, and the job does not end (failing). Expected: FAILED."


def test_a_job_that_failed_and_was_not_requeued_is_reported_with_its_exit_status():
    runs = solved()
    ran = runs.reserved["moved"][0]
    ran.exit, ran.facts.state = 9, "FAILED"
    del ran.facts.runs[2:]
    assert checks.requeued(runs, solved(), SOURCE).message == (
        "After a node was lost, the job did not run again; its state is FAILED: the script ended with status 9. "
        "Expected: it runs again on the other nodes."
    )


@pytest.mark.parametrize(
    ("check", "why"),
    [
        (checks.ranks, "no rank was started (steady)"),
        *(
            (check, "the ranks never exchanged data (steady)")
            for check in (checks.arguments, checks.network, checks.staged, checks.checkpoints)
        ),
        (checks.status, "the ranks never exchanged data (failing)"),
        (checks.requeued, "the ranks never exchanged data (moved)"),
        (checks.signal, "the ranks never exchanged data (limit)"),
    ],
)
def test_nothing_is_decided_where_no_rank_starts(check, why):
    runs = solved()
    for ran in (ranks[0] for ranks in (runs.clusters | runs.reserved).values()):
        ran.facts.runs = [SeenRun(["adam"])]
    finding = check(runs, solved(), SOURCE)
    assert finding == Untold(seen=why)


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
    runs = solved()
    ran = runs.clusters["steady"][0]
    for field, value in changes.items():
        setattr(ran.facts if hasattr(ran.facts, field) else ran, field, value)
    outcome = checks.part.ended(runs, 19, 60, SOURCE.text)
    assert outcome.status == "failed" and said in outcome.message and outcome.line == line
