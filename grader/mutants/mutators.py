"""Mutators of expressions: each makes one kind of mistake in a program, at every place where the step changes it.

A mutator may yield edits that are no Python, or that change nothing: grader.mutants leaves them out.
"""

import ast
import itertools
import re
from collections.abc import Callable, Iterator

from grader.mutants.program import Edit, Program

Mutator = Callable[[Program], Iterator[Edit]]
MUTATORS: dict[str, Mutator] = {}

# What is replaced by what: expressions, names of a library, words and pieces of paths in strings, operators.
RANKS = {
    "hvd.rank()": ("hvd.local_rank()", "hvd.cross_rank()", "0", "1"),
    "hvd.local_rank()": ("hvd.rank()", "hvd.cross_rank()", "0", "1"),
    "hvd.size()": ("hvd.local_size()", "hvd.cross_size()", "1", "2", "(hvd.size() - 1)"),
    "hvd.local_size()": ("hvd.size()", "hvd.cross_size()", "1"),
    "strategy.num_replicas_in_sync": ("1", "2"),
    "index": ("0", "1"),
    "chief": ("True", "False", "not chief", "index == 1"),
}
NAMES = {
    "Sum": ("Average", "Min", "Max"),
    "DATA": ("FILE", "AUTO", "OFF"),
    "ceil": ("floor",),
    "repeat": ("count",),
    "count": ("repeat",),
    "download": ("upload",),
    "upload": ("download",),
    "on_epoch_end": ("on_epoch_begin", "on_train_batch_end", "on_train_end", "on_test_end", "save"),
    "BroadcastGlobalVariablesCallback": ("MetricAverageCallback",),
    "MetricAverageCallback": ("BroadcastGlobalVariablesCallback",),
    "MultiWorkerMirroredStrategy": ("MirroredStrategy",),
    "horovod.tensorflow.keras": ("horovod.tensorflow",),
    "from horovod.tensorflow import": ("from horovod.tensorflow.keras import",),
    "read_bytes": ("read_text",),
    "save_weights": ("save",),
    "save": ("save_weights",),
    "default_rng": ("RandomState",),
    "permutation": ("shuffle", "choice"),
    "n": ("samples",),
    "index_array": ("filenames",),
    "samples": ("batch_size", "n"),
    "TemporaryDirectory": ("NamedTemporaryFile",),
    "MinSizePartitioner": ("FixedShardsPartitioner",),
}
WORDS = {
    "GPU": ("CPU",),
    "ps": ("worker", "chief"),
    "chief": ("worker", "ps"),
    "evaluator": ("chief", "worker"),
    "h5": ("tf", "keras"),
    ".h5": (".keras", ""),
    ".partial": (".h5", ".h5.partial"),
}
PATHS = {
    "/backup": ("", "/checkpoints", "/tensorboard"),
    "/checkpoints": ("", "/checkpoint", "/evaluator"),
    "after-": ("checkpoint-", ""),
    "/train": ("/val", ""),
    "/val": ("/train",),
    "{args.epochs}": ("{args.epochs - 1}", "{args.epochs + 1}", "last"),
    "-{{epoch}}": ("", "-{{loss}}"),
}
OPERATORS = {
    ast.FloorDiv: ("*", "/", "%", "+"),
    ast.Mult: ("//", "/", "+"),
    ast.Div: ("//", "*"),
    ast.Add: ("-",),
    ast.Sub: ("+",),
    ast.LShift: (">>", "*"),
}
COMPARISONS = {
    ast.Eq: ("!=", ">=", ">", "<="),
    ast.NotEq: ("==",),
    ast.Gt: ("<=", ">=", "<", "!="),
    ast.Lt: (">=", "<=", ">"),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
}
# Calls of these are not changed: a mistake in their arguments is a TypeError, which Python reports by itself.
TRIVIAL = "len", "range", "int", "str"
SETS = "train", "val", "test"


def mutator(make: Mutator) -> Mutator:
    """Register a mutator under its name."""
    MUTATORS[make.__name__.replace("_", " ")] = make
    return make


@mutator
def other_rank(program: Program) -> Iterator[Edit]:
    """Ask for another rank or size, or put a number in its place."""
    for node in program.expressions(ast.Call, ast.Attribute, ast.Name):
        if not isinstance(getattr(node, "ctx", None), ast.Store):
            for new in RANKS.get(program.source(node), ()):
                yield program.replace(node, new)


@mutator
def other_operator(program: Program) -> Iterator[Edit]:
    """Calculate with another operator."""
    for node in program.expressions(ast.BinOp):
        for new in OPERATORS.get(type(node.op), ()):
            yield program.swap(program.end(node.left), program.start(node.right), f" {new} ")


@mutator
def one_operand(program: Program) -> Iterator[Edit]:
    """Leave one side of a calculation out."""
    for node in program.expressions(ast.BinOp):
        for side in (node.left, node.right):
            yield program.replace(node, program.source(side))
    for both in program.expressions(ast.BoolOp):
        for side in both.values:
            yield program.replace(both, program.source(side))


@mutator
def other_comparison(program: Program) -> Iterator[Edit]:
    """Compare in another way."""
    for node in program.expressions(ast.Compare):
        for new in COMPARISONS.get(type(node.ops[0]), ()):
            yield program.swap(program.end(node.left), program.start(node.comparators[0]), f" {new} ")


@mutator
def other_choice(program: Program) -> Iterator[Edit]:
    """Take one value in all cases, or the values the other way round."""
    for node in program.expressions(ast.IfExp):
        yes, no = program.source(node.body), program.source(node.orelse)
        for new in (yes, no, f"{no} if {program.source(node.test)} else {yes}"):
            yield program.replace(node, new)


@mutator
def other_constant(program: Program) -> Iterator[Edit]:
    """Change a number, a truth value or a known word."""
    for node in program.expressions(ast.Constant):
        value = node.value
        if isinstance(value, bool):
            yield program.replace(node, str(not value))
        elif isinstance(value, int | float):
            for number in (value + 1, value - 1, 2 * value):
                yield program.replace(node, str(number))
        elif value is None:
            yield program.replace(node, "0")
        elif isinstance(value, str):
            for word in WORDS.get(value, ()):
                yield program.replace(node, f'"{word}"')


@mutator
def dropped_argument(program: Program) -> Iterator[Edit]:
    """Call without one of the arguments."""
    for node in program.expressions(ast.Call):
        if program.source(node.func) not in TRIVIAL:
            yield from _without_each(program, [*node.args, *node.keywords])


@mutator
def dropped_element(program: Program) -> Iterator[Edit]:
    """Leave an element of a list or tuple out."""
    for node in _sequences(program):
        yield from _without_each(program, node.elts)
    for element in _changed_elements(program):
        yield from _without_each(program, [element])


@mutator
def swapped_arguments(program: Program) -> Iterator[Edit]:
    """Swap two neighbours among the arguments of a call, without their keywords, or the elements of a list."""
    calls = ([*node.args, *(each.value for each in node.keywords)] for node in program.expressions(ast.Call))
    lists = (node.elts for node in _sequences(program))
    for values in (*calls, *lists):
        for one, two in itertools.pairwise(values):
            yield _swapped(program, one, two)


@mutator
def other_callback_order(program: Program) -> Iterator[Edit]:
    """Swap an element of a list with each of the others."""
    for element in _changed_elements(program):
        whole = program.parents[element]
        for other in whole.elts if isinstance(whole, ast.List) else ():
            if other is not element:
                yield _swapped(program, *sorted((element, other), key=program.start))


def _sequences(program: Program) -> Iterator[ast.List | ast.Tuple]:
    """Yield the lists and tuples on changed lines."""
    yield from program.expressions(ast.List)
    yield from program.expressions(ast.Tuple)


def _changed_elements(program: Program) -> Iterator[ast.expr]:
    """Yield elements on changed lines of lists that begin on other lines."""
    for node in ast.walk(program.tree):
        if isinstance(node, ast.List) and node.lineno not in program.changed:
            yield from (element for element in node.elts if element.lineno in program.changed)


@mutator
def added_argument(program: Program) -> Iterator[Edit]:
    """Give a known call an argument that changes its effect."""
    added = {
        "hvd.DistributedOptimizer": ("op=hvd.Sum", "backward_passes_per_step=2", "average_aggregated_gradients=True"),
    }
    for node in program.expressions(ast.Call):
        for new in added.get(program.source(node.func), ()):
            if node.args:
                end = program.end(node.args[-1])
                yield program.swap(end, end, f", {new}")


@mutator
def peeled(program: Program) -> Iterator[Edit]:
    """Take an argument of a call in place of the call, an object in place of its method's result or its item."""
    for item in program.expressions(ast.Subscript):
        yield program.replace(item, program.source(item.value))
    for node in program.expressions(ast.Call):
        if program.source(node.func) not in TRIVIAL:
            for argument in node.args:
                yield program.replace(node, program.source(argument))
            if isinstance(node.func, ast.Attribute) and not program.is_module(node.func.value):
                yield program.replace(node, program.source(node.func.value))
            if isinstance(program.parents[node], ast.Expr):
                yield program.replace(node, program.source(node.func))  # named but not called


@mutator
def other_slice(program: Program) -> Iterator[Edit]:
    """Leave a bound or the step of a slice out."""
    for node in program.expressions(ast.Subscript):
        if isinstance(node.slice, ast.Slice):
            parts = [program.source(part) if part else "" for part in (node.slice.lower, node.slice.upper)]
            step = program.source(node.slice.step) if node.slice.step else ""
            for lower, upper, every in ((parts[0], parts[1], ""), ("", parts[1], step), (step, "", ""), ("", step, "")):
                yield program.replace(node, f"{program.source(node.value)}[{lower}:{upper}:{every}]")


@mutator
def other_name(program: Program) -> Iterator[Edit]:
    """Use another function, method, attribute or class of the same library."""

    def others(code: str) -> Iterator[tuple[int, int, str]]:
        for name, news in NAMES.items():
            for found in re.finditer(rf"(?<![\w]){re.escape(name)}(?![\w=])", code):
                for new in news:
                    yield *found.span(), new

    yield from program.names(others)


@mutator
def other_path(program: Program) -> Iterator[Edit]:
    """Read or write a file of another name."""

    def others(code: str) -> Iterator[tuple[int, int, str]]:
        for name, news in PATHS.items():
            for found in re.finditer(re.escape(name), code):
                for new in news:
                    yield *found.span(), new

    yield from program.names(others)


@mutator
def other_flag(program: Program) -> Iterator[Edit]:
    """Use another flag of the command line, or a variable with the name of the flag."""
    known = sorted(set(re.findall(r"\bargs\.(\w+)", program.text)))

    def others(code: str) -> Iterator[tuple[int, int, str]]:
        for found in re.finditer(r"\bargs\.(\w+)", code):
            words = set(found[1].split("_"))
            for other in known:
                if other != found[1] and words & set(other.split("_")):
                    yield *found.span(), f"args.{other}"
            if re.search(rf"^{found[1]} = ", program.text, re.MULTILINE):
                yield *found.span(), found[1]
        for found in re.finditer(r"(?<![\w.])(\w+)", code):
            if found[1] in known and not code[found.end() :].lstrip().startswith("="):
                yield *found.span(), f"args.{found[1]}"

    yield from program.names(others)


@mutator
def other_data(program: Program) -> Iterator[Edit]:
    """Take the data for training in place of those for validation, or the other way round."""

    def others(code: str) -> Iterator[tuple[int, int, str]]:
        for found in re.finditer(rf"\b({'|'.join(SETS)})_(\w+)", code):
            for other in SETS:
                if f"\n{other}_{found[2]} " in program.text and other != found[1]:
                    yield *found.span(), f"{other}_{found[2]}"

    yield from program.names(others)


def _without_each(program: Program, parts: list) -> Iterator[Edit]:
    """Leave each of several parts out, which stand between commas."""
    for number, part in enumerate(parts):
        start, end = program.start(part), program.end(part)
        comma = re.compile(r"\s*,[ ]*").match(program.text, end)
        if comma:
            end = comma.end()
        elif number:
            start = program.end(parts[number - 1])
        yield program.swap(start, end, "")


def _swapped(program: Program, one: ast.expr, two: ast.expr) -> Edit:
    between = program.text[program.end(one) : program.start(two)]
    return program.swap(program.start(one), program.end(two), program.source(two) + between + program.source(one))
