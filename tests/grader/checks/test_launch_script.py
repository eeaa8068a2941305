"""The checks of step 18, on made-up facts: what each one says, and what it leaves open."""

import pytest

from course.steps import get
from grader.checks import launch_script as checks
from grader.reading import shell
from grader.terms.findings import Finding, Untold
from grader.terms.runs import Rank, Runs
from grader.terms.watched_facts import LaunchFacts, SeenRank, SeenRun

SOURCE = shell.read(get(18).solution.read_text())
LARGE, SMALL = 8_000_000, 20_000  # bytes
VARIABLES = {"RUN": "a run", "SEED": "7", "DATA": "/scratch/data"}
SIZES = {
    "uneven": {"zoe": 1, "adam": 3},
    "failing": {"kim": 1, "lee": 1},
    "unshared": {},
    "full": {},
    "cut": {"ben": 1, "eva": 1},
    "cut_first": {"sam": 1, "pia": 1},
}
EXITS = {"uneven": 0, "failing": 3, "unshared": 1, "full": 1, "cut": 1, "cut_first": 1}


def launched(name):
    """Return what the solution does on a cluster."""
    ranks = [
        SeenRank(host, ["two  words"], dict(VARIABLES), "own")
        for host, number in SIZES[name].items()
        for _ in range(number)
    ]
    data, other = ("eth1", "eth0") if name == "failing" else ("eth0", "eth1")
    return LaunchFacts(
        runs=[SeenRun([], ranks, bool(ranks))],
        received={data: LARGE, other: SMALL},
        named={"unshared": ["ida"], "cut": ["eva"], "cut_first": ["sam"]}.get(name, []),
    )


def solved():
    """Return the runs of the solution."""
    ranks = {
        name: [Rank(0, 0, "The script", name, EXITS[name], None, "", "", "", launched(name), reported=True)]
        for name in SIZES
    }
    return Runs({"uneven": ranks.pop("uneven")}, ranks)


def first(runs, name):
    return (runs.clusters | runs.reserved)[name][0].facts.first


def found(check, name="uneven", exit_status=None, ended_for=None, ranks=None, **changes):
    """Return what a check finds where a cluster's run is changed."""
    runs = solved()
    ran = (runs.clusters | runs.reserved)[name][0]
    ran.exit = ran.exit if exit_status is None else exit_status
    ran.ended_for = ended_for
    for rank in ran.facts.first.ranks:
        for field, value in (ranks or {}).items():
            setattr(rank, field, value)
    for field, value in changes.items():
        setattr(ran.facts.first if field == "met" else ran.facts, field, value)
    return check(runs, solved(), SOURCE)


def test_the_solution_passes_each_check():
    for check in checks.part.checks:
        assert check.judge(solved(), solved(), SOURCE) is None
    assert checks.part.ended(solved(), 18, 60, SOURCE.text).status == "passed"


@pytest.mark.parametrize(
    ("check", "changes", "said"),
    [
        (checks.ranks, {"ranks": {"host": "head"}}, "4 on head. Expected: 3 on adam and 1 on zoe."),
        (
            checks.ranks,
            {"met": False},
            "4 ranks were started, and never exchanged data with each other (uneven). Expected: one job",
        ),
        (checks.arguments, {"ranks": {"arguments": ["two", "words"]}}, "has the arguments ['two', 'words']. Expected"),
        (
            checks.variables,
            {"ranks": {"variables": {"RUN": "a run"}}},
            "A rank on zoe does not have the variable SEED. Expected: '7'.",
        ),
        (
            checks.variables,
            {"ranks": {"variables": {"RUN": "mine", "SEED": "7"}}},
            "A rank on zoe has 'mine' in the variable RUN. Expected: 'a run'.",
        ),
        (
            checks.network,
            {"received": {"eth0": SMALL, "eth1": LARGE}},
            "received 8000 kB through eth1, and 20 kB through eth0, whose network DATA_NETWORK names (uneven).",
        ),
        (checks.network, {"received": {"eth0": LARGE, "eth1": LARGE // 2}}, "received 4000 kB through eth1"),
        (
            checks.staged,
            {"ranks": {"variables": {"DATA": "/shared/the data"}, "copied": "shared"}},
            "DATA points a rank on zoe to the folder '/shared/the data', which all hosts share. Expected: a copy",
        ),
        (checks.staged, {"ranks": {"copied": "none"}}, "to the folder '/scratch/data', where the data are not."),
        (checks.staged, {"ranks": {"variables": {}, "copied": "none"}}, "DATA points a rank on zoe to no folder."),
        (
            checks.none_without,
            {"name": "unshared", "ranks": {}, "exit_status": 0},
            "does not see the data (unshared), and the script ends with status 0.",
        ),
        (
            checks.none_without,
            {"name": "unshared", "ended_for": "time"},
            "and the script does not end. Expected: it ends with a status",
        ),
        (
            checks.none_without,
            {"name": "full", "exit_status": 0},
            "One host has no room for the data (full), and the script ends with status 0. Expected: a status",
        ),
        (
            checks.status,
            {"name": "failing", "exit_status": 0},
            "(failing), and the script ends with status 0. Expected: a status",
        ),
        (
            checks.status,
            {"name": "failing", "ended_for": "time"},
            "(failing), and the script does not end. Expected: it ends with a status other than 0.",
        ),
        (checks.status, {"name": "failing", "running": ["kim"]}, "processes still run on kim 5 s later."),
        (checks.lost, {"name": "cut", "ended_for": "time"}, "still runs 30 s later."),
        (checks.lost, {"name": "cut", "exit_status": 0}, "ends with status 0. Expected: a status other than 0."),
        (checks.lost, {"name": "cut", "named": []}, "prints no host's name. Expected: eva"),
        (checks.lost, {"name": "cut", "named": ["ben"]}, "prints ben. Expected: eva"),
        (checks.lost, {"name": "cut", "named": ["ben", "eva"]}, "prints ben as well. Expected: eva"),
        (
            checks.lost,
            {"name": "cut_first", "named": ["pia"]},
            "cable of sam was pulled, and the script prints pia.",
        ),
        (checks.lost, {"name": "cut", "running": ["ben"]}, "processes still run on ben"),
    ],
)
def test_what_is_missing_is_said(check, changes, said):
    finding = found(check, **changes)
    assert said in finding.message and type(finding) is Finding and finding.expected


def test_a_script_may_send_the_data_to_a_host_that_does_not_see_them():
    runs = solved()
    first(runs, "unshared").ranks = [SeenRank("otto", [], {}, "own")]
    assert checks.none_without(runs, solved(), SOURCE) is None


@pytest.mark.parametrize("name", ["unshared", "full"])
def test_ranks_without_data_are_found(name):
    runs = solved()
    first(runs, name).ranks = [SeenRank("otto", [])]
    assert "ranks were started all the same: 1 on otto." in checks.none_without(runs, solved(), SOURCE).message


@pytest.mark.parametrize(
    ("check", "why"),
    [
        (checks.ranks, "no rank was started (uneven)"),
        *(
            (check, "the ranks never exchanged data (uneven)")
            for check in (checks.arguments, checks.variables, checks.network, checks.staged)
        ),
        (checks.status, "the ranks never exchanged data (failing)"),
        (checks.lost, "the ranks never exchanged data (cut)"),
    ],
)
def test_nothing_is_decided_where_no_rank_starts(check, why):
    runs = solved()
    for name in SIZES:
        first(runs, name).ranks, first(runs, name).met = [], False
    finding = check(runs, solved(), SOURCE)
    assert finding == Untold(seen=why)


def test_starting_no_rank_without_data_is_not_checked_until_each_host_has_a_copy():
    runs = solved()
    for rank in first(runs, "uneven").ranks:
        rank.copied = "none"
    finding = checks.none_without(runs, solved(), SOURCE)
    assert finding == Untold(seen="not every host has a copy of the data")


@pytest.mark.parametrize(
    ("changes", "said", "line"),
    [
        ({"syntax": "launch.sh: line 12: unexpected end of file"}, "not valid bash: launch.sh: line 12", 12),
        ({"ended_for": "time", "met": False}, "does not end (uneven): 4 ranks started, which have not all", None),
        (
            {"ended_for": "time"},
            "4 ranks started, which exchanged data. Expected: it ends by itself.",
            None,
        ),
        ({"ended_for": "time", "ranks": []}, "The script does not end (uneven): no rank started.", None),
        ({"ended_for": "output"}, "The script prints endlessly (uneven): 4 ranks started", None),
        (
            {"exit": 127, "stdout": "mpirum: command not found\n"},
            "status 127 (uneven): 4 ranks started, which exchanged data. Expected: with status 0. It printed "
            "last: mpirum: command not found",
            None,
        ),
        ({"ranks": []}, "The script ends without starting a rank (uneven).", None),
    ],
)
def test_a_script_that_does_not_run_fails(changes, said, line):
    runs = solved()
    ran = runs.clusters["uneven"][0]
    for field, value in changes.items():
        setattr(next(each for each in (ran.facts.first, ran.facts, ran) if hasattr(each, field)), field, value)
    outcome = checks.part.ended(runs, 18, 60, SOURCE.text)
    assert outcome.status == "failed" and said in outcome.message and outcome.line == line


def test_words_are_found_outside_of_comments():
    source = shell.read("# mpirun is below\necho a-mpirun\nmpirun -np 2  # mpirun\n")
    assert source.line_of("horovodrun", "mpirun") == 3 and source.line_of("np") is None
