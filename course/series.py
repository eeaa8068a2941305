"""Run programs one after the other in one start of the ranks: to import TensorFlow takes longer than a small training.

python -m course.watch DIRECTORY course/series.py --programs '[["first.py", "--epochs", "3"], ["second.py"]]'
"""

import dataclasses
import json
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

from course import launch

_BEGINS = "begins: "


def scripts(
    programs: dict[str, tuple[str | Path, dict[str, object]]],
    np: int,
    *,
    epochs: int,
    say: Callable[[str], None] = print,
    **options: object,
) -> dict[str, launch.Run]:
    """Run several scripts on the same np ranks and return, under the same names, what each of them did.

    Args:
        programs: the path and the flags of each, as for launch.script().
        np: how many ranks.
        epochs: how many each of them trains for.
        say: takes a line whenever a program begins, and no others.
        options: as for launch.script().

    Raises:
        launch.RunError: a program failed, as for launch.script(), or did not train for as many epochs.
    """
    lines = [[str(path), *launch.command_line(flags | {"epochs": epochs})] for path, flags in programs.values()]
    names = iter(programs)

    def follow(line: str) -> None:
        if line.startswith(f"[0] {_BEGINS}"):
            say(f"{next(names)}: {line.removeprefix(f'[0] {_BEGINS}')}")

    run = launch.script(__file__, np, say=follow, programs=json.dumps(lines), **options)
    for record in run.records:
        if len(record.epochs) != epochs * len(programs):
            raise launch.RunError(f"Rank {record.rank} trained for {len(record.epochs)} epochs in all.")
    return {
        name: dataclasses.replace(
            run,
            records=[
                dataclasses.replace(record, epochs=record.epochs[number * epochs : (number + 1) * epochs])
                for record in run.records
            ],
        )
        for number, name in enumerate(programs)
    }


def main(flag: str, programs: str) -> None:
    """Run the programs inside a rank."""
    for path, *arguments in json.loads(programs):
        if os.environ.get("OMPI_COMM_WORLD_RANK") == "0":
            print(f"{_BEGINS}{Path(path).name}", flush=True)
        sys.argv = [path, *arguments]
        sys.path[0] = str(Path(path).parent.resolve())
        runpy.run_path(path, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
