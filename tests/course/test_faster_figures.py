"""The figures of step 24 show what was measured."""

from course import figures
from course.faster.batches import Needed
from course.faster.timeline import Exchange


def test_exchanges_have_a_row_per_tensor():
    alone = [Exchange((0.0,), 0.001, 0.002), Exchange((0.0,), 0.002, 0.003)]
    fused = [Exchange((0.0, 0.0005), 0.001, 0.002)]
    left, right = figures.exchanges_over_time({"alone": alone, "fused": fused}).axes
    assert left.get_title() == "alone: 2 allreduces" and right.get_title() == "fused: 1 allreduces"
    assert len({bar.get_y() for bar in left.patches}) == len({bar.get_y() for bar in right.patches}) == 2
    assert left.get_xlim() == right.get_xlim()


def test_the_knee_ends_the_shaded_batches():
    found = [Needed(8, 0.1, 100), Needed(16, 0.1, 50), Needed(32, 0.2, 48), Needed(64, 0.2, 48)]
    left, right = figures.batch_limit(found).axes
    assert list(left.lines[1].get_ydata()) == [100, 50, 48, 48]
    assert [text.get_text() for text in right.texts] == ["knee: 32"]


def test_idle_shares_are_lines_over_both_settings():
    left, right = figures.idle_gpu({"steady": {0: 0.5, 1: 0.0}}, {"slow": {1: 0.7, 4: 0.1}}).axes
    assert list(left.lines[0].get_ydata()) == [0.5, 0.0]
    assert [label.get_text() for label in right.get_xticklabels()] == ["1", "4"]


def test_bars_add_up_to_the_whole_training():
    (ax,) = figures.cheaper_step({"communication": 20.0, "all else": 6.0}, {"communication": 5.0, "all else": 7.0}).axes
    assert [bar.get_x() + bar.get_width() for bar in ax.patches] == [20.0, 26.0, 5.0, 12.0]
