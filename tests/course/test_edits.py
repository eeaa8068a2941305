"""Programs as edits of each other."""

import pytest

from course.hunt import edits
from course.hunt.edits import Edit

BEFORE = "a\nb\nc\nd\n"


@pytest.mark.parametrize("after", [BEFORE, "", "b\nc\nd\n", "a\nx\ny\nd\n", "z\na\nb\nc\nd\ne\n", "d\nc\nb\na\n"])
def test_edits_make_one_program_of_the_other(after):
    assert edits.applied(BEFORE, edits.between(BEFORE, after)).strip("\n") == after.strip("\n")


@pytest.mark.parametrize(
    "wrong",
    [
        [Edit(0, 1, [])],
        [Edit(3, 1, [])],
        [Edit(4, 5, [])],
        [Edit(1, 2, []), Edit(2, 3, [])],
        [Edit(9, 8, ["late"])],
    ],
)
def test_edits_that_do_not_fit_are_refused(wrong):
    with pytest.raises(ValueError, match="does not fit"):
        edits.applied(BEFORE, wrong)
