"""What leads to the pages: the table of contents in the side bar, and the map of all steps."""

from course import steps

# Pages next to the lessons, by the reader.
OTHERS = {
    "To look up": (
        "docs/quick-reference",
        "docs/glossary",
        "docs/where-this-stands",
        "docs/learners",
        "docs/troubleshooting",
    ),
    "To teach and grade": (
        "docs/teaching",
        "docs/hunt",
        "grader/README",
        "docs/hub",
        "docs/platforms",
        "docs/security",
    ),
    "To run and change": (
        "docs/ci",
        "docs/container",
        "docs/gpus",
        "docs/hosts",
        "benchmarks/README",
        "docs/architecture",
        "docs/changed-in-process",
        "CONTRIBUTING",
        "CHANGELOG",
    ),
}


def side_bar() -> str:
    """Return the table of contents as MyST Markdown: the map, the lessons by parts, then other pages."""
    lessons = {
        f"Part {number}: {part.title}": [f"notebooks/{step.name}/{step.name}" for step in chosen]
        for number, (part, chosen) in enumerate(steps.by_part(), 1)
    }
    groups = {"The course": ["notebooks/index"], **lessons, **OTHERS}
    return "".join(
        "\n".join(["", "```{toctree}", ":hidden:", f":caption: {title}", "", *names, "```", ""])
        for title, names in groups.items()
    )


def overview() -> str:
    """Return the map of the course as Markdown: each step with a link, its problem, and minutes of work."""
    lines = ["# All steps", "", "The minutes of work are an estimate: reading, exercises and the check together.", ""]
    for number, (part, chosen) in enumerate(steps.by_part(), 1):
        hours = sum(step.minutes for step in chosen) / 60
        lines += [f"## Part {number}: {part.title} ({hours:.0f} hours)", ""]
        lines += ["| Step | The problem | Minutes |", "| --- | --- | ---: |"]
        for step in chosen:
            link = f"[{step.short_label.capitalize()}: {step.title}]({step.name}/{step.name}.ipynb)"
            lines.append(f"| {link} | {step.problem} | {step.minutes} |")
        lines.append("")
    return "\n".join(lines)
