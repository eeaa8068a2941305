"""The judge on mutants of its solutions: the mutators by themselves, and a sample of what they make.

scripts/bench judges all mutants.
"""

import ast
import dataclasses

import pytest

from benchmarks import mutants as benchmark
from benchmarks.mutants import fate
from course import steps
from grader.judge import judge
from grader.runner.pool import Pool
from grader.sandbox import policy
from tests.mutants import GRADED, Mutant, of
from tests.mutants.equivalents import EQUIVALENTS
from tests.mutants.mutators import MUTATORS
from tests.mutants.program import Program, changed_lines

ALL = [mutant for step in GRADED for mutant in of(step)]

# Some that take seconds, of each part of steps 1 to 16 one: the step, what the lines become, and whose check fails.
SAMPLE = (
    (5, "validation_steps=len(test_iter) // hvd.size(),", 5),
    (8, "if hvd.rank() == 0:", 8),
    (13, "verbose=0,", 13),
    (15, "train_data,", 15),
    (16, "max_evaluations=args.max_evaluations,", 16),
)


def mutants_of(mutator, text, lines=None):
    """Return the edits that a mutator makes of a program, changed on all of its lines or on some."""
    program = Program(text, lines or set(range(1, text.count("\n") + 1)))
    return list(MUTATORS[mutator](program))


def afters(mutator, text, lines=None):
    return [edit.after for edit in mutants_of(mutator, text, lines)]


@pytest.mark.parametrize(
    ("mutator", "before", "expected"),
    [
        ("other rank", "x = hvd.rank()", "x = hvd.local_rank()"),
        ("other rank", "x = 3 // hvd.size()", "x = 3 // 1"),
        ("other rank", "x = strategy.num_replicas_in_sync", "x = 1"),
        ("other operator", "x = 3 * n // hvd.size()", "x = 3 * n * hvd.size()"),
        ("one operand", "x = a // b", "x = a"),
        ("one operand", "x = a or b", "x = b"),
        ("other comparison", "x = a == b", "x = a != b"),
        ("other choice", "x = 1 if a else 0", "x = 0 if a else 1"),
        ("other constant", "f(0)", "f(1)"),
        ("other constant", "f(True)", "f(False)"),
        ("other constant", 'f("GPU")', 'f("CPU")'),
        ("dropped argument", "f(a, b=1, c=2)", "f(a, c=2)"),
        ("dropped argument", "f(a, b=1, c=2)", "f(a, b=1)"),
        ("dropped element", "x = [a, b]", "x = [b]"),
        ("swapped arguments", "f(a, b=g(c))", "f(g(c), b=a)"),
        ("added argument", "x = hvd.DistributedOptimizer(y)", "x = hvd.DistributedOptimizer(y, op=hvd.Sum)"),
        ("peeled", "x = f(a)", "x = a"),
        ("peeled", "x = a.b().c()", "x = a.b()"),
        ("peeled", "x = a[0]", "x = a"),
        ("peeled", "a.b()", "a.b"),
        ("other slice", "x = a[b::c]", "x = a[::c]"),
        ("other name", "x = hvd.Sum", "x = hvd.Average"),
        ("other path", 'f(f"{args.log_dir}/backup")', 'f(f"{args.log_dir}/checkpoints")'),
        ("deleted", "f(a)", "(deleted)"),
        ("duplicated", "f(a)", "(twice)"),
    ],
)
def test_a_mutator_makes_its_mistake(mutator, before, expected):
    assert expected in afters(mutator, before + "\n")


def test_another_flag_or_variable_of_the_same_kind():
    text = 'log_dir = args.log_dir\nf(f"{args.log_dir}/x", args.data_dir, args.epochs)\n'
    assert 'f(f"{args.data_dir}/x", args.data_dir, args.epochs)' in afters("other flag", text)
    assert 'f(f"{log_dir}/x", args.data_dir, args.epochs)' in afters("other flag", text)
    assert not any("args.epochs/x" in after for after in afters("other flag", text))


def test_other_data():
    text = "train_iter = 1\nval_iter = 2\nf(train_iter)\n"
    assert afters("other data", "\n" + text, {4}) == ["f(val_iter)"]


def test_callbacks_are_swapped_with_each_other_one():
    text = "callbacks = [\n    a(),\n    b(),\n    c(),\n]\n"
    assert [edit.text for edit in mutants_of("other callback order", text, {4})] == [
        "callbacks = [\n    c(),\n    b(),\n    a(),\n]\n",
        "callbacks = [\n    a(),\n    c(),\n    b(),\n]\n",
    ]


def test_a_statement_is_put_under_a_condition():
    text = "import horovod.keras as hvd\nwith a:\n    b()\n"
    assert [edit.text for edit in mutants_of("under a condition", text, {3})] == [
        f"import horovod.keras as hvd\nwith a:\n    if hvd.{rank}() == 0:\n        b()\n"
        for rank in ("rank", "local_rank")
    ]


def test_a_compound_statement_loses_its_head():
    assert [edit.text for edit in mutants_of("without its head", "if a:\n    # why\n    b()\n\n    c()\n")] == [
        "b()\nc()\n",
        "if not (a):\n    # why\n    b()\n\n    c()\n",
        "if False:\n    # why\n    b()\n\n    c()\n",
    ]


def test_a_statement_is_moved_within_its_block():
    assert [edit.text for edit in mutants_of("moved", "a()\nb()  # why\nc()\n", {2})] == [
        "b()  # why\na()\nc()\n",
        "a()\nc()\nb()  # why\n",
    ]


def test_a_statement_is_moved_out_of_a_block_and_into_one():
    text = "with a:\n    b()\n    c()\nd()\n"
    assert [edit.text for edit in mutants_of("moved out", text, {3})] == [
        "c()\nwith a:\n    b()\nd()\n",
        "with a:\n    b()\nc()\nd()\n",
    ]
    assert [edit.text for edit in mutants_of("moved in", text, {4})] == ["with a:\n    b()\n    c()\n    d()\n"]


def test_a_statement_is_moved_around_init_and_fit():
    text = "hvd.init()\na()\nb()\nc()\nd()\nmodel.fit()\ne()\n"
    assert [edit.text for edit in mutants_of("moved far", text, {4})] == [
        "c()\nhvd.init()\na()\nb()\nd()\nmodel.fit()\ne()\n",
        "hvd.init()\na()\nb()\nd()\nmodel.fit()\nc()\ne()\n",
    ]


def test_what_a_person_reads_stays():
    text = '"""The program of rank 0."""\nprint(hvd.rank(), 0)\nf(help="0")\nraise SystemExit(f"{hvd.rank()} is {0}")\n'
    for mutator in ("other rank", "other constant", "other flag"):
        assert not mutants_of(mutator, text)


def test_lines_that_the_step_changes():
    assert changed_lines("a\nb\nc\n", "a\nx\ny\nc\nd\n") == {2, 3, 5}


def test_there_are_enough_and_every_step_has_some():
    assert len(ALL) >= 500
    assert all(len(of(step)) >= 15 for step in GRADED)


def test_each_mutant_is_another_valid_program():
    for step in GRADED:
        texts = step.solution.read_text(), *(mutant.text for mutant in of(step))
        assert len({ast.dump(ast.parse(text)) for text in texts}) == len(texts)


def test_names_are_unique_and_always_the_same():
    assert len({mutant.id for mutant in ALL}) == len({mutant.key for mutant in ALL}) == len(ALL)
    first = GRADED[0]
    assert of.__wrapped__(first) == of(first)


def test_a_mutant_differs_where_it_says():
    for mutant in ALL:
        solution = steps.get(mutant.step).solution.read_text()
        assert mutant.text != solution
        assert mutant.before.partition(" ")[0] in solution.splitlines()[mutant.line - 1]


def test_every_equivalent_is_a_mutant():
    assert EQUIVALENTS.keys() <= {mutant.key for mutant in ALL}
    assert all(EQUIVALENTS.values())


@pytest.fixture(scope="module")
def pool():
    assert policy.available() is None
    with Pool() as pool:
        yield pool


@pytest.mark.slow
@pytest.mark.parametrize(("number", "after", "fails"), SAMPLE)
def test_the_judge_kills_a_mutant_by_the_check_of_its_step(number, after, fails, pool, tmp_path):
    (mutant,) = (mutant for mutant in of(steps.get(number)) if mutant.after == after)
    path = tmp_path / steps.get(number).script
    path.write_text(mutant.text)
    report = judge(path, number, pool)
    assert report.status == "failed" and report.first_failure.step == fails, report.first_failure


def test_what_becomes_of_a_mutant():
    known = next(iter(EQUIVALENTS))
    equivalent = Mutant(known[0], "", 1, known[1], known[2], "")
    other = dataclasses.replace(equivalent, before="x")
    fates = [fate(mutant, status) for mutant in (equivalent, other) for status in ("passed", "failed")]
    assert fates == ["equivalent", "refused", "survived", "killed"]
    assert fate(other, "needs_review") == fate(equivalent, "not_graded") == "undecided"


def test_the_benchmark_counts_what_becomes_of_them(monkeypatch, tmp_path):
    def verdict(script, step, store):
        return {"report": {"status": "failed" if b"hvd.local_rank() == 0" in script else "passed"}}

    monkeypatch.setattr(benchmark, "TURNS", tmp_path)
    monkeypatch.setattr(benchmark.verdicts, "of", verdict)
    result = benchmark.measure("2,7")
    number, survived = len(of(steps.get(2))), len(result["survived"])
    assert result["made"] == number == result["killed"] + result["equivalent"] + survived + len(result["refused"])
    assert result["killed"] and survived and not result["undecided"]
    assert result["steps"].keys() == {2} and result["steps"][2]["survived"] == survived
    assert any("verbose = 1" in mutant for mutant in result["survived"]) and not benchmark.faultless(result)
