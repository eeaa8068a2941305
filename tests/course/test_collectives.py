"""The figures of algorithms for an allreduce, and the program that shows what each rank gets."""

import pytest

from course import figures, launch, lessons
from course.figures.collectives import crossover
from course.hosts import algorithms
from course.hosts.algorithms import Timing
from course.steps import get

FOLDER = algorithms.OTHERS.parent


def timings(algorithm, *seconds, ranks=4):
    sizes = (1_000, 10_000, 100_000)
    rows = zip(sizes, seconds, strict=False)
    return [Timing(algorithm, ranks, size, each, [size] * ranks, [6] * ranks) for size, each in rows]


def measured(ring):
    return [*timings("recursive_doubling", 1, 2, 8), *timings("ring", *ring)]


def test_a_crossover_is_between_the_sizes_where_the_order_changes():
    found = crossover(measured((4, 4, 4)), "recursive_doubling", "ring")
    assert 10_000 < found < 100_000
    assert crossover(measured((4, 2, 4)), "recursive_doubling", "ring") == 10_000


@pytest.mark.parametrize("ring", [(0.5, 0.5, 0.5), (4, 4, 9), ()])
def test_without_a_change_of_order_there_is_no_crossover(ring):
    assert crossover(measured(ring), "recursive_doubling", "ring") is None


@pytest.mark.parametrize("ring", [(4, 4, 4), ()])
def test_times_are_drawn_with_a_line_per_algorithm(ring):
    (ax,) = figures.times_by_size(measured(ring)).axes
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["recursive doubling", "ring"][: 2 if ring else 1]
    marked = [text.get_text() for text in ax.texts]
    assert len(marked) == bool(ring) and ax.get_xscale() == ax.get_yscale() == "log"


def test_hosts_are_on_the_axis():
    rows = [each for ranks in (2, 4, 8) for each in timings("ring", 1, ranks=ranks)]
    left, right = figures.times_by_hosts(rows).axes
    assert list(left.get_xticks()) == list(right.get_xticks()) == [2, 4, 8]
    assert list(left.lines[0].get_ydata()) == [1000] * 3


def test_a_function_of_a_program_is_shown(capsys):
    lessons.show_function(algorithms.OTHERS, "tree")
    shown = capsys.readouterr().out
    assert shown.startswith("def tree(") and shown.rstrip().endswith("return total")
    with pytest.raises(LookupError, match="has no function ring"):
        lessons.show_function(algorithms.OTHERS, "ring")


@pytest.mark.slow
@pytest.mark.parametrize("name", algorithms.NAMES)
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_an_algorithm_sums(name, ranks):
    run = launch.mpirun(["python", f"{FOLDER}/show.py", str(algorithms.OTHERS), name, "5"], ranks, say=lessons.quiet)
    shown = [line for lines in run.output.values() for line in lines]
    assert sorted(shown) == [f"rank {rank} has {[int('1' * ranks)] * 5}" for rank in range(ranks)]


@pytest.mark.slow
def test_a_tree_takes_any_number_of_ranks():
    run = launch.mpirun(["python", f"{FOLDER}/show.py", str(algorithms.OTHERS), "tree", "5"], 3, say=lessons.quiet)
    assert all(lines == [f"rank {rank} has {[111] * 5}"] for rank, lines in run.output.items())


@pytest.mark.slow
def test_a_model_trained_with_the_ring_equals_the_one_of_horovod():
    command = ["python", f"{FOLDER}/compare.py", str(get(21).solution)]
    run = launch.mpirun(command, 2, say=lessons.quiet)
    own, horovod, difference = run.output[0][-3:]
    assert own.startswith("your own: loss ") and horovod.startswith("Horovod: loss ")
    assert float(difference.rpartition(" ")[2]) < 1e-6
