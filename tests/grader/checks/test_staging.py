"""The checks of step 8, on made-up runs: each message says which rank did what, and what was expected."""

import pytest

from grader.checks.production import staging
from grader.terms.facts import Error, HorovodFacts
from tests.grader.checks.made_up import of, rows
from tests.grader.checks.made_up_staging import FAILURE, IMAGES, STAGING, disk, ended, files, fit, rank, unreached

FIRST, SECOND = "two-hosts", "three-ranks"  # clusters
MISSING = {"causes": frozenset({"no file"})}


def no_copy_by_url(runs):
    facts = HorovodFacts(files=files(False, copied=0, cached=None), error=Error("FileNotFoundError", "file:/x", 1, ""))
    runs.clusters[SECOND] = [rank(n, 3, facts, SECOND) for n in range(3)]


def waits(number, line, ended_for="others", collective=""):
    """Return a change of a rank that waits on a line where the copy to host 1 fails."""

    def change(runs):
        one = ended(number, None, ended_for=ended_for, collective=collective, exit=-9)
        one.facts.lines["waiting"] = line
        runs.reserved["unreached"][number] = one

    return change


def trains_nevertheless(runs):
    runs.reserved["unreached"][0].facts = HorovodFacts(fits=[fit()], files=files(), lines={"fit": 4})


UNCOPIED = of(SECOND, left=disk(kept=[]))
ALONE = of(FIRST, 1, facts=HorovodFacts(files=files(False, cached=None), lines={"waiting": 8}), ended_for="stall")
NO_FILE = of(FIRST, 1, copied=0, error="FileNotFoundError: copy/train", **MISSING)
EARLY = of(SECOND, 1, facts=HorovodFacts(files=files(False, cached=None)), error="no copy", error_line=7, **MISSING)
GOES_ON = (unreached(3, message="copy/train", kind="FileNotFoundError"), of("unreached", 3, cached=0))
STUCK = [waits(number, 2, collective="allreduce “data are here”") for number in (0, 1, 3)]
UNPRINTED = of("unreached", 2, stdout="")


def kept(*names):
    """Return changes of what rank 0's host has at --train-url in the end."""
    return of(FIRST, 0, left=disk(kept=names)), of(SECOND, 0, left=disk(kept=names))


WRONG = {
    staging.any_store: [
        (no_copy_by_url, 1, "and none where it is a URL (file:///…). Rank 0 (three-ranks) fails: file:/x"),
        (UNCOPIED, 5, "where --train-url is a path, and none where it is a URL"),
    ],
    staging.staged: [
        (of(SECOND, 1, copied=IMAGES), 1, "Ranks 0 and 1 each copy the data to the same host (three-ranks)."),
        (ALONE, 1, "No rank copies the data to the host of rank 1 (two-hosts)."),
        (ALONE, 1, "Rank 1 waits on line 8, in no collective."),
        (NO_FILE, 1, "Rank 1 fails: FileNotFoundError: copy/train"),
        (of(FIRST, 1, copied=3, fits=[]), 1, "Rank 1 (two-hosts) copies 3 of 20 files."),
    ],
    staging.reads_copy: [
        (of(SECOND, 1, cached=3), 2, "Rank 1 (three-ranks) begins to read when --cache-dir on its host holds 3 of 20"),
        (of(FIRST, 1, read_in_training=7), 3, "Rank 1 (two-hosts) reads 7 files of --data-url while it trains."),
        (EARLY, 7, "Rank 1 (three-ranks) does not wait until the data are on its host"),
    ],
    staging.error_printed: [
        (UNPRINTED, 1, "store.download raises a StoreError on rank 2, and no rank prints it"),
        (UNPRINTED, 1, FAILURE),
        (unreached(2, 3, message="1"), 1, "rank 2 prints nothing about it. Expected: the error."),
    ],
    staging.all_end: [
        ((trains_nevertheless, unreached(3, message=None)), 2, "rank 0 (host 0) continues and calls model.fit."),
        (GOES_ON, 9, "rank 3 (host 1) continues without the data: copy/train"),
        (tuple(STUCK), 2, "waits in allreduce “data are here” on line 2 after rank 2 has ended"),
        (waits(3, 7, "stall"), 7, "rank 3 (host 1) waits on line 7 after rank 0 has ended"),
        (unreached(1, message=None), 2, "rank 1 (host 0) ends with exit status 0"),
        (unreached(0, message="1", stderr="100%|████| 1.0/1.0\n"), 9, "ends with exit status 1, and prints no line"),
        (unreached(*range(4), message=None, ended_for="stall", exit=-9), 2, "rank 0 (host 0) waits and does not end."),
    ],
    staging.results: [
        (kept("events.1"), 5, "--train-url lacks weights.h5, which is in --log-dir (two-hosts)."),
        (kept(), 5, "--train-url holds nothing (two-hosts). Expected: all 2 files of --log-dir."),
        (kept("weights.h5"), 5, "--train-url lacks a TensorBoard log, which is in --log-dir (two-hosts)."),
        (of(FIRST, 0, left=disk(left=[], kept=["events.1"])), 5, "--train-url lacks weights.h5"),
        (of(FIRST, 1, results_written=1), 5, "Rank 1 (two-hosts) copies results too."),
        (of(FIRST, 1, error="no folder", error_line=5, causes={"store"}), 5, "cannot copy the results: no folder."),
    ],
    staging.data_stay: [
        (of(FIRST, 0, removed=1), 6, "Rank 0 (two-hosts) deletes or overwrites data below --data-url"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("check", "change", "line", "message"), rows(WRONG))
def test_what_is_wrong_is_said_with_its_line(check, change, line, message):
    assert STAGING.fails(check, change, message).line == line


@pytest.mark.parametrize(("check", "change"), [(staging.any_store, no_copy_by_url), (staging.staged, ALONE)])
def test_what_a_program_lacks_explains_why_it_fails(check, change):
    assert STAGING.find(check, change).explains


@pytest.mark.parametrize(
    ("check", "change"),
    [
        (staging.staged, no_copy_by_url),  # one mistake, one check
        (staging.results, UNCOPIED),
        (staging.error_printed, unreached(2, message=FAILURE, errors=[FAILURE])),  # it ends the rank
        (staging.results, (of(FIRST, 0, left=disk(left=[])), of(SECOND, 0, left=disk(left=[])))),  # moved
    ],
)
def test_what_is_right_passes(check, change):
    assert STAGING.find(check, change) is None
