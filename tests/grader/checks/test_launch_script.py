"""The checks of step 18, on made-up facts: what each one says of a script that lacks what is asked for."""

import pytest

from grader.checks import launch_script as checks
from grader.reading import shell
from grader.terms.watched_facts import SeenRank
from tests.grader.checks.made_up import of, rows
from tests.grader.checks.made_up_hosts import LARGE, LAUNCH, SMALL, launched, of_ranks

NO_SEED, OTHER_RUN = {"RUN": "a run"}, {"RUN": "mine", "SEED": "7"}
NOT_STAGED = of("unshared", ranks=[SeenRank("otto", [])]), of("full", ranks=[SeenRank("otto", [])])
SHARED = {"variables": {"DATA": "/shared/the data"}, "copied": "shared"}
WRONG = {
    checks.ranks: [
        (of_ranks("uneven", host="head"), "4 on head. Expected: 3 on adam and 1 on zoe."),
        (of("uneven", met=False), "4 ranks were started, and never exchanged data with each other (uneven)."),
    ],
    checks.arguments: [(of_ranks("uneven", arguments=["two", "words"]), "has the arguments ['two', 'words']. Exp")],
    checks.variables: [
        (of_ranks("uneven", variables=NO_SEED), "A rank on zoe does not have the variable SEED. Expected: '7'."),
        (of_ranks("uneven", variables=OTHER_RUN), "A rank on zoe has 'mine' in the variable RUN. Expected: 'a run'."),
    ],
    checks.network: [
        (of("uneven", received={"eth0": SMALL, "eth1": LARGE}), "8000 kB through eth1, and 20 kB through eth0"),
        (of("uneven", received={"eth0": LARGE, "eth1": LARGE // 2}), "received 4000 kB through eth1"),
    ],
    checks.staged: [
        (of_ranks("uneven", **SHARED), "a rank on zoe to the folder '/shared/the data', which all hosts share."),
        (of_ranks("uneven", copied="none"), "to the folder '/scratch/data', where the data are not."),
        (of_ranks("uneven", variables={}, copied="none"), "DATA points a rank on zoe to no folder."),
    ],
    checks.none_without: [
        (of("unshared", exit=0), "does not see the data (unshared), and the script ends with status 0."),
        (of("unshared", ended_for="time"), "and the script does not end. Expected: it ends with a status"),
        (of("full", exit=0), "One host has no room for the data (full), and the script ends with status 0."),
        (NOT_STAGED[0], "ranks were started all the same: 1 on otto."),
        (NOT_STAGED[1], "ranks were started all the same: 1 on otto."),
    ],
    checks.status: [
        (of("failing", exit=0), "(failing), and the script ends with status 0. Expected: a status"),
        (of("failing", ended_for="time"), "(failing), and the script does not end. Expected: it ends with a status"),
        (of("failing", running=["kim"]), "processes still run on kim 5 s later."),
    ],
    checks.lost: [
        (of("cut", ended_for="time"), "still runs 30 s later."),
        (of("cut", exit=0), "ends with status 0. Expected: a status other than 0."),
        (of("cut", named=[]), "prints no host's name. Expected: eva"),
        (of("cut", named=["ben"]), "prints ben. Expected: eva"),
        (of("cut", named=["ben", "eva"]), "prints ben as well. Expected: eva"),
        (of("cut_first", named=["pia"]), "cable of sam was pulled, and the script prints pia."),
        (of("cut", running=["ben"]), "processes still run on ben"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("check", "change", "message"), rows(WRONG))
def test_what_is_missing_is_said(check, change, message):
    assert LAUNCH.fails(check, change, message).expected


def test_a_script_may_send_the_data_to_a_host_that_does_not_see_them():
    assert LAUNCH.find(checks.none_without, of("unshared", ranks=[SeenRank("otto", [], {}, "own")])) is None


@pytest.mark.parametrize(
    ("changes", "said", "line"),
    [
        ({"syntax": "launch.sh: line 12: unexpected end of file"}, "not valid bash: launch.sh: line 12", 12),
        ({"syntax": "launch.sh: line 7: SyntaxError: expected ':'"}, "not valid Python: launch.sh: line 7", 7),
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
    runs = launched()
    of("uneven", **changes)(runs)
    outcome = checks.part.ended(runs, 18, 60, LAUNCH.source.text)
    assert outcome.status == "failed" and said in outcome.message and outcome.line == line


def test_words_are_found_outside_of_comments():
    source = shell.read("# mpirun is below\necho a-mpirun\nmpirun -np 2  # mpirun\n")
    assert source.line_of("horovodrun", "mpirun") == 3 and source.line_of("np") is None
