"""What takes the place of running a submitted notebook in nbgrader's autograde: the lesson is put together again, with
the learner's answers in it, and the verdict on the script is written into its graded cells.

No cell, kernel or script of a learner's runs here, and nothing that nbgrader acts on is a learner's to say.
"""

import html
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades

from grader import checks
from grader.classroom import release, verdicts, written_answers
from grader.report import html as report_html
from grader.report.markdown import as_text
from grader.terms.report import Report

ANSWER = 10_000  # characters of an answer that are kept: some texts take Markdown's reader the square of their length


class Rebuild(NbGraderPreprocessor):
    """First of all: the released lesson in place of the submitted one, with the answers of the learner."""

    def preprocess(self, nb, resources):
        """Take the answer, the remarks of intake, and nothing else."""
        named = resources["nbgrader"]
        step = release.step_of(named["assignment"])
        forget_scores(named["db_url"], named["assignment"], named["student"])
        lesson = release.lesson(step)
        answer = written_answers.in_cells(nb.cells, step)
        written_answers.cell_of(lesson).source = as_text(_cut(answer)) if answer else "YOUR ANSWER HERE"
        for cell in nb.cells:
            if cell.metadata.get("remarks"):
                lesson.cells.insert(0, nbformat.v4.new_markdown_cell(as_text(cell.source)))
        return lesson, resources


def _cut(answer: str) -> str:
    rest = len(answer) - ANSWER
    return f"{answer[:ANSWER]}\n[{rest} characters more are not shown here]" if rest > 0 else answer


def forget_scores(db_url: str, assignment: str, student: str) -> None:
    """Forget what an earlier grading found, so that it does not stay if this one does not finish."""
    with Gradebook(db_url) as gradebook:
        try:
            submission = gradebook.find_submission(assignment, student)
        except MissingEntry:
            return
        for grade in (grade for notebook in submission.notebooks for grade in notebook.grades):
            grade.auto_score, grade.needs_manual_grade = None, True
        gradebook.db.commit()


class Judge(NbGraderPreprocessor):
    """In place of nbgrader's Execute: the verdict on the script, as the outputs of the graded cells."""

    def preprocess(self, nb, resources):
        """Write each check's points and feedback into its cell, and note which cells a person has to decide on."""
        step = release.step_of(resources["nbgrader"]["assignment"])
        coursedir = self.parent.parent.coursedir
        script = Path(coursedir.format_path(coursedir.submitted_directory, resources["nbgrader"]["student"], step.name))
        store = verdicts.Store(Path(coursedir.root) / "verdicts")
        verdict = verdicts.of(read(script / step.script), step, store)
        report = Report.from_published(verdict["report"])
        outcomes = {outcome.name: outcome for outcome in report.checks}
        by_cell = {release.grade_id(check): outcomes.get(check.description) for check in checks.of(step.number).checks}
        undecided = set()
        for cell in nb.cells:
            if cell.get("id") == release.CHECK:
                cell.outputs = [_shown(report_html.page(report, verdict["figure"]))]
            if not cell.metadata.get("nbgrader", {}).get("grade") or cell.cell_type != "code":
                continue
            named = cell.metadata.nbgrader.grade_id
            check = by_cell[named]
            if check is None or check.status == "error" or report.status in ("needs_review", "not_graded"):
                undecided.add(named)
                cell.outputs = [_shown(f"<p>{html.escape(_why(report))}</p>")]
            else:
                points = nbformat.v4.new_output(
                    "execute_result", {"text/plain": str(float(check.points))}, execution_count=1
                )
                cell.outputs = [_shown(report_html.of_outcome(check)), points]
            cell.execution_count = 1
        resources["undecided"] = undecided
        return nb, resources


def _shown(text: str) -> NotebookNode:
    return nbformat.v4.new_output("display_data", {"text/html": text})


def _why(report: Report) -> str:
    failure = report.first_failure
    return "A person grades this: " + (failure.message if failure else "the judge reached no verdict.")


def read(path: Path) -> bytes | None:
    """Return a script that intake has let in, or None where there is none."""
    return path.read_bytes() if path.is_file() and not path.is_symlink() else None


class SaveGrades(SaveAutoGrades):
    """nbgrader's own, but that a cell which a person has to decide on gets no points, for which it has no other way."""

    def preprocess(self, nb, resources):
        """Save, and then take back what is undecided."""
        nb, resources = super().preprocess(nb, resources)
        named = resources["nbgrader"]
        with Gradebook(named["db_url"]) as gradebook:
            for name in resources["undecided"]:
                grade = gradebook.find_grade(name, named["notebook"], named["assignment"], named["student"])
                grade.auto_score, grade.needs_manual_grade = None, True
            gradebook.db.commit()
        return nb, resources
