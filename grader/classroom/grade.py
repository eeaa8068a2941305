"""scripts/grade: judge a class's submissions in parallel, then grade them with nbgrader, and say what came out.

Judging is Dask's to distribute, over this machine or a cluster, and takes all the time. Each verdict is kept as soon as
it is there, and each learner's grade as soon as nbgrader has it, so an interrupted run resumes where it ended.
"""

import hashlib
import json
import os
import sys
import warnings
from collections import Counter
from pathlib import Path

import click
from distributed import Client, LocalCluster, as_completed
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.apps import NbGrader
from nbgrader.apps.api import NbGraderAPI
from nbgrader.plugins import CsvExportPlugin
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from sqlalchemy.exc import SAWarning

from course import steps
from course.internal import namespaces
from course.steps import Step
from grader.classroom import autograde, downloads, drills, submission, verdicts
from grader.classroom.learners import LEARNER
from grader.classroom.platforms import PLATFORMS
from grader.sandbox import policy

WIDTH = 40  # of the longest bar of the chart, in characters


class Class:
    """One step's submissions in a course directory."""

    def __init__(self, step: Step, api: NbGraderAPI, students: tuple[str, ...]):
        """Look the submissions of these students through, or of all."""
        self.step, self.api, self.coursedir = step, api, api.coursedir
        self.root = Path(self.coursedir.root)
        self.store = verdicts.Store(self.root / "verdicts")
        self.record = self.root / "verdicts" / f"graded-{step.name}.json"
        self.students = []
        for folder in sorted((self.root / self.coursedir.submitted_directory).glob("*")):
            named = folder.name in students if students else LEARNER.fullmatch(folder.name)
            if named and not folder.is_symlink() and os.path.lexists(folder / step.name):
                self.students.append(folder.name)

    def folder(self, student: str) -> Path:
        """Return where a submission is."""
        return self.root / self.coursedir.submitted_directory / student / self.step.name

    def script(self, student: str) -> bytes | None:
        """Return the script that a student handed in."""
        return autograde.read(self.folder(student) / self.step.script)

    def verdict(self, student: str) -> dict:
        """Return the existing verdict on a student's script."""
        script = self.script(student)
        if script is None:
            return verdicts.missing(self.step)
        return self.store.get(verdicts.key(script, self.step)) or verdicts.none(self.step)

    def mark(self, student: str) -> str:
        """Return what tells whether a submission has to be graded anew: what was handed in, and the judge."""
        script = self.script(student)
        notebook = (self.folder(student) / f"{self.step.name}.ipynb").read_bytes()
        return hashlib.sha256(notebook).hexdigest() + (verdicts.key(script, self.step) if script is not None else "")


@click.command()
@click.argument("number", metavar="STEP", type=steps.number)
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count, help="Scripts judged side by side: one per core.")
@click.option("--student", "students", multiple=True, help="Grade this learner only; may be given several times.")
@click.option("--regrade", is_flag=True, help="Judge and grade anew what has been graded already.")
@click.option("--scheduler", help="Address of a Dask scheduler whose workers judge, such as tcp://host:8786.")
@click.option(
    "--db", help="The gradebook, as a database URL. SQLite's gradebook.db in the course directory if not given."
)
@click.option("--csv", "platform", type=click.Choice(list(PLATFORMS)), help="Write the marks for this platform, too.")
@click.option(
    "--course-dir", type=click.Path(exists=True, file_okay=False, resolve_path=True), help="Where submitted/ is."
)
def main(number, jobs, students, regrade, scheduler, db, platform, course_dir) -> None:
    """Grade what learners handed in for a STEP: points and feedback for each check, grades.csv for all."""
    console = Console(highlight=False)
    step = _step(number)
    why_not = None if scheduler else policy.available()
    if why_not:
        raise click.ClickException(
            f"No sandbox can be made here ({why_not}), and others' scripts are run in nothing less. {namespaces.PERMIT}"
        )
    api = _api(db, course_dir)
    group = Class(step, api, students)
    missing = set(students) - set(group.students)
    if missing or not group.students:
        raise click.ClickException(
            f"Nothing was handed in for {step.name} by {', '.join(sorted(missing)) or 'anyone'}."
        )
    _require_assignment(group)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    try:
        with Progress(*columns, console=Console(stderr=True)) as progress:
            for student in progress.track(group.students, description="looking through"):
                _clean(group, student, console)
            _judge(group, jobs, scheduler, regrade, progress)
            failed = _grade(group, regrade, progress)
    except KeyboardInterrupt:
        raise click.ClickException("Stopped. What is done is kept: the same command continues from here.") from None
    _export(group, api)
    _summarise(group, failed, console)
    if platform:
        _export_for(platform, group, api, console)
    sys.exit(1 if failed else 0)


def _step(number: int) -> Step:
    try:
        step = steps.get(number)
    except KeyError as error:
        raise click.BadParameter(error.args[0], param_hint="STEP") from None
    if not step.has_exercise:
        raise click.BadParameter(f"{step.label.capitalize()} has no check.", param_hint="STEP")
    return step


def _require_assignment(group: Class) -> None:
    with Gradebook(group.coursedir.db_url, group.coursedir.course_id) as gradebook:
        try:
            gradebook.find_assignment(group.step.name)
        except MissingEntry:
            name = group.step.name
            raise click.ClickException(
                f"The gradebook has no {name} yet. Make it with: nbgrader generate_assignment {name}"
            ) from None


def _api(db: str | None, course_dir: str | None) -> NbGraderAPI:
    """Return nbgrader as its configuration says, but for the options given here."""
    warnings.simplefilter("ignore", SAWarning)  # about how nbgrader itself uses its database
    app = NbGrader()
    app.load_config_file()
    if db:
        app.config.CourseDirectory.db_url = db
    if course_dir:
        app.config.CourseDirectory.root = course_dir
    app.log_level = "CRITICAL"
    return NbGraderAPI(config=app.config)


def _clean(group: Class, student: str, console: Console) -> None:
    for remark in submission.clean(group.folder(student), group.step, group.root / "set_aside" / student):
        console.print(f"{student}: {remark}", style="yellow", markup=False)


def _judge(group: Class, jobs: int, scheduler: str | None, regrade: bool, progress: Progress) -> None:
    """Ensure that every script has a verdict, or can have none."""
    handed_in = (group.script(student) for student in group.students)
    scripts = {script for script in handed_in if script is not None}
    names = {verdicts.key(script, group.step): script for script in scripts}
    waiting = {name: script for name, script in names.items() if regrade or group.store.get(name) is None}
    task = progress.add_task("judging", total=len(names), completed=len(names) - len(waiting))
    if not waiting:
        return
    closed = "127.0.0.1:0"  # else the dashboard would be open to the network, on a port that may be taken
    cluster = scheduler or LocalCluster(
        n_workers=1, threads_per_worker=jobs, processes=False, dashboard_address=closed, silence_logs=50
    )
    with Client(cluster) as client:
        number = group.step.number
        futures = {client.submit(verdicts.make, text, number, pure=False): name for name, text in waiting.items()}
        for future in as_completed(futures, raise_errors=False):
            if future.status == "finished":
                group.store.put(futures[future], future.result())
            progress.advance(task)
    if isinstance(cluster, LocalCluster):
        cluster.close()


def _grade(group: Class, regrade: bool, progress: Progress) -> dict[str, str]:
    """Have nbgrader grade each submission, and say of which students it could not, and why."""
    done = _read_record(group.record)
    failed = {}
    for student in progress.track(group.students, description="grading"):
        mark = group.mark(student)
        graded = group.root / group.coursedir.autograded_directory / student / group.step.name
        if not regrade and done.get(student) == mark and graded.is_dir():
            continue
        for command in (group.api.autograde, group.api.generate_feedback):
            result = command(group.step.name, student)
            if not result["success"]:
                autograde.forget_scores(group.coursedir.db_url, group.step.name, student)
                failed[student] = (result.get("error") or result.get("log") or "no reason given").strip()
                break
        else:
            done[student] = mark
            partial = group.record.with_suffix(".partial")
            partial.write_text(json.dumps(done))
            partial.replace(group.record)
    return failed


def _read_record(path: Path) -> dict[str, str]:
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _export(group: Class, api: NbGraderAPI) -> None:
    plugin = CsvExportPlugin(parent=api)
    plugin.to = str(group.root / "grades.csv")
    with Gradebook(group.coursedir.db_url, group.coursedir.course_id) as gradebook:
        plugin.export(gradebook)


def _export_for(platform: str, group: Class, api: NbGraderAPI, console: Console) -> None:
    """Write the marks of this step in a file for a learning platform, and print who has none there yet."""
    plugin = PLATFORMS[platform](parent=api)
    plugin.to, plugin.assignment = str(group.root / f"grades-{group.step.name}-{platform}.csv"), [group.step.name]
    with Gradebook(group.coursedir.db_url, group.coursedir.course_id) as gradebook:
        plugin.export(gradebook)
    console.print(f"\nMarks for {platform.capitalize()}: {plugin.to}", markup=False, soft_wrap=True)
    if plugin.waiting:
        waiting = ", ".join(sorted(plugin.waiting))
        said = f"No mark there yet, since a person has to grade them first: {waiting}. Grade, and run this again."
        console.print(said, markup=False, soft_wrap=True)


def _summarise(group: Class, failed: dict[str, str], console: Console) -> None:
    """Print who needs a person, and what the class gets wrong."""
    reports = {student: group.verdict(student)["report"] for student in group.students}
    table = Table(title=f"{group.step.name}: {group.step.title}", title_justify="left")
    for column in ("learner", "status", "points", "first to look at", "remarks"):
        table.add_column(column, overflow="fold")
    with Gradebook(group.coursedir.db_url, group.coursedir.course_id) as gradebook:
        for student, report in reports.items():
            try:
                found = gradebook.find_submission(group.step.name, student)
                points = f"{found.score:g} of {found.max_score:g}" + (" so far" if found.needs_manual_grade else "")
            except MissingEntry:
                points = ""
            status = "not graded by nbgrader" if student in failed else report["status"].replace("_", " ")
            first = next((check for check in report["checks"] if check["status"] in ("failed", "error")), None)
            said = first["message"].partition("\n")[0] if first else ""
            remarks = "\n".join(f"line {remark['line']} {remark['text']}" for remark in report["remarks"])
            row = student, status, points, said, remarks
            table.add_row(*(Text(cell) for cell in row))  # a [ in it is no markup
    console.print(table)
    for student, why in failed.items():
        console.print(f"{student} could not be graded: {why.splitlines()[-1]}", style="red", markup=False)
    missed = Counter(
        check["name"] for report in reports.values() for check in report["checks"] if check["status"] == "failed"
    )
    if missed:
        console.print(f"\nWhat {len(reports)} learners get wrong:")
        for name, count in missed.most_common():
            bar = "█" * max(1, round(WIDTH * count / len(reports)))
            console.print(f"{bar} {count}  {name}", soft_wrap=True)
    if group.step.number > steps.DRILL:
        lines = drills.undiagnosed((group.script(student), report) for student, report in reports.items())
        console.print("\nMistakes that were not diagnosed:", *lines or ["none"], sep="\n  ")
    _list_missing(group, console)
    remarked = sum(bool(report["remarks"]) for report in reports.values())
    if remarked:
        console.print(f"\n{remarked} of {len(reports)} have remarks, which change no points.")


def _list_missing(group: Class, console: Console) -> None:
    """Print who is in the roster and handed nothing in, and what zip_collect did not take."""
    with Gradebook(group.coursedir.db_url, group.coursedir.course_id) as gradebook:
        roster = (student.id for student in gradebook.students)
        missing = sorted(learner for learner in roster if not os.path.lexists(group.folder(learner)))
    if missing:
        console.print(f"\nHanded in nothing: {', '.join(missing)}", markup=False, soft_wrap=True)
    report = group.root / "downloaded" / group.step.name / downloads.REPORT
    if report.is_file():
        console.print(f"\n{report.read_text()}", markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
