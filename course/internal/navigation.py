"""The line of links below a lesson's title: to the lesson before, the map, the next lesson, and the learner's file."""

from course import steps
from course.steps import Step


def links(step: Step) -> str:
    """Return the line for a lesson, as Markdown."""
    order = steps.in_order()
    place = order.index(step)
    parts = [f"← {link(order[place - 1])}"] if place else []
    parts.append("[Map of the course](../index.ipynb)")
    parts += [f"{link(order[place + 1])} →"] if place + 1 < len(order) else []
    if step.has_exercise:
        parts.append(f"**Your file: [{step.script}]({step.script})**")
    return " · ".join(parts)


def link(step: Step) -> str:
    """Return a link to a lesson from the folder of another lesson, as Markdown."""
    return f"[{step.label.capitalize()}: {step.title}](../{step.name}/{step.name}.ipynb)"
