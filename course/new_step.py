"""Make the files of a new step: stubs in every place that a step has, whose tests fail until they are written.

CONTRIBUTING.md says how to continue. The judge's files are read and written as text, since course never imports grader.
"""

import ast
import keyword
import re
import subprocess
import sys
from pathlib import Path

import click
import nbformat

from course import steps
from course.internal import lesson_skeleton
from course.steps import ROOT, Step

CHECKS = ROOT / "grader" / "checks"
CORPUS = ROOT / "tests" / "corpus"
REGISTRY = ROOT / "course" / "steps.py"

PART = '''"""The part of {script}. TODO: say what becomes of the program."""

from grader.checks.part import Part
from grader.checks.training import CLUSTERS
from grader.reading.parsing import Source
from grader.terms.facts import HorovodFacts
from grader.terms.findings import Finding
from grader.terms.runs import HorovodRuns

# TODO: choose the facts that ranks report, and give the clusters the arguments of the program (flags in their module).
part = Part("{script}", HorovodFacts)
'''
CHECK = '''

@part.check(
    {number},
    asks=("TODO: what to change",),
    {option},
    hint="TODO: what to try where the script lacks what the step asks for.",
)
def step_{number:02d}({arguments}) -> Finding | None:
    """TODO: what the step asks for, in one line that the learner reads."""
    return Finding(seen="TODO: what was observed", expected="TODO: what the solution does")
'''
OF_A_NEW_PART = "runs: HorovodRuns, expected: HorovodRuns, source: Source"
PROBLEM = "TODO: the problem that the step solves, without the solution"
ROWS = '"""{kind} scripts of step {number}. TODO: name the part."""\n\nfrom tests.corpus.variant import {made}\n'
CORRECT = '\nCORRECT {sign} (right({number}, "the solution of step {number}", in_ci=True)(),)\n'
WRONG = """
WRONG {sign} (
    wrong({number}, "nothing done at step {number}", base="{starter}", in_ci=True)(),
    wrong({number}, "TODO: a mistake", in_ci=True)(("TODO: right lines", "TODO: wrong lines")),
)
"""


def make(number: int, part: str, after: int, title: str) -> list[Path]:
    """Make the stubs of a step and return the files that were written.

    Args:
        number: the step.
        part: a module of grader.checks, or the name of a new one.
        after: the step whose solution is the new step's starter.
        title: the step's, for the registry and the lesson.

    Raises:
        click.ClickException: there can be no such step; the message says why. Nothing was written.
    """
    before = _known(after)
    if any(step.number == number for step in steps.STEPS):
        raise click.ClickException(f"Step {number} exists already.")
    if number < after:
        raise click.ClickException(f"Step {number} cannot come after step {after}: steps are in the order of numbers.")
    module = _module(part, after)
    step = _step(number, part if module is None else "", before, title)
    if step.solution.exists() or step.notebook.exists():
        raise click.ClickException(f"{step.solution} or {step.notebook} exists already.")
    step.solution.write_text(before.solution.read_text())
    if module:
        _move_link(before, step)
    step.notebook.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(lesson_skeleton.notebook(step), step.notebook)
    step.answer.write_text("TODO: a model answer to the lesson's written question.\n")
    _register(step)
    check = _add_check(step, after, module) if module else _add_part(step, part)
    written = [step.solution, step.notebook, REGISTRY, check, *_add_rows(step, part)]
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", *written], cwd=ROOT)
    return [*written, step.answer]


def _known(number: int) -> Step:
    try:
        return steps.get(number)
    except KeyError as error:
        raise click.ClickException(error.args[0]) from None


def _module(part: str, after: int) -> Path | None:
    """Return the module of a part that has the check of a step, or None where the part is new."""
    if not part.isidentifier() or keyword.iskeyword(part):
        raise click.ClickException(f"'{part}' cannot be the name of a Python module.")
    modules = [*CHECKS.glob(f"{part}.py"), *CHECKS.glob(f"{part}/*.py")]
    if not modules:
        return None
    checked = {number: module for module in modules for number in _checks(module)}
    if not checked:
        raise click.ClickException(f"grader/checks/{part}.py is not a part: it checks no step.")
    if after != max(checked):
        raise click.ClickException(f"The last step of {part} is {max(checked)}: a new one has to come after it.")
    return checked[after]


def _checks(module: Path) -> dict[int, ast.FunctionDef]:
    """Return the functions of a module that check a step, by the step's number."""
    found: dict[int, ast.FunctionDef] = {}
    functions = [node for node in ast.parse(module.read_text()).body if isinstance(node, ast.FunctionDef)]
    for function in functions:
        for decorator in function.decorator_list:
            match decorator:
                case ast.Call(ast.Attribute(ast.Name("part"), "check"), [ast.Constant(int(number)), *_]):
                    found[number] = function
    return found


def _step(number: int, new_part: str, before: Step, title: str) -> Step:
    """Return the new step. A new part has a program of its own name; others keep theirs."""
    stem = new_part or re.sub(r"_after_step_\d+$", "", before.solution_name.removesuffix(".py"))
    script = f"{new_part}.py" if new_part else before.script
    return Step(number, title, before.solution_name, f"{stem}_after_step_{number:02d}.py", script)


def _move_link(before: Step, step: Step) -> None:
    """Let the part's ..._solution.py, if it has one, lead to its new last step."""
    for link in steps.SOLUTIONS.glob("*_solution.py"):
        if link.is_symlink() and link.resolve() == before.solution:
            link.unlink()
            link.symlink_to(step.solution.name)


def _register(step: Step) -> None:
    """Add the step to the registry, in the order of the numbers."""
    text = REGISTRY.read_text()
    table = next(
        node.value
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign | ast.AnnAssign) and ast.unparse(node).startswith("STEPS")
    )
    assert isinstance(table, ast.Tuple) and table.end_lineno
    later = [entry.lineno for entry in table.elts if step.number < _number(entry) < steps.INTERLUDE]
    fields = (step.number, step.title, step.starter_name, step.solution_name, step.script, PROBLEM, 0)
    lines = text.splitlines(keepends=True)
    lines.insert(min([*later, table.end_lineno]) - 1, f"    Step({', '.join(map(repr, fields))}),\n")
    REGISTRY.write_text("".join(lines))


def _number(entry: ast.expr) -> int:
    """Return the number of a step, the first argument of its entry in the registry."""
    assert isinstance(entry, ast.Call)
    number: int = ast.literal_eval(entry.args[0])
    return number


def _add_check(step: Step, after: int, module: Path) -> Path:
    """Add a stub behind the other checks of a module, with the arguments of the check of the step before."""
    text = module.read_text()
    arguments = ast.unparse(_checks(module)[after].args)
    heading = f"\n# --- Step {step.number} ---".ljust(121, "-") + "\n" if "# --- Step " in text else ""
    stub = CHECK.format(number=step.number, option=f"needs=({_checks(module)[after].name},)", arguments=arguments)
    module.write_text(text + heading + stub)
    return module


def _add_part(step: Step, part: str) -> Path:
    """Make a part with a stub for its first check."""
    module = CHECKS / f"{part}.py"
    stub = CHECK.format(number=step.number, option="clusters=CLUSTERS", arguments=OF_A_NEW_PART)
    module.write_text(PART.format(script=step.script) + stub)
    return module


def _add_rows(step: Step, part: str) -> list[Path]:
    """Add rows to the part's correct and wrong scripts in the corpus, and make these modules where there are none."""
    modules = []
    for kind, made, rows in (("Correct", "right", CORRECT), ("Wrong", "wrong", WRONG)):
        module = CORPUS / f"{part}_{kind.lower()}.py"
        exists = module.exists()
        text = module.read_text() if exists else ROWS.format(kind=kind, number=step.number, made=made)
        new = rows.format(number=step.number, starter=step.starter_name, sign="+=" if exists else "=")
        module.write_text(text + new)
        modules.append(module)
    return modules
