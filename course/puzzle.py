"""Small exercises within the lessons: a prediction, which of three scripts is wrong, and a script to repair.

The scripts are edits of the solutions. This module does not say which of the three is wrong: the judge does.
"""

import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

from IPython.display import HTML, publish_display_data

from course import exercise, progress, steps

Answer = int | float | str
Edits = tuple[tuple[str, str], ...]  # (old text, new text); each old text occurs once in the solution


class Judgement(Protocol):
    """A report, as grader.notebook.check returns it."""

    status: str

    def _repr_html_(self) -> str: ...


Report = TypeVar("Report", bound=Judgement)

REPAIR = "repair_me"
MEASURED = "application/vnd.course.measured+json"  # in the outputs of a run that no one looks at: see hosts.recorded
NONE_YET = "Nothing to check yet:"

_WRAPPED = "opt = hvd.DistributedOptimizer(opt)\n"
_SGD = "opt = tf.keras.optimizers.SGD(learning_rate=args.base_lr, momentum=0.9)\n"
_STEPS = "    steps_per_epoch=len(train_iter) // hvd.size(),\n"
_UNEVEN = "    steps_per_epoch=len(train_iter) // hvd.size() + int(hvd.rank() < len(train_iter) % hvd.size()),\n"
_AVERAGE = "callbacks.append(hvd.callbacks.MetricAverageCallback())\n"
_STOP = "callbacks.append(StopAtAccuracy(args.target_accuracy, args.patience))\n"
_RESIZED = "        order = np.resize(order, math.ceil(images.samples / hvd.size()) * hvd.size())\n"
_SLICE = "        images.index_array = order[hvd.rank() :: hvd.size()]\n"
_SCHEDULE = "    tf.keras.callbacks.LearningRateScheduler(lr_schedule),\n"
_LAST = "momentum_correction=False, verbose=verbose),\n]\n"

# By step, the scripts that a lesson shows: three of which one is wrong, or one to repair.
SCRIPTS: dict[int, dict[str, Edits]] = {
    3: {
        "a": ((_WRAPPED, ""), ("optimizer=opt, metrics=", "optimizer=hvd.DistributedOptimizer(opt), metrics=")),
        "b": ((_SGD, f"opt = hvd.DistributedOptimizer({_SGD[6:-1]})\n"), (_WRAPPED, "")),
        "c": ((_WRAPPED, "average = hvd.DistributedOptimizer(opt)\n"),),
    },
    5: {
        REPAIR: (
            (_STEPS, f"    # The batches that are left over go to the first ranks, so that none is lost.\n{_UNEVEN}"),
        ),
    },
    6: {
        "a": ((_AVERAGE, ""), (_STOP, f"{_STOP}callbacks.insert(1, hvd.callbacks.MetricAverageCallback())\n")),
        "b": ((_AVERAGE, ""), (_STOP, f"{_STOP}{_AVERAGE}")),
        "c": ((_AVERAGE, ""), (_STOP, f"{_AVERAGE}{_STOP}")),
    },
    8: {
        REPAIR: (
            (
                "        print(error)\n        failures = 1\n",
                '        raise SystemExit(f"Rank {hvd.rank()} ends: {error}")\n',
            ),
        ),
    },
    9: {
        "a": (("default_rng(epoch)", "default_rng([epoch, hvd.rank()])"),),
        "b": (
            (
                "math.ceil(images.samples / hvd.size()) / images.batch_size",
                "images.samples // hvd.size() / images.batch_size",
            ),
            (_RESIZED, "        order = order[: images.samples // hvd.size() * hvd.size()]\n"),
        ),
        "c": ((_SLICE, "        images.index_array = np.split(order, hvd.size())[hvd.rank()]\n"),),
    },
    11: {
        "a": (("WarmupCallback(full_lr,", "WarmupCallback(args.base_lr,"),),
        "b": ((_SCHEDULE, ""), (_LAST, f"{_LAST[:-2]}{_SCHEDULE}]\n")),
        "c": (("SGD(learning_rate=full_lr,", "SGD(learning_rate=args.base_lr,"),),
    },
}


def text(step: int, name: str) -> str:
    """Return one of the scripts of a step.

    Args:
        step: the step.
        name: the script's name, without .py.

    Raises:
        ValueError: an old text does not occur exactly once in the solution.
    """
    program = _solution(step)
    for old, new in SCRIPTS[step][name]:
        if program.count(old) != 1:
            raise ValueError(f"The solution of step {step} has {program.count(old)} times {old!r}, not once.")
        program = program.replace(old, new)
    return program


def _solution(step: int) -> str:
    """Return a solution without the comments on the step's lines: in an edited script, these are wrong, or a hint."""
    return re.sub(rf"(?m)^ *# Step {step}: .*\n(?: *#.*\n)*", "", steps.get(step).solution.read_text())


def write(step: int, script: str | Path, directory: str | Path = ".") -> HTML | None:
    """Put the scripts of a step into a directory, and return their lines: as differences from the solution or starter.

    They show how the step can be written, so nothing is done before the learner has written it. A script that a learner
    repairs is not overwritten.

    Args:
        step: the step.
        script: the learner's own file.
        directory: where the lesson is.
    """
    if f"TODO: Step {step}" in Path(script).read_text() and not progress.passed(step):
        name = Path(script).name
        print(f"Finish step {step} first: {name} still has a comment TODO: Step {step}, and no check of it has passed.")
        return None
    shown = []
    for name in SCRIPTS[step]:
        path = Path(directory, f"{name}.py")
        if name != REPAIR or not path.exists():
            path.write_text(text(step, name))
        # Next to the solution, one of three scripts is short to read, but one to repair would show its repair.
        other = steps.get(step).starter.read_text() if name == REPAIR else _solution(step)
        shown.append(exercise.folded_diff(path.name, other, path.read_text()).data)
    return HTML("".join(shown).replace("<details>", "<details open>"))


def judged(step: int, wrong: str | None, check: Callable[[int, str], Report]) -> HTML | Report | None:
    """Judge the script that a learner takes for the wrong one; return whether it is, with the judge's report folded.

    Without a verdict, return the judge's report.

    Args:
        step: the step.
        wrong: the script's name, "a", "b" or "c"; None while there is no answer.
        check: grader.notebook.check.
    """
    if wrong is None:
        print(f'{NONE_YET} put "a", "b" or "c" in place of None above, and run that cell and this one.')
        return None
    if wrong not in SCRIPTS[step]:
        print(f"{wrong!r} is none of the scripts. Write one of {', '.join(map(repr, SCRIPTS[step]))}.")
        return None
    report = check(step, f"{wrong}.py")
    if report.status not in ("passed", "failed"):
        return report
    found = (
        "✓ Right: {0}.py is the wrong one."
        if report.status == "failed"
        else "✗ All checks of {0}.py pass. Try another."
    )
    folded = f"<details><summary>What the judge says about {wrong}.py</summary>{report._repr_html_()}</details>"
    return HTML(f"<p><b>{found.format(wrong)}</b></p>{folded}")


def edited(path: str | Path, untouched: str) -> bool:
    """Return whether a learner has edited a file, and print what to do if not.

    Args:
        path: the file.
        untouched: a text that is in the file until it is edited.
    """
    path = Path(path)
    if not path.exists():
        print(f"{NONE_YET} there is no {path.name}. A cell above writes it: run that one, and do what it says.")
        return False
    if untouched not in path.read_text():
        return True
    print(f"{NONE_YET} {path.name} is unchanged. Edit it, then run this cell again.")
    return False


def repaired(step: int, check: Callable[[int, str], Report]) -> Report | None:
    """Judge the script that a learner repairs, once it was edited, and return the judge's report.

    Args:
        step: the step.
        check: grader.notebook.check.
    """
    path = f"{REPAIR}.py"
    return check(step, path) if edited(path, text(step, REPAIR)) else None


def _is_plain(measured: Answer) -> bool:
    """Whether JSON can hold a value: not infinity, and no type of NumPy's."""
    return isinstance(measured, str) or (isinstance(measured, int | float) and math.isfinite(measured))


def predicted(
    step: int | str,
    question: str,
    guess: Answer | None,
    measured: Answer,
    why: str,
    typical: Mapping[Answer, str] | None = None,
    factor: float = 1.0,
) -> None:
    """Print whether a prediction is right, what was measured, and why; keep whether the first one was.

    In a run that no one looks at, nothing is predicted: its pages show what was measured, and why.

    Args:
        step: the lesson, as a number or a name such as "6b".
        question: a name for it, which no other prediction of the lesson has.
        guess: the learner's prediction; None while there is none, and then nothing is given away.
        measured: what the lesson has measured.
        why: the reason, true whatever was predicted.
        typical: wrong predictions that many make, and what each one would mean.
        factor: how far off a number may be: with 1.5, those from measured / 1.5 to measured * 1.5 are right.
    """
    shown = f"{measured:.3g}" if isinstance(measured, float) else measured
    if "COURSE_HEADLESS" in os.environ:
        kept = {MEASURED: measured} if _is_plain(measured) else {}
        publish_display_data({"text/markdown": f"**Measured:** {shown}. {why}", **kept})
        return
    if guess is None:
        print("No prediction yet: put yours in place of None above, then run that cell and this one.")
        return
    number = isinstance(measured, int | float)
    if isinstance(guess, bool) or not isinstance(guess, int | float if number else str):
        print(f"{guess!r} is not {'a number' if number else 'a name in quotation marks'}, so it cannot be compared.")
        return
    if isinstance(guess, str) or isinstance(measured, str):
        right = guess == measured
    else:
        right = measured / factor <= guess <= measured * factor
    progress.predicted(steps.get(step).number, question, right)
    if right:
        print(f"Your prediction is right. Measured: {shown}.")
    else:
        print(f"You predicted {guess}. Measured: {shown}. {(typical or {}).get(guess, '')}".rstrip())
    print(why)
