"""nbgrader's settings, which it and JupyterLab find through JUPYTER_CONFIG_PATH, as the scripts set it."""

from nbgrader.converters import GenerateAssignment
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    OverwriteCells,
    OverwriteKernelspec,
)
from nbgrader.validator import Validator

from course.steps import ROOT, STEPS
from grader.classroom import autograde, downloads, intake, release

c = get_config()  # noqa: F821  traitlets puts it here

c.CourseDirectory.course_id = "distributed-training"
c.CourseDirectory.root = str(ROOT)
c.CourseDirectory.source_directory = "notebooks"
c.CourseDirectory.notebook_id = "*_[0-9]*"  # what else is in a lesson's folder is no assignment
c.Exchange.assignment_dir = str(ROOT / "assignments")  # where learners' fetched assignments go

c.GenerateAssignment.preprocessors = [release.Prepare, *GenerateAssignment.preprocessors.default()]

# What learners hand in is looked through before anything else touches it, however it came.
c.ExchangeFactory.collect = intake.Collect
c.ZipCollectApp.extractor_plugin = intake.Extract
c.FileNameCollectorPlugin.named_regexp = downloads.NAMES
c.FileNameCollectorPlugin.valid_ext = downloads.SUFFIXES
c.Autograde.pre_convert_hook = intake.before_autograde

# Nothing of a submission is executed here: the judge runs the script in its sandbox. nbgrader would replace a learner's
# script by one of its own where it is not told to leave it alone.
c.Autograde.exclude_overwriting = {step.name: [step.script] for step in STEPS}
c.Autograde.sanitize_preprocessors = [autograde.Rebuild, OverwriteKernelspec, OverwriteCells, CheckCellMetadata]
c.Autograde.autograde_preprocessors = [
    autograde.Judge,
    autograde.SaveGrades,
    AssignLatePenalties,
    CheckCellMetadata,
]

# Validate's list of preprocessors is no setting. This file may be read more than once.
if release.AddChecks not in Validator.preprocessors.default():
    Validator.preprocessors.default_args = ([release.AddChecks, *Validator.preprocessors.default()],)
c.Execute.timeout = 600  # seconds per cell, for Validate, which runs a learner's lesson on the learner's machine
c.FormgradeExtension.debug = False  # or it warns that it cannot show settings such as these
