"""Figures that move: flip-books of SVG pictures with sliders, for notebooks and the pages made from them.

Each function returns HTML that is complete in itself: it loads nothing, and shows a still picture without JavaScript.
"""

from course.moving.allreduce import ring
from course.moving.costs import calculator
from course.moving.epochs import epoch_steps, shares
from course.moving.hosts import who_is_who
from course.moving.scaling import speed_up

__all__ = ["calculator", "epoch_steps", "ring", "shares", "speed_up", "who_is_who"]
