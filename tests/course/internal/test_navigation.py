"""The links of each lesson follow the registry."""

import re

import pytest

from course import steps
from course.internal import navigation
from course.steps import NOTEBOOKS, STEPS

LINK = re.compile(r"\]\(([^)]*)\)")


def test_the_order_takes_each_step_once_and_a_capstone_after_its_part():
    order = [step.number for step in steps.in_order()]
    assert sorted(order) == sorted(step.number for step in STEPS)
    assert order.index(101) == order.index(7) + 1 and order.index(103) == order.index(17) + 1
    assert steps.after(steps.get(7)) == steps.get(101) and steps.after(steps.get(101)) == steps.get(8)
    assert steps.after(steps.in_order()[-1]) is None


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_the_links_of_a_lesson_lead_to_files(step):
    targets = LINK.findall(navigation.links(step))
    own = [target for target in targets if target == step.script]
    assert bool(own) == step.has_exercise
    for target in {*targets} - {*own}:
        assert (NOTEBOOKS / step.name / target).is_file(), target
