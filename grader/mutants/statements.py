"""Mutators of statements: what is deleted, moved, or put under a condition."""

import ast
import re
from collections.abc import Iterator

from grader.mutants.mutators import mutator
from grader.mutants.program import COMPOUND, DEFINITION, Edit, Program, indented, is_text

# Statements that others are moved to: what comes before and after these matters.
LANDMARKS = re.compile(r"hvd\.init\(\)|^model = |compile\(|model\.fit\(|strategy = |parse_args")
NEAR = 3  # how many statements up or down one is moved


@mutator
def deleted(program: Program) -> Iterator[Edit]:
    """Delete a statement."""
    for _, block, place in program.statements():
        yield program.rewrite(block[place], _without(program, block, place), "(deleted)")


@mutator
def duplicated(program: Program) -> Iterator[Edit]:
    """Make a call twice."""
    for _, block, place in program.statements():
        if isinstance(block[place], ast.Expr):
            yield program.rewrite(block[place], 2 * program.piece(block[place]), "(twice)")


@mutator
def under_a_condition(program: Program) -> Iterator[Edit]:
    """Execute a statement on some of the processes only."""
    tests: tuple[str, ...] = ("chief", "not chief") if "\nchief = " in program.text else ()
    if "import horovod" in program.text:
        tests = "hvd.rank() == 0", "hvd.local_rank() == 0"
    for _, block, place in program.statements():
        statement, margin = block[place], " " * block[place].col_offset
        if not isinstance(statement, ast.Import | ast.ImportFrom | DEFINITION):
            for test in tests:
                new = f"{margin}if {test}:\n{indented(program.piece(statement), 4)}"
                yield program.rewrite(statement, new, f"(under `if {test}:`)")


@mutator
def without_its_head(program: Program) -> Iterator[Edit]:
    """Execute the body of a compound statement by itself, or never, or under the opposite condition."""
    for node in ast.walk(program.tree):
        if isinstance(node, COMPOUND) and node.lineno in program.changed:
            body = "".join(program.piece(each) for each in node.body)
            yield program.rewrite(node, indented(body, node.col_offset - node.body[0].col_offset), "(its body alone)")
            if isinstance(node, ast.If):
                test = program.source(node.test)
                yield program.swap(program.start(node.test), program.end(node.test), f"not ({test})")
                yield program.swap(program.start(node.test), program.end(node.test), "False")


@mutator
def moved(program: Program) -> Iterator[Edit]:
    """Move a statement up or down within its block."""
    for owner, block, place in program.statements():
        for other in range(len(block)):
            if other != place and (abs(other - place) <= NEAR or not isinstance(owner, ast.Module)):
                yield from _moved_to(program, block, place, other)


def _moved_to(program: Program, block: list[ast.stmt], place: int, other: int) -> Iterator[Edit]:
    statement, anchor, piece = block[place], block[other], program.piece(block[place])
    fixed = ast.Import | ast.ImportFrom | DEFINITION | ast.Return | ast.Raise
    if isinstance(statement, fixed) or is_text(anchor):
        return
    there = program.piece(anchor)
    new, where = (piece + there, "above") if other < place else (there + piece, "below")
    yield program.rewrite_lines({statement: "", anchor: new}, statement, f"({where} `{program.head(anchor)}`)")


@mutator
def moved_far(program: Program) -> Iterator[Edit]:
    """Move a statement of the main program to a place that matters: around init, model, compile, fit, or the ends."""
    for owner, block, place in program.statements():
        if isinstance(owner, ast.Module):
            for other, anchor in enumerate(block):
                if re.search(
                    r"hvd\.init\(\)|^model = |compile\(|model\.fit\(|strategy = |parse_args", program.head(anchor)
                ):
                    yield from _moved_to(program, block, place, other) if other != place else ()


@mutator
def moved_out(program: Program) -> Iterator[Edit]:
    """Move a statement out of the compound statement that it is in, above or below it."""
    for owner, block, place in program.statements():
        if isinstance(owner, COMPOUND):
            piece = indented(program.piece(block[place]), owner.col_offset - block[place].col_offset)
            lines = program.lines[program.first(owner) - 1 : program.last(owner)]
            first = program.first(owner)
            start, end = program.first(block[place]) - first, program.last(block[place]) - first + 1
            rest = "".join([*lines[:start], _without(program, block, place), *lines[end:]])
            for new, where in ((piece + rest, "above"), (rest + piece, "below")):
                edit = program.rewrite(owner, new, f"({where} `{program.head(owner)}`)")
                yield Edit(program.first(block[place]), program.head(block[place]), edit.after, edit.text)


@mutator
def moved_in(program: Program) -> Iterator[Edit]:
    """Move a statement into a compound statement near it, to the end of its body."""
    for _, block, place in program.statements():
        for other in block[max(0, place - NEAR) : place + NEAR + 1]:
            if isinstance(other, ast.If | ast.With | ast.For) and isinstance(block[place], ast.Expr | ast.Assign):
                last = other.body[-1]
                piece = program.piece(last) + indented(program.piece(block[place]), last.col_offset - other.col_offset)
                edit = program.rewrite_lines({last: piece, block[place]: ""}, block[place], "")
                yield Edit(edit.line, edit.before, f"(into `{program.head(other)}`)", edit.text)


def _without(program: Program, block: list[ast.stmt], place: int) -> str:
    """Return what takes the place of a statement that is gone."""
    return "" if len(block) > 1 else " " * block[place].col_offset + "pass\n"
