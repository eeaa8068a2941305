"""In a lesson, say which cell a missing name waits for: after a failed run, the cells below it know no results."""

import ast
from types import TracebackType

from IPython.core.interactiveshell import InteractiveShell


def explain(shell: InteractiveShell) -> None:
    """From now on, explain a NameError of a cell by the cells that were run before.

    Args:
        shell: that runs the cells.
    """
    shell.set_custom_exc((NameError,), _show)


def _show(
    shell: InteractiveShell, kind: type[NameError], error: NameError, trace: TracebackType, tb_offset: int | None = None
) -> list[str]:
    """Show a NameError: in a line where a failed cell would have made the name, otherwise as usual with advice."""
    *before, _ = shell.user_ns["In"]
    if error.name and any(error.name in _made(shell, cell) for cell in before):
        message = f"`{error.name}` is made by a cell above that failed. Make that cell work, then run this one again."
        lines = [f"NameError: {message}"]
    else:
        lines = shell.InteractiveTB.structured_traceback(kind, error, trace, tb_offset=tb_offset)
        lines.append("If a cell above makes this name, run the cells in order, from the first one on.")
    shell._showtraceback(kind, error, lines)
    return lines


def _made(shell: InteractiveShell, cell: str) -> set[str]:
    """Return the names that a cell binds, wherever it does."""
    try:
        nodes = list(ast.walk(ast.parse(shell.transform_cell(cell))))
    except SyntaxError:
        return set()
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    imported: set[str] = {
        alias.asname or alias.name.partition(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return stored | imported | {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
