"""The checks of step 8, on made-up runs: each message says which rank did what, and what was expected."""

import pytest

from grader.checks.production import staging
from grader.checks.production.imagenet_resnet50 import FRESH
from grader.terms.facts import Error, HorovodFacts
from tests.grader.checks.judged import find
from tests.grader.checks.made_up_staging import (
    FAILURE,
    IMAGES,
    SOURCE,
    disk,
    ended,
    files,
    fit,
    of_rank,
    rank,
    solved,
    unreached,
)


@pytest.fixture
def runs():
    """Return a right script's runs."""
    return solved()


def of(check, runs):
    return find(check, runs, solved(), SOURCE)


CHECKS = (
    staging.any_store,
    staging.staged,
    staging.reads_copy,
    staging.error_printed,
    staging.all_end,
    staging.results,
    staging.data_stay,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_right_script_passes(check, runs):
    assert of(check, runs) is None


def test_a_copy_of_paths_alone_is_found(runs):
    facts = HorovodFacts(files=files(False, copied=0, cached=None), error=Error("FileNotFoundError", "file:/x", 1, ""))
    runs.clusters["three-ranks"] = [rank(n, 3, facts, "three-ranks") for n in range(3)]
    found = of(staging.any_store, runs)
    assert "and none where it is a URL (file:///…). Rank 0 (three-ranks) fails: file:/x" in found.message
    assert found.line == 1 and found.explains
    assert of(staging.staged, runs) is None  # one mistake, one check


def test_results_that_only_go_to_a_path_are_found(runs):
    for one in runs.clusters["three-ranks"]:
        one.left = disk(kept=[])
    found = of(staging.any_store, runs)
    assert "where --train-url is a path, and none where it is a URL" in found.message and found.line == 5
    assert of(staging.results, runs) is None


def test_two_copies_on_a_host_are_found(runs):
    runs.clusters["three-ranks"][1].facts.files.copied = IMAGES
    assert of(staging.staged, runs).message.startswith(
        "Ranks 0 and 1 each copy the data to the same host (three-ranks)."
    )


def test_a_host_without_a_copy_is_named_with_the_line_where_its_rank_waits(runs):
    last = runs.clusters["two-hosts"][1]
    last.facts = HorovodFacts(files=files(False, cached=None), lines={"waiting": 8})
    last.ended_for = "stall"
    found = of(staging.staged, runs)
    assert "No rank copies the data to the host of rank 1 (two-hosts)." in found.message
    assert "Rank 1 waits on line 8, in no collective." in found.message and found.explains


def test_a_missing_file_on_a_host_without_a_copy_is_named(runs):
    last = runs.clusters["two-hosts"][1]
    last.facts.files.copied = 0
    last.error, last.causes = "FileNotFoundError: copy/train", frozenset({"no file"})
    assert "Rank 1 fails: FileNotFoundError: copy/train" in of(staging.staged, runs).message


def test_a_part_of_the_copy_is_found(runs):
    runs.clusters["three-ranks"][1].facts.files.cached = 3
    found = of(staging.reads_copy, runs)
    assert found.message.startswith(
        "Rank 1 (three-ranks) begins to read when --cache-dir on its host holds 3 of 20 images."
    )
    assert found.line == 2


def test_reads_from_afar_are_found(runs):
    runs.clusters["two-hosts"][1].facts.files.read_in_training = 7
    found = of(staging.reads_copy, runs)
    assert (
        found.message.startswith("Rank 1 (two-hosts) reads 7 files of --data-url while it trains.") and found.line == 3
    )


def test_a_rank_that_does_not_wait_is_found(runs):
    early = runs.clusters["three-ranks"][1]
    early.facts = HorovodFacts(files=files(False, cached=None))
    early.error, early.error_line, early.causes = "FileNotFoundError: copy", 7, frozenset({"no file"})
    found = of(staging.reads_copy, runs)
    assert "Rank 1 (three-ranks) does not wait until the data are on its host" in found.message and found.line == 7


def test_an_error_that_no_rank_prints_is_found(runs):
    runs.reserved["unreached"][2].stdout = ""
    found = of(staging.error_printed, runs)
    assert "store.download raises a StoreError on rank 2, and no rank prints it" in found.message
    assert FAILURE in found.message and found.line == 1


def test_an_error_that_ends_the_rank_is_printed(runs):
    runs.reserved["unreached"][2] = ended(2, FAILURE, errors=[FAILURE])
    assert of(staging.error_printed, runs) is None


def test_a_rank_that_trains_though_a_copy_failed_is_named(runs):
    runs.reserved["unreached"][0].facts = HorovodFacts(fits=[fit()], files=files(), lines={"fit": 4})
    runs.reserved["unreached"][3] = ended(3, None)
    found = of(staging.all_end, runs)
    assert "rank 0 (host 0) continues and calls model.fit." in found.message and found.line == 2


def test_a_rank_that_goes_on_without_data_is_named(runs):
    one = ended(3, "copy/train", kind="FileNotFoundError")
    one.facts.files.cached = 0
    runs.reserved["unreached"][3] = one
    assert "rank 3 (host 1) continues without the data: copy/train" in of(staging.all_end, runs).message


def test_ranks_that_are_left_waiting_are_named_with_whom_they_wait_for(runs):
    for number in (0, 1, 3):
        one = ended(number, None, ended_for="others", collective="allreduce “data are here”", exit=-9)
        one.facts.lines["waiting"] = 2
        runs.reserved["unreached"][number] = one
    found = of(staging.all_end, runs)
    assert "rank 0 (host 0) waits in allreduce “data are here” on line 2 after rank 2 has ended" in found.message
    assert found.line == 2


def test_a_rank_that_waits_for_a_folder_is_named(runs):
    one = ended(3, None, ended_for="stall", exit=-9)
    one.facts.lines["waiting"] = 7
    runs.reserved["unreached"][3] = one
    assert "rank 3 (host 1) waits on line 7 after rank 0 has ended" in of(staging.all_end, runs).message


def test_a_good_end_without_data_is_found(runs):
    runs.reserved["unreached"][1] = ended(1, None)
    assert "rank 1 (host 0) ends with exit status 0" in of(staging.all_end, runs).message


def test_an_end_without_a_line_is_found(runs):
    runs.reserved["unreached"][0] = ended(0, "1", stderr="from /images: 100%|████| 1.0/1.0\n")
    assert "rank 0 (host 0) ends with exit status 1, and prints no line" in of(staging.all_end, runs).message


def test_a_crash_in_training_says_nothing_about_results(runs):
    for one in runs.clusters["two-hosts"]:
        one.error, one.left, one.facts.order = "ValueError: shapes", disk(kept=[]), []
    found = of(staging.results, runs)
    assert found.message.startswith("Not checked") and "train to its end (ValueError: shapes)" in found.message


def test_results_that_are_missing_are_named(runs):
    for ranks in runs.clusters.values():
        ranks[0].left = disk(kept=["events.1"])
    assert "--train-url lacks weights.h5, which is in --log-dir (two-hosts)." in of(staging.results, runs).message
    for ranks in runs.clusters.values():
        ranks[0].left = disk(kept=[])
    found = of(staging.results, runs)
    assert (
        "--train-url holds nothing (two-hosts). Expected: all 2 files of --log-dir." in found.message
        and found.line == 5
    )


def test_results_that_are_moved_are_not_missing(runs):
    for ranks in runs.clusters.values():
        ranks[0].left = disk(left=[])
    assert of(staging.results, runs) is None
    runs.clusters["two-hosts"][0].left = disk(left=[], kept=["events.1"])
    assert "--train-url lacks weights.h5" in of(staging.results, runs).message


def test_results_of_another_rank_are_found(runs):
    runs.clusters["two-hosts"][1].facts.files.results_written = 1
    assert of(staging.results, runs).message.startswith("Rank 1 (two-hosts) copies results too.")


def test_a_script_that_empties_the_store_is_found(runs):
    runs.clusters["two-hosts"][0].facts.files.removed = 1
    found = of(staging.data_stay, runs)
    assert (
        found.message.startswith("Rank 0 (two-hosts) deletes or overwrites data below --data-url") and found.line == 6
    )


EXPECTED = "Expected: every rank of all hosts ends with an error and a line that says so."


@pytest.mark.parametrize(
    ("check", "change", "message", "line"),
    [
        (
            staging.staged,
            of_rank("two-hosts", 1, copied=3, fits=[]),
            "Rank 1 (two-hosts) copies 3 of 20 files. Expected: all of them.",
            1,
        ),
        (
            staging.error_printed,
            unreached(2, 3, message="1"),
            "Where one of three hosts cannot reach the store, rank 2 prints nothing about it. Expected: the error.",
            1,
        ),
        (
            staging.all_end,
            unreached(0, 1, 2, 3, message=None, ended_for="stall", exit=-9),
            f"Where one of three hosts cannot reach the store, rank 0 (host 0) waits and does not end. {EXPECTED}",
            2,
        ),
        (
            staging.results,
            of_rank("two-hosts", 1, error="StoreError: /logs is no folder.", error_line=5, causes={"store"}),
            "Rank 1 (two-hosts) cannot copy the results: StoreError: /logs is no folder. Expected: rank 0 does, after "
            "training.",
            5,
        ),
        (
            staging.results,
            of_rank("two-hosts", 0, left=disk(kept=["weights.h5"])),
            "At the end of the program, --train-url lacks a TensorBoard log, which is in --log-dir (two-hosts). "
            "Expected: a copy of all files.",
            5,
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(check, change, message, line, runs):
    change(runs)
    found = of(check, runs)
    assert (found.message, found.line) == (message, line)


@pytest.mark.parametrize(
    ("check", "change", "message"),
    [
        (
            staging.any_store,
            lambda runs: runs.clusters.pop("three-ranks"),
            "the program had to be ended before it ran with URLs.",
        ),
        (
            staging.any_store,
            of_rank("two-hosts", 0, 1, copied=0),
            "nothing is copied for --data-url, even where it is a path.",
        ),
        (
            staging.any_store,
            of_rank("three-ranks", 1, order=[]),
            "the program does not reach its end where --data-url is a URL.",
        ),
        (
            staging.any_store,
            of_rank("two-hosts", 0, left=disk(kept=[])),
            "nothing is copied for --train-url, even where it is a path.",
        ),
        (staging.reads_copy, of_rank("two-hosts", 1, cached=None), "Rank 1 (two-hosts) never reads an image."),
        *(
            (
                check,
                lambda runs: runs.reserved.clear(),
                f"the program had to be ended before it ran on {FRESH[-1].description}.",
            )
            for check in (staging.error_printed, staging.all_end)
        ),
        (
            staging.results,
            of_rank("two-hosts", 1, order=[]),
            "Rank 1 (two-hosts) does not train to its end.",
        ),
        (staging.data_stay, of_rank("two-hosts", 1, order=[]), "the program does not reach training."),
    ],
)
def test_what_was_not_seen_is_not_checked(check, change, message, runs):
    change(runs)
    found = of(check, runs)
    assert found.message == f"Not checked: {message}"
