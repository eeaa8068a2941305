"""The check of step 8: the data are staged on every host, and results are copied back."""

from pathlib import Path

from grader.checks.part import Finding
from grader.checks.production.program import FRESH, part
from grader.checks.training import untrained
from grader.facts import HorovodRank, HorovodRuns
from grader.runner.reading import Source


@part.check(
    8,
    clusters=FRESH,
    blocks=untrained,
    hint="Where hvd.local_rank() is 0, store.download(args.data_url, args.cache_dir) brings the data. An "
    "hvd.allreduce that all ranks call holds everybody until they are there, and can carry the news that "
    "a copy failed. Last, on rank 0: store.upload.",
)
def staged(runs: HorovodRuns, expected: HorovodRuns, source: Source) -> Finding | None:
    """One rank a host copies the data there, the others wait or end with it, and rank 0 copies results back.

    Looks at the files that each rank opened, and at how ranks end where no data can be copied.
    """
    for name, ranks in runs.topologies.items():
        finding = _copies(ranks, expected.topologies[name], source) or _results(ranks, source)
        if finding:
            return finding
    for rank in runs.reserved.get("no-data", []):
        line = source.line_of("allreduce", "barrier", "broadcast_object", "allgather_object", "download")
        where = f"Where the data cannot be copied, rank {rank.number}"
        if rank.ended_for not in (None, "others"):  # one whose own error ends it takes the others with it
            return Finding(f"{where} never ends. Expected: an error on each.", line)
        if rank.facts.fits or rank.exit == 0:
            return Finding(f"{where} goes on as if they were there. Expected: every rank ends with an error.", line)
    return None


def _copies(ranks: list[HorovodRank], expected: list[HorovodRank], source: Source) -> Finding | None:
    """Which ranks copied the data, and which read what."""
    line = source.line_of("download", "get", "data_dir")
    for rank in ranks:
        if rank.facts.files and rank.facts.files.read_in_training:
            return Finding(
                f"{rank.where} reads its images from --data-url in training. Expected: from its host's own copy.",
                source.line_of("data_dir", "flow_from_directory"),
            )
    needed = max(rank.facts.files.copied for rank in expected if rank.facts.files)
    for host in _hosts(ranks):
        finding = _copies_to_host(host, needed, line)
        if finding:
            return finding
    return None


def _copies_to_host(host: list[HorovodRank], needed: int, line: int | None) -> Finding | None:
    """Which of a host's ranks copied how many of the files that are needed."""
    copiers = [rank.number for rank in host if rank.facts.files and rank.facts.files.copied]
    if len(copiers) > 1:
        message = f"Ranks {_listed(copiers)} both copy the data to the same host ({host[0].topology}). Expected: one."
        return Finding(message, line, explains=True)
    if not copiers and all(rank.facts.files for rank in host):
        message = f"No rank copies the data to the host of rank {host[0].number} ({host[0].topology})."
        return Finding(f"{message} Expected: one on every host.", line, explains=True)
    for rank in host:
        files = rank.facts.files
        if files and 0 < files.copied < needed and not rank.facts.fits:
            message = f"{rank.where} copies {files.copied} of {needed} files. Expected: all of them."
            return Finding(message, line, explains=True)
        if files and not files.copied and rank.error and "no file" in rank.causes:
            message = f"{rank.where} does not wait until the data are on its host: {rank.error}"
            return Finding(message, rank.error_line or line, explains=True)
    return None


def _results(ranks: list[HorovodRank], source: Source) -> Finding | None:
    """What of the logs was copied to where results are kept, and by which ranks."""
    line = source.line_of("upload", "put", "train_url", "save_weights")
    for rank in ranks:
        own = rank.facts.files
        if own and (rank.facts.fits or own.copied) and rank.error and "store" in rank.causes:
            message = f"{rank.where} cannot copy the results: {rank.error} Expected: rank 0 does, after training."
            return Finding(message, rank.error_line, explains=True)
        if not own or not rank.facts.fits:
            return None  # it does not get that far, as another check says
        if rank.number and own.results_written:
            return Finding(f"{rank.where} copies results too. Expected: rank 0 alone.", line, explains=True)
    files = ranks[0].facts.files
    assert files  # or the loop would have returned
    missing = {Path(name).name for name in files.left} - set(files.kept)
    if not files.left or not files.kept:
        return Finding(f"{ranks[0].where} leaves nothing at --train-url. Expected: all that is in --log-dir.", line)
    if missing:
        shown = "a TensorBoard log" if min(missing).startswith("events") else min(missing)
        return Finding(f"{ranks[0].where} leaves {shown} in --log-dir alone. Expected: a copy at --train-url.", line)
    return None


def _hosts(ranks: list[HorovodRank]) -> list[list[HorovodRank]]:
    """Return the ranks by host."""
    return [[rank for rank in ranks if rank.host == host] for host in range(ranks[-1].host + 1)]


def _listed(numbers: list[int]) -> str:
    return " and ".join(map(str, numbers))
