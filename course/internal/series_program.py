"""Run several training scripts one after the other, inside a rank.

    mpirun -np 2 python -m course.record DIRECTORY course/internal/series_program.py \\
        --programs '[["first.py", "--epochs", "3"], ["second.py"]]'

course.series starts it. Importing TensorFlow takes longer than a small training, so the scripts share one process.
"""

import json
import os
import runpy
import sys
from pathlib import Path

BEGINS = "begins: "  # with the name of the script: what rank 0 prints when one begins


def main(flag: str, programs: str) -> None:
    """Run the programs, a JSON list of command lines; flag is --programs."""
    for path, *arguments in json.loads(programs):
        if os.environ.get("OMPI_COMM_WORLD_RANK") == "0":
            print(f"{BEGINS}{Path(path).name}", flush=True)
        sys.argv = [path, *arguments]
        sys.path[0] = str(Path(path).parent.resolve())
        runpy.run_path(path, run_name="__main__")


if __name__ == "__main__":
    main(*sys.argv[1:])
