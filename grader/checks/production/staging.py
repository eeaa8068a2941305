"""The checks of step 8: the data are staged on every host, and results are copied back.

They look at the files that each rank opened, and at how the ranks end where the data cannot be copied to one host.
"""

import re
from itertools import groupby
from pathlib import Path

from grader.checks.ending import is_aftermath
from grader.checks.production.imagenet_resnet50 import BY_URL, FRESH, RESULTS, UNREACHED, part
from grader.checks.training import cut_short, not_run, said, untrained
from grader.reading.parsing import Source
from grader.terms.clusters import LOGS
from grader.terms.findings import Finding, Untold, counted, listed
from grader.terms.runs import HorovodRank, HorovodRuns

COPIES = "download", "get", "copytree", "copy", "data_dir"  # where scripts copy the data,
KEEPS = "upload", "put", "copytree", "train_url", "save_weights"  # and the results
COLLECTIVES = "allreduce", "barrier", "allgather", "allgather_object", "broadcast", "broadcast_object"
SETTING = "Where one of three hosts cannot reach the store"
PART = 0.25  # of a log's size: a copy has at least that, since a log may grow after it
EVENTS = "events"  # what the names of TensorBoard's logs begin with


@part.check(
    8,
    points=1,
    asks=("Import `store` from `course`",),
    clusters=FRESH,
    hint="store.download and store.upload take paths and URLs alike, and so do the file systems of fsspec. Functions "
    "for files, such as those of shutil, os and pathlib, take paths only.",
)
def any_store(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The data and the results may be in any store that a URL names"""
    by_url = runs.clusters.get(BY_URL)
    if not by_url:
        return Untold(seen="the program had to be ended before it ran with URLs")
    for flag, works, lines in (("--data-url", _copies, COPIES), ("--train-url", _keeps, KEEPS)):
        if not all(map(works, _by_path(runs))):
            return Untold(seen=f"nothing is copied for {flag}, even where it is a path")
        if not works(by_url):
            failed = next((rank for rank in by_url if rank.error), by_url[0])
            why = f". {failed.where} fails: {failed.error}" if failed.error else ""
            given_up = failed.error_kind == "SystemExit"
            return Finding(
                seen=f"A copy is made where {flag} is a path, and none where it is a URL (file:///…){why}",
                expected="a copy, whatever store the URL names",
                line=source.line_of(*lines) if given_up else failed.error_line or source.line_of(*lines),
                explains=True,
            )
        if not all(map(_trained, by_url)):
            return Untold(seen="the program does not reach its end where --data-url is a URL")
    return None


@part.check(
    8,
    points=2,
    asks=("Let one rank of each host copy `args.data_url` to `args.cache_dir`",),
    look_at=COPIES,
    blocks=untrained,
    hint="Each host has one rank whose local rank is 0: let that one call store.download.",
)
def staged(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """One rank of each host copies the data there"""
    for name, ranks in runs.clusters.items():
        if name == BY_URL and not _copies(ranks) and all(map(_copies, _by_path(runs))):
            continue  # a URL is what hinders it: see any_store
        needed = max(rank.facts.files.copied for rank in expected.clusters[name] if rank.facts.files)
        for _, host in groupby(ranks, key=lambda rank: rank.host):
            if finding := _copies_to_host(list(host), needed):
                return finding
    return None


def _copies_to_host(host: list[HorovodRank], needed: int) -> Finding | None:
    """Which of a host's ranks copied how many of the files that are needed."""
    copiers = [rank.number for rank in host if _copied(rank)]
    if len(copiers) > 1:
        seen = f"Ranks {listed(copiers)} each copy the data to the same host ({host[0].cluster})"
        return Finding(seen=seen, expected="one", explains=True)
    if not copiers:
        seen = f"No rank copies the data to the host of rank {host[0].number} ({host[0].cluster})"
        failed = next((rank for rank in host if rank.error), None)
        waiting = next((rank for rank in host if rank.ended_for and not rank.collective), None)
        if failed:
            seen += f". Rank {failed.number} fails: {failed.error}"
        elif waiting and "waiting" in waiting.facts.lines:
            seen += f". Rank {waiting.number} waits on line {waiting.facts.lines['waiting']}, in no collective"
        return Finding(seen=seen, expected="one rank of every host", explains=True)
    for rank in host:
        files = rank.facts.files
        if files and 0 < files.copied < needed and not rank.facts.fits:
            seen = f"{rank.where} copies {files.copied} of {needed} files"
            return Finding(seen=seen, expected="all of them", explains=True)
    return None


@part.check(
    8,
    points=2,
    asks=("Set `data_dir` to that folder on all ranks",),
    look_at=("data_dir", "flow_from_directory"),
    needs=(staged,),
    hint="Set data_dir to args.cache_dir on every rank. The rank that copies calls an hvd.allreduce after copying, "
    "the other ranks call it at once, and so wait in it.",
)
def reads_copy(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Every rank reads the whole copy on its host, and waits for it"""
    unseen = None
    for name, ranks in runs.clusters.items():
        needed = max(rank.facts.files.cached or 0 for rank in expected.clusters[name] if rank.facts.files)
        for rank in ranks:
            files = rank.facts.files
            if files and files.read_in_training:
                seen = f"{rank.where} reads {counted(files.read_in_training, 'file')} of --data-url while it trains"
                return Finding(seen=seen, expected="reads from its host's copy", explains=True)
            if files and files.cached is not None and files.cached < needed:
                held = f"{files.cached} of {needed} images"
                return Finding(
                    seen=f"{rank.where} begins to read when --cache-dir on its host holds {held}",
                    expected="all of them, on every rank",
                    line=source.line_of(*COLLECTIVES),
                    explains=True,
                )
            if rank.error and "no file" in rank.causes and not (files and files.copied):
                return Finding(
                    seen=f"{rank.where} does not wait until the data are on its host: {rank.error}",
                    expected="it waits until the rank that copies has ended that",
                    line=rank.error_line,
                    explains=True,
                )
            if not files or files.cached is None:
                unseen = unseen or Untold(seen=f"{rank.where} never reads an image")
    return unseen


@part.check(
    8,
    points=1,
    asks=("If `store.download` raises a `StoreError`, print it.",),
    look_at=("StoreError", "download"),
    needs=(staged,),
    hint="Catch store.StoreError around the download, and print the error: its message says which URL could not be "
    "copied, and why.",
)
def error_printed(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Where a host's copy fails, the error is printed"""
    ranks = runs.reserved.get("unreached")
    if not ranks:
        return not_run(FRESH[-1].description)
    ends = [rank.facts.error.message for rank in ranks if rank.facts.error]
    said = _plain(" ".join([*(f"{rank.stdout} {rank.stderr}" for rank in ranks), *ends]))
    raised = [(rank, error) for rank in ranks if rank.facts.files for error in rank.facts.files.store_errors]
    if raised and not any(_plain(error) in said for _, error in raised):
        rank, error = raised[0]
        seen = f"{SETTING}, store.download raises a StoreError on rank {rank.number}, and no rank prints it"
        return Finding(seen=seen, expected=f"a line with {error}")
    there = [rank for rank in ranks if rank.host == UNREACHED]
    if not raised and not any(map(_says_something, there)):
        return Finding(seen=f"{SETTING}, rank {there[0].number} prints nothing about it", expected="the error")
    return None


@part.check(
    8,
    points=2,
    asks=("Add up the failures of all hosts in one `hvd.allreduce`",),
    look_at=(*COLLECTIVES, "download"),
    needs=(staged,),
    hint="Let every rank hand a number to an hvd.allreduce with op=hvd.Sum: 1 if its copy failed, and 0 otherwise. "
    "All ranks get the sum, and so decide alike.",
)
def all_end(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """If one host's copy fails, every rank of every host ends with an error"""
    ranks = runs.reserved.get("unreached")
    if not ranks:
        return not_run(FRESH[-1].description)
    wrong = ((rank, end) for rank in sorted(ranks, key=_waits) if (end := _wrong_end(rank, ranks)))
    for rank, (seen, line) in wrong:
        return Finding(
            seen=f"{SETTING}, rank {rank.number} (host {rank.host}) {seen}",
            expected="every rank of all hosts ends with an error and a line that says so",
            line=line,
        )
    return None


def _waits(rank: HorovodRank) -> bool:
    """Whether a rank does not end by itself."""
    return is_aftermath(rank) or rank.ended_for is not None


def _wrong_end(rank: HorovodRank, ranks: list[HorovodRank]) -> tuple[str, int | None] | None:
    """Say what is wrong with a rank's end where one host's copy failed, and in which line that shows."""
    files, line = rank.facts.files, rank.error_line
    if rank.facts.fits:
        return "continues and calls model.fit", None
    if rank.host == UNREACHED and files and files.cached is not None:
        return f"continues without the data{f': {rank.error}' if rank.error else ''}", line
    if _waits(rank):
        line = rank.facts.lines.get("waiting", line)
        place = f"waits in {rank.collective}" if rank.collective else "waits"
        place += f" on line {line}" if line and " on line " not in place else ""
        failed = next((other for other in ranks if other.error and not _waits(other)), None)
        end = f"after rank {failed.number} has ended: {failed.error}" if failed else "and does not end"
        return f"{place} {end}", line
    if rank.exit == 0:
        return "ends with exit status 0, as if all were well", rank.facts.lines.get("exit")
    if not _says_something(rank):
        return f"ends with exit status {rank.exit}, and prints no line", line
    return None


def _says_something(rank: HorovodRank) -> bool:
    """Whether a rank printed a line, or ended with one."""
    error = rank.facts.error
    return bool(said(rank) or (error and not re.fullmatch(r"\d*", error.message.strip())))


@part.check(
    8,
    points=1,
    asks=("After training, let one rank copy `args.log_dir` to `args.train_url`",),
    look_at=KEEPS,
    hint="The last thing that rank 0 does is to call store.upload. The ranks of other hosts hold no logs.",
)
def results(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """After training, rank 0 copies all of --log-dir to --train-url"""
    for name, ranks in runs.clusters.items():
        if name == BY_URL and not _keeps(ranks) and all(map(_keeps, _by_path(runs))):
            continue  # a URL is what hinders it: see any_store
        if finding := _results(ranks, expected.clusters[name]):
            return finding
    return None


def _results(ranks: list[HorovodRank], expected: list[HorovodRank]) -> Finding | None:
    """What of the logs was copied to where results are kept, and by which ranks."""
    for rank in ranks:
        own = rank.facts.files
        if own and (_trained(rank) or own.copied) and rank.error and "store" in rank.causes:
            seen = f"{rank.where} cannot copy the results: {rank.error}"
            return Finding(seen=seen, expected="rank 0 does, after training", line=rank.error_line, explains=True)
        if rank.number and own and own.results_written:
            return Finding(seen=f"{rank.where} copies results too", expected="rank 0 alone", explains=True)
        if not own or not _trained(rank) or rank.error or rank.ended_for:
            return cut_short(rank)
    left, kept = ranks[0].left.below(LOGS), _kept(ranks[0])
    # Where a script has moved its logs, they are known by the names of the solution's.
    logs = left or [name for name in expected[0].left.below(LOGS) if not Path(name).name.startswith(EVENTS)]
    missing = {Path(name).name for name in logs} - kept
    if not kept:
        seen = f"At the end of the program, --train-url holds nothing ({ranks[0].cluster})"
        return Finding(seen=seen, expected=f"all {len(logs)} files of --log-dir")
    if missing:
        shown = "a TensorBoard log" if min(missing).startswith(EVENTS) else min(missing)
        seen = f"At the end of the program, --train-url lacks {shown}, which is in --log-dir ({ranks[0].cluster})"
        return Finding(seen=seen, expected="a copy of all files")
    return None


@part.check(
    8,
    points=1,
    asks=("Do not change the data at `args.data_url`",),
    look_at=("rmtree", "unlink", "remove", "rm", "rmdir", "rename", "move", "data_url"),
    hint="Other jobs read the same data. Only this host's own copy may be deleted.",
)
def data_stay(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The data in the store stay as they are"""
    for rank in runs.all_ranks():
        if rank.facts.files and rank.facts.files.removed:
            seen = f"{rank.where} deletes or overwrites data below --data-url, or tries to"
            return Finding(seen=seen, expected="reads only", line=rank.error_line, explains=True)
    untold = Untold(seen="the program does not reach training")
    return None if all(map(_trained, runs.ranks())) else untold


def _by_path(runs: HorovodRuns) -> list[list[HorovodRank]]:
    """Return the ranks of the clusters where the store is a folder."""
    return [ranks for name, ranks in runs.clusters.items() if name != BY_URL]


def _copied(rank: HorovodRank) -> bool:
    """Whether a rank copied data."""
    return bool(rank.facts.files and rank.facts.files.copied)


def _copies(ranks: list[HorovodRank]) -> bool:
    """Whether a rank of a cluster copied data."""
    return any(map(_copied, ranks))


def _keeps(ranks: list[HorovodRank]) -> bool:
    """Whether results of a cluster were copied."""
    return bool(_kept(ranks[0]))


def _trained(rank: HorovodRank) -> bool:
    """Whether a rank got to the end of its training."""
    return "trained" in rank.facts.order


def _kept(rank: HorovodRank) -> set[str]:
    """Return the names of the files at --train-url on the host of this rank."""
    logs, results = rank.left.below(LOGS), rank.left.below(RESULTS)
    return {Path(name).name for name, size in results.items() if size > PART * logs.get(name, 0)}


def _plain(text: str) -> str:
    return " ".join(text.split())
