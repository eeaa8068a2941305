"""The checks of step 8: the data are staged on every host, and results are copied back.

They look at the files that each rank opened, and at how the ranks end where the data cannot be copied to one host.
"""

import re
from pathlib import Path

from grader.checks.production.imagenet_resnet50 import BY_URL, FRESH, RESULTS, UNREACHED, part
from grader.checks.training import untrained
from grader.reading.parsing import Source
from grader.terms.clusters import LOGS
from grader.terms.findings import Finding, Untold
from grader.terms.runs import HorovodRank, HorovodRuns

COLLECTIVES = "allreduce", "barrier", "allgather", "allgather_object", "broadcast", "broadcast_object"
SETTING = "Where one of three hosts cannot reach the store"
PART = 0.25  # of a log's size: a copy has at least that, since a log may grow after it
EVENTS = "events"  # what the names of TensorBoard's logs begin with
PROGRESS = re.compile(r"\d+%\|")  # a bar, which is no line that says something


@part.check(
    8,
    points=1,
    asks=("Import `store` from `course`", "take a path or the URL of any store", "as long as they take any URL"),
    clusters=FRESH,
    hint="store.download and store.upload take paths and URLs alike, and so do the file systems of fsspec. Functions "
    "for files, such as those of shutil, os and pathlib, take paths only.",
)
def any_store(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The data and the results may be in any store that a URL names"""
    by_path = [ranks for name, ranks in runs.clusters.items() if name != BY_URL]
    by_url = runs.clusters.get(BY_URL)
    if not by_url:
        return Untold(seen="the program was not run with URLs.")
    if not all(any(map(_copied, ranks)) for ranks in by_path):
        return Untold(seen="no rank copies the data, not even from a folder.")
    if not all(_trained(rank) for ranks in by_path for rank in ranks):
        return Untold(seen="the program does not train, not even on data from a folder.")
    failed = next((rank for rank in by_url if rank.error), by_url[0])
    why = f" {failed.where} fails: {failed.error}" if failed.error else ""
    if not any(map(_copied, by_url)):
        line = source.line_of("copytree", "copy", "download", "get", "data_dir")
        if failed.error_kind != "SystemExit":
            line = failed.error_line or line
        message = f"Where --data-url is a path, the data are copied. Where it is a URL, file:///…, they are not.{why}"
        return Finding(seen=f"{message} Expected: a copy from any store.", line=line, explains=True)
    if not all(map(_trained, by_url)):
        return Untold(seen="the program does not reach its end where --data-url is file:///….")
    if not all(map(_kept, (ranks[0] for ranks in by_path))):
        return Untold(seen="no results are copied, not even to a folder.")
    if not _kept(by_url[0]):
        line = failed.error_line or source.line_of("copytree", "upload", "put", "train_url")
        message = f"Where --train-url is a path, results are copied. Where it is a URL, file:///…, they are not.{why}"
        return Finding(seen=f"{message} Expected: a copy to any store.", line=line, explains=True)
    return None


@part.check(
    8,
    points=2,
    asks=("Let one rank of each host copy `args.data_url` to `args.cache_dir`",),
    blocks=untrained,
    hint="Each host has one rank whose local rank is 0: let that one call store.download.",
)
def staged(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """One rank of each host copies the data there"""
    line = source.line_of("download", "get", "copytree", "data_dir")
    for name, ranks in runs.clusters.items():
        if name == BY_URL and not any(map(_copied, ranks)) and all(any(map(_copied, own)) for own in _others(runs)):
            continue  # a URL is what hinders it: see any_store
        needed = max(rank.facts.files.copied for rank in expected.clusters[name] if rank.facts.files)
        for host in _hosts(ranks):
            finding = _copies_to_host(host, needed, line)
            if finding:
                return finding
    return None


def _copies_to_host(host: list[HorovodRank], needed: int, line: int | None) -> Finding | None:
    """Which of a host's ranks copied how many of the files that are needed."""
    if not all(rank.facts.files for rank in host):
        return Untold(seen=f"{host[0].where} or a rank on its host reports no files.")
    copiers = [rank.number for rank in host if _copied(rank)]
    if len(copiers) > 1:
        message = f"Ranks {_listed(copiers)} each copy the data to the same host ({host[0].cluster}). Expected: one."
        return Finding(seen=message, line=line, explains=True)
    if not copiers:
        message = f"No rank copies the data to the host of rank {host[0].number} ({host[0].cluster})."
        failed = next((rank for rank in host if rank.error), None)
        waiting = next((rank for rank in host if rank.ended_for and not rank.collective), None)
        if failed:
            message += f" Rank {failed.number} fails: {failed.error}"
        elif waiting and "waiting" in waiting.facts.lines:
            message += f" Rank {waiting.number} waits on line {waiting.facts.lines['waiting']}, in no collective."
        return Finding(seen=f"{message} Expected: one rank of every host.", line=line, explains=True)
    for rank in host:
        files = rank.facts.files
        if files and 0 < files.copied < needed and not rank.facts.fits:
            message = f"{rank.where} copies {files.copied} of {needed} files. Expected: all of them."
            return Finding(seen=message, line=line, explains=True)
    return None


@part.check(
    8,
    points=2,
    asks=("which becomes `data_dir` on all ranks", "all others call it at once"),
    needs=(staged,),
    blocks=untrained,
    hint="Set data_dir to args.cache_dir on every rank. The rank that copies calls an hvd.allreduce after copying, "
    "the other ranks call it at once, and so wait in it.",
)
def reads_copy(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Every rank reads the whole copy on its host, and waits for it"""
    line = source.line_of("data_dir", "flow_from_directory")
    unseen = None
    for name, ranks in runs.clusters.items():
        needed = max(rank.facts.files.cached or 0 for rank in expected.clusters[name] if rank.facts.files)
        for rank in ranks:
            files = rank.facts.files
            if files and files.read_in_training:
                message = f"{rank.where} reads {files.read_in_training} files of --data-url while it trains."
                return Finding(seen=f"{message} Expected: reads from its host's copy.", line=line, explains=True)
            if files and files.cached is not None and files.cached < needed:
                message = f"{rank.where} begins to read when its host's --cache-dir holds {files.cached} of {needed}"
                late = source.line_of(*COLLECTIVES) or line
                return Finding(
                    seen=f"{message} images. Expected: all of them, on every rank.", line=late, explains=True
                )
            if rank.error and "no file" in rank.causes and not (files and files.copied):
                message = f"{rank.where} does not wait until the data are on its host: {rank.error}"
                return Finding(seen=message, line=rank.error_line or line, explains=True)
            if not files or files.cached is None:
                unseen = unseen or Untold(seen=f"{rank.where} never reads an image.")
    return unseen


@part.check(
    8,
    points=1,
    asks=("If that raises a `StoreError`, print it.",),
    needs=(staged,),
    hint="Catch store.StoreError around the download, and print the error: its message says which URL could not be "
    "copied, and why.",
)
def error_printed(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """Where a host's copy fails, the error is printed"""
    ranks = runs.reserved.get("unreached")
    if not ranks:
        return Untold(seen="the program was not run where a host cannot reach the store.")
    line = source.line_of("StoreError", "download")
    ends = [rank.facts.error.message for rank in ranks if rank.facts.error]
    said = _plain(" ".join([*(f"{rank.stdout} {rank.stderr}" for rank in ranks), *ends]))
    raised = [(rank, error) for rank in ranks if rank.facts.files for error in rank.facts.files.store_errors]
    if raised and not any(_plain(error) in said for _, error in raised):
        rank, error = raised[0]
        message = f"{SETTING}, store.download raises a StoreError on rank {rank.number}, and no rank prints it."
        return Finding(seen=f"{message} Expected: a line with {error}", line=line)
    if raised:
        return None
    copier = next(rank for rank in ranks if rank.host == UNREACHED)
    if not any(_says_something(rank) for rank in ranks if rank.host == UNREACHED):
        message = f"{SETTING}, rank {copier.number} prints nothing about it. Expected: the error."
        return Finding(seen=message, line=line)
    return None


@part.check(
    8,
    points=2,
    asks=(
        "let all ranks find out",
        "a line that says so",
        "as long as it tells all ranks",
        "all of them get the sum",
        "So all ranks know whether to continue.",
        "A rank that only ended itself would leave the others to wait for it",
    ),
    needs=(staged,),
    hint="Let every rank hand a number to an hvd.allreduce with op=hvd.Sum: 1 if its copy failed, and 0 otherwise. "
    "All ranks get the sum, and so decide alike.",
)
def all_end(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """If one host's copy fails, every rank of every host ends with an error"""
    ranks = runs.reserved.get("unreached")
    if not ranks:
        return Untold(seen="the program was not run where a host cannot reach the store.")
    line = source.line_of(*COLLECTIVES, "download")
    found = [(_kind, rank, finding) for rank in ranks for _kind, finding in [_ending(rank, ranks, line)] if finding]
    return min(found, key=lambda entry: (entry[0], entry[1].number))[2] if found else None


def _ending(rank: HorovodRank, ranks: list[HorovodRank], line: int | None) -> tuple[int, Finding | None]:
    """Say what is wrong with a rank's end where one host's copy failed, and how far that is from what is expected."""
    where = f"{SETTING}, rank {rank.number} (host {rank.host})"
    expected = "Expected: every rank of all hosts ends with an error and a line that says so."
    files = rank.facts.files
    failed = next((other for other in ranks if other is not rank and other.error and not _dragged(other)), None)
    if rank.facts.fits:
        return 0, Finding(seen=f"{where} continues and calls model.fit. {expected}", line=line)
    if rank.host == UNREACHED and files and files.cached is not None:
        why = f": {rank.error}" if rank.error else "."
        return 1, Finding(seen=f"{where} continues without the data{why} {expected}", line=rank.error_line or line)
    if _dragged(rank) or rank.ended_for:
        place = f"waits in {rank.collective}" if rank.collective else "waits"
        reached = rank.facts.lines.get("waiting", rank.error_line)
        place += f" on line {reached}" if reached and " on line " not in place else ""
        end = f" after rank {failed.number} has ended: {failed.error}" if failed else " and does not end."
        return 2, Finding(seen=f"{where} {place}{end} {expected}", line=reached or line)
    if rank.exit == 0:
        return 3, Finding(
            seen=f"{where} ends with exit status 0, as if all were well. {expected}", line=rank.facts.lines.get("exit")
        )
    if not _says_something(rank):
        message = f"{where} ends with exit status {rank.exit}, and prints no line. {expected}"
        return 4, Finding(seen=message, line=rank.error_line or line)
    return 5, None


def _dragged(rank: HorovodRank) -> bool:
    """Whether what ended a rank is the end of another one."""
    return rank.ended_for == "others" or bool(rank.causes & {"shut down", "connection"})


def _says_something(rank: HorovodRank) -> bool:
    """Whether a rank printed a line, or ended with one."""
    lines = [line for line in (rank.stdout + rank.stderr).splitlines() if line.strip() and not PROGRESS.search(line)]
    error = rank.facts.error
    return bool(lines or (error and not re.fullmatch(r"\d*", error.message.strip())))


@part.check(
    8,
    points=1,
    asks=("After training, let one rank copy `args.log_dir` to `args.train_url`",),
    hint="The last thing that rank 0 does is to call store.upload. The ranks of other hosts hold no logs.",
)
def results(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """After training, rank 0 copies all of --log-dir to --train-url"""
    for name, ranks in runs.clusters.items():
        if name == BY_URL and not _kept(ranks[0]) and all(_kept(own[0]) for own in _others(runs)):
            continue  # a URL is what hinders it: see any_store
        finding = _results(ranks, expected.clusters[name], source)
        if finding:
            return finding
    return None


def _results(ranks: list[HorovodRank], expected: list[HorovodRank], source: Source) -> Finding | None:
    """What of the logs was copied to where results are kept, and by which ranks."""
    line = source.line_of("upload", "put", "train_url", "save_weights")
    for rank in ranks:
        own = rank.facts.files
        if own and (_trained(rank) or own.copied) and rank.error and "store" in rank.causes:
            message = f"{rank.where} cannot copy the results: {rank.error} Expected: rank 0 does, after training."
            return Finding(seen=message, line=rank.error_line, explains=True)
        if rank.number and own and own.results_written:
            return Finding(seen=f"{rank.where} copies results too. Expected: rank 0 alone.", line=line, explains=True)
        if not own or not _trained(rank) or rank.error or rank.ended_for:
            why = f": {rank.error}" if rank.error else "."
            return Untold(seen=f"{rank.where} does not get to the end of the program{why}")
    left, kept = ranks[0].left.below(LOGS), _kept(ranks[0])
    # Where a script has moved its logs, they are known by the names of the solution's.
    logs = left or [name for name in expected[0].left.below(LOGS) if not Path(name).name.startswith(EVENTS)]
    missing = {Path(name).name for name in logs} - kept
    if not kept:
        message = f"At the end of the program, --train-url holds nothing ({ranks[0].cluster})."
        return Finding(seen=f"{message} Expected: all {len(logs)} files of --log-dir.", line=line)
    if missing:
        shown = "a TensorBoard log" if min(missing).startswith(EVENTS) else min(missing)
        message = f"At the end of the program, --train-url lacks {shown}, which is in --log-dir ({ranks[0].cluster})."
        return Finding(seen=f"{message} Expected: a copy of all files.", line=line)
    return None


@part.check(
    8,
    points=1,
    asks=("The data at `args.data_url` stay as they are",),
    hint="Other jobs read the same data. Only this host's own copy may be deleted.",
)
def data_stay(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """The data in the store stay as they are"""
    line = source.line_of("rmtree", "unlink", "remove", "rm", "rmdir", "rename", "move", "data_url")
    for rank in runs.all_ranks():
        if rank.facts.files and rank.facts.files.removed:
            message = f"{rank.where} deletes or overwrites data below --data-url, or tries to. Expected: reads only."
            return Finding(seen=message, line=rank.error_line or line, explains=True)
    if not all(_trained(rank) for rank in runs.ranks()):
        return Untold(seen="the program does not reach training.")
    return None


def _others(runs: HorovodRuns) -> list[list[HorovodRank]]:
    """Return the ranks of the clusters where the store is a folder."""
    return [ranks for name, ranks in runs.clusters.items() if name != BY_URL]


def _copied(rank: HorovodRank) -> bool:
    """Whether a rank copied data."""
    return bool(rank.facts.files and rank.facts.files.copied)


def _trained(rank: HorovodRank) -> bool:
    """Whether a rank got to the end of its training."""
    return "trained" in rank.facts.order


def _kept(rank: HorovodRank) -> set[str]:
    """Return the names of the files at --train-url on the host of this rank."""
    logs, results = rank.left.below(LOGS), rank.left.below(RESULTS)
    return {Path(name).name for name, size in results.items() if size > PART * logs.get(name, 0)}


def _plain(text: str) -> str:
    return " ".join(text.split())


def _hosts(ranks: list[HorovodRank]) -> list[list[HorovodRank]]:
    """Return the ranks by host."""
    return [[rank for rank in ranks if rank.host == host] for host in range(ranks[-1].host + 1)]


def _listed(numbers: list[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
