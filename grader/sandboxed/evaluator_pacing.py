"""What an evaluator and the training next to it know of each other: small files in the folder that both work in.

An evaluator pauses while it has nothing to do. So a training that waits for an evaluation knows from the pauses when
none will come, and an evaluator that still pauses after the training's end waits for a checkpoint that never comes.
Pauses are counted, and not seconds: how long anything takes depends on what else the machine does.
"""

import os
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from grader.sandboxed.recorder import Recorder
from grader.terms.clusters import LOGS

STATE, TRAINED = Path("evaluated"), Path("trained")
WRITTEN = Path(LOGS, "checkpoints", "checkpoint")  # with each checkpoint, as the last of its files
LOOK = 0.05  # seconds between looks at these
ENOUGH = 5  # pauses without an evaluation, after which none comes
ENDED = 10**6  # evaluations of an evaluator that has ended, so that no training waits for it
ENDLESS = "it would wait indefinitely, for a checkpoint that never comes"

_sleep = time.sleep


class State(NamedTuple):
    """What an evaluator did until now."""

    evaluations: int
    pauses: int


def state() -> State:
    """Return what the evaluator has done."""
    return State(*map(int, STATE.read_text().split())) if STATE.exists() else State(0, 0)


class PacedSleep:
    """Stands in for an evaluator's time.sleep: counts its pauses, cuts them short, and ends endless ones."""

    def __init__(self, recorder: Recorder[Any], folder: Path, in_vain: bool):
        """Replace time.sleep for an evaluator in this folder; in_vain says that no checkpoint will ever come."""
        self.recorder, self.folder = recorder, folder
        self.hopeless = lambda: in_vain or (folder / TRAINED).exists()
        self.evaluations = self.pauses = 0
        self.in_vain = 0  # pauses since nothing can come any more, or since the last evaluation
        time.sleep = self.pause  # type: ignore[assignment]

    def pause(self, seconds: float) -> None:
        """Pause, in the main thread only as long as a checkpoint may come and does not."""
        if threading.current_thread() is not threading.main_thread():
            _sleep(seconds)
            return
        self.pauses += 1
        self._write_state()
        self.in_vain += self.hopeless()
        if self.in_vain > ENOUGH:
            self.recorder.note("wait")
            raise SystemExit(ENDLESS)
        deadline, written = time.monotonic() + seconds, self._written()
        while time.monotonic() < deadline and not self.hopeless() and self._written() == written:
            _sleep(LOOK)

    def evaluated(self, *args: Any, **kwargs: Any) -> None:
        """Note that an evaluation has ended."""
        self.evaluations += 1
        self.in_vain = 0
        self._write_state()

    def ended(self) -> None:
        """Note that the script has ended."""
        self.evaluations = ENDED
        self._write_state()

    def _write_state(self) -> None:
        path = self.folder / STATE
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text(f"{self.evaluations} {self.pauses}")
        partial.replace(path)

    def _written(self) -> int:
        """Return when the newest checkpoint was written."""
        try:
            return (self.folder / WRITTEN).stat().st_mtime_ns
        except OSError:  # there is none yet
            return 0
