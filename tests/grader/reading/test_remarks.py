"""Remarks: what an instructor may want to look at is found with its line, and ordinary programs have none."""

import pytest

from course.steps import SOLUTIONS
from grader.reading import parsing


@pytest.mark.parametrize("program", sorted(SOLUTIONS.rglob("*.py")), ids=lambda path: path.stem)
def test_no_program_of_the_course_has_remarks(program):
    assert parsing.read(program.read_text()).remarks == []


@pytest.mark.parametrize(
    "code",
    [
        "import ctypes",
        "from ctypes import CDLL",
        "found = gc.get_objects()",
        "eval('1')",
        "os.kill(1, 9)",
        "frame = sys._getframe()",
        "text = open('/proc/self/maps').read()",
        "text = open('../solutions/fashion_mnist_after_step_03.py').read()",
        "from grader.sandboxed import recorder",
        "os.environ['HOROVOD_RANK'] = '0'",
        "hvd.rank = lambda: 0",
        "tf.keras.Model.fit = None",
    ],
)
def test_what_an_instructor_may_want_to_look_at_is_found_with_its_line(code):
    (remark, *_) = parsing.read(f"import os\n{code}\n").remarks
    assert remark.line == 2 and remark.text


@pytest.mark.parametrize(
    "code",
    [
        "print(tf.__version__)",
        "import gc, socket, psutil, subprocess",
        "args.epochs = 3",
        "model.trainable = True",
        "self.hvd = hvd",
    ],
)
def test_what_training_scripts_do_every_day_has_no_remark(code):
    assert parsing.read(code).remarks == []
