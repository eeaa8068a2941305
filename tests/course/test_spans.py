"""What ranks do when: recorded as spans, measured, printed and drawn."""

import pytest

from course import figures
from course.hunt import spans
from course.hunt.spans import Recorder, Span


class Alone:
    """A communicator of MPI with one rank."""

    rank, size = 0, 1

    def gather(self, own):
        return [own]


RANKS = [
    Span(0, 0, "compute", 0.0, 0.2),
    Span(0, 0, "wait", 0.2, 0.4),
    Span(1, 0, "compute", 0.0, 0.4),
    Span(1, 1, "input", 0.2, 0.6),
    Span(1, 0, "exchange", 0.4, 0.6),
]


def test_a_recorded_block_is_a_span_that_begins_at_zero():
    record = Recorder(Alone())
    with record("compute", 3):
        pass
    (span,) = record.gather()
    assert span[:4] == (0, 3, "compute", 0) and span.end > 0


def test_a_share_is_of_the_time_of_all_ranks():
    assert spans.share(RANKS, "compute") == pytest.approx(0.6 / 1.2)
    assert spans.share(RANKS, "save") == 0


def test_text_has_a_letter_per_moment_and_computing_hides_input():
    lines = spans.as_text(RANKS, moment=0.1).splitlines()
    assert lines[:2] == ["rank 0  ccww..", "rank 1  ccccxx"]
    assert "100 ms" in lines[2] and "save" not in lines[2]


def test_a_file_has_the_spans(tmp_path):
    spans.write(RANKS, tmp_path / "spans.json")
    assert spans.read(tmp_path / "spans.json") == RANKS
    (tmp_path / "other.json").write_text("[1]")
    with pytest.raises(ValueError, match=r"other\.json has no spans"):
        spans.read(tmp_path / "other.json")


def test_each_span_is_drawn_in_the_row_of_its_rank():
    (ax,) = figures.spans(RANKS).axes
    assert [text.get_text() for text in ax.get_yticklabels()] == ["rank 0", "rank 1"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["compute", "wait", "exchange", "input"]
    boxes = [bars.get_paths()[0].get_extents() for bars in ax.collections]
    assert [round(box.y0) for box in boxes] == [0, 0, 1, 1, 1]
    assert [box.x0 for box in boxes] == [span.start for span in RANKS]
