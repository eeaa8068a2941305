"""Run several training scripts in one start of the ranks: importing TensorFlow takes longer than a small training."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from course import launch
from course.internal import series_program


def scripts(
    programs: dict[str, tuple[str | Path, dict[str, Any]]],
    np: int,
    *,
    epochs: int,
    say: Callable[[str], None] = print,
    **options: Any,
) -> dict[str, launch.Run]:
    """Run several scripts on the same np ranks and return the run of each, under the same names.

    Args:
        programs: the path and the flags of each, as for launch.script().
        np: the number of ranks.
        epochs: the number of epochs that each of them trains for.
        say: takes a line when a program begins, and no others.
        options: as for launch.script().

    Raises:
        launch.RunError: a program failed, as for launch.script(), or trained for another number of epochs.
    """
    lines = [[str(path), *launch.command_line(flags | {"epochs": epochs})] for path, flags in programs.values()]
    names = iter(programs)
    begins = f"[0] {series_program.BEGINS}"

    def follow(line: str) -> None:
        if line.startswith(begins):
            say(f"{next(names)}: {line.removeprefix(begins)}")

    run = launch.script(series_program.__file__, np, say=follow, programs=json.dumps(lines), **options)
    for record in run.records:
        if len(record.epochs) != epochs * len(programs):
            raise launch.RunError(
                f"Rank {record.rank} trained for {len(record.epochs)} epochs in {len(programs)} programs. "
                f"Expected: {epochs} in each."
            )
    return {name: _part(run, slice(at * epochs, (at + 1) * epochs)) for at, name in enumerate(programs)}


def _part(run: launch.Run, epochs: slice) -> launch.Run:
    """Return the run with some of its epochs only."""
    return replace(run, records=[replace(record, epochs=record.epochs[epochs]) for record in run.records])
