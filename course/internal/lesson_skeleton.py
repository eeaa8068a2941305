"""The skeleton of a lesson: the cells that every lesson has, with TODO where its author writes."""

import nbformat
from nbformat import NotebookNode

from course.steps import Step

# Id and text of each cell, in order. Cells in CODE are code, the others are Markdown.
CELLS = (
    (
        "title",
        "# Step {number}: {title}\n\n**What you will learn**\n\n- TODO: what the learner can do after this step.",
    ),
    (
        "parameters",
        """ranks = 2  # how many processes
profile = "cpu"  # "cpu": a small model, seconds per run; "gpu": the full one
epochs = 2
train_samples = 512
test_samples = 128
data_dir = None  # None: the images that ship with the course
script = "{script}\"""",
    ),
    (
        "setup",
        """from course import exercise, launch, logbook, puzzle, steps

sizes = {{"epochs": epochs, "train_samples": train_samples, "test_samples": test_samples, "data_dir": data_dir}}
flags = launch.PROFILES[profile] | sizes
starter = steps.get({number}).starter  # the program before this step
exercise.start({number})""",
    ),
    ("idea", "## The idea\n\nTODO: the claim first, then the reason."),
    ("problem", "## The problem\n\nTODO: what goes wrong without this step. The next cell shows it."),
    ("problem-run", "before = launch.script(starter, np=ranks, **flags)"),
    ("lookup", "## Look it up\n\nTODO: add a code cell for each call that the step needs, such as `?hvd.rank`."),
    ("exercise", "## Exercise\n\nTODO: what to change in `{script}`, and where."),
    ("hint", "<details><summary>Hint</summary>\n\nTODO: what to try first.\n\n</details>"),
    ("solution", "exercise.solution({number})"),
    ("puzzle", "## Predict\n\nTODO: a question about a number that the next run shows."),
    ("puzzle-answer", "guess = None  # TODO: of what"),
    ("run", "## Run it"),
    ("run-run", "after = launch.script(script, np=ranks, **flags)"),
    (
        "puzzle-check",
        'puzzle.predicted({number}, "steps", guess, after.records[-1].epochs[0].steps, "TODO: why it is so many.")',
    ),
    ("effect", "TODO: what is different now, and where the output shows it."),
    (
        "practice",
        "## What goes wrong in practice\n\n"
        "| What you see | Why | What to do |\n| --- | --- | --- |\n| TODO | TODO | TODO |",
    ),
    (
        "questions",
        "## Questions\n\nTODO: a question.\n\n<details><summary>Answer</summary>\n\nTODO: its answer.\n\n</details>",
    ),
    (
        "written-question",
        "## In your own words\n\nTODO: a question. Write a few sentences in the cell below. "
        "In a class, an instructor reads them.",
    ),
    ("written-answer", "*Your answer*"),
    ("model-answer", "exercise.model_answer({number})"),
    (
        "check",
        "## Check it\n\nThis runs your file on small simulated clusters, and compares what its processes do with what "
        "those of the solution do there.",
    ),
    (
        "check-run",
        "from grader.notebook import check\n\nreport = check(step={number}, script=script)\nreport",
    ),
)
CODE = {
    "parameters",
    "setup",
    "problem-run",
    "solution",
    "puzzle-answer",
    "run-run",
    "puzzle-check",
    "model-answer",
    "check-run",
}
# A cell that nbgrader lets the learner edit and a person grade.
WRITTEN_ANSWER = {
    "schema_version": 3,
    "grade": True,
    "grade_id": "in-your-own-words",
    "locked": False,
    "points": 2,
    "cell_type": "markdown",
    "solution": True,
    "task": False,
}


def notebook(step: Step) -> NotebookNode:
    """Return the skeleton of a step's lesson."""
    made = nbformat.v4.new_notebook(
        metadata={
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for name, text in CELLS:
        new_cell = nbformat.v4.new_code_cell if name in CODE else nbformat.v4.new_markdown_cell
        source = text.format(number=step.number, title=step.title, script=step.script)
        made.cells.append(new_cell(source, id=name))
    cells = {cell.id: cell for cell in made.cells}
    cells["parameters"].metadata["tags"] = ["parameters"]
    for name in ("parameters", "setup", "puzzle-check"):  # the idea comes first, and an answer is not given away
        cells[name].metadata["jupyter"] = {"source_hidden": True}
    cells["written-answer"].metadata["nbgrader"] = WRITTEN_ANSWER
    return made
