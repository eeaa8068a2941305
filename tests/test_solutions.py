"""The solution files: one text, which changes from step to step only where the step says so."""

import ast
import difflib
import itertools
import re

import pytest

from course.steps import SOLUTIONS, STEPS
from grader.checks import PARTS, diagnosis

EXERCISES = [step for step in STEPS if step.has_exercise]
MNIST = {
    "--log-dir": "./logs",
    "--batch-size": 64,
    "--epochs": 10,
    "--lr": 0.001,
    "--communication": "AUTO",
    "--save-freq": 50,
    "--train-samples": None,
    "--seed": None,
}
MARKER = re.compile(r"# TODO: Step (\d+): ")

# The programs' flags, as their readers may rely on them.
FASHION_MNIST = {
    "--log-dir": "./logs",
    "--batch-size": 32,
    "--val-batch-size": 32,
    "--epochs": 40,
    "--base-lr": 0.01,
    "--wd": 0.000005,
    "--target-accuracy": 0.85,
    "--patience": 2,
    "--train-samples": None,
    "--test-samples": None,
    "--depth": 16,
    "--widen-factor": 10,
    "--seed": None,
}
IMAGENET = {
    "--data-url": "./data",
    "--train-url": "./results",
    "--cache-dir": "./cache",
    "--log-dir": "./logs",
    "--checkpoint-format": "checkpoint-{epoch}.h5",
    "--batch-size": 32,
    "--val-batch-size": 32,
    "--epochs": 90,
    "--base-lr": 0.0125,
    "--warmup-epochs": 5,
    "--momentum": 0.9,
    "--wd": 0.00005,
    "--image-size": 224,
    "--classes": 1000,
    "--model": "resnet50",
    "--seed": None,
}


def markers(path):
    return [int(number) for number in MARKER.findall(path.read_text())]


@pytest.mark.parametrize(
    ("program", "steps"),
    [
        ("fashion_mnist", [1, 1, 1, 1, 2, 3, 4, 5, 5, 6]),
        ("imagenet_resnet50", [8, 8, 8, 9, 9, 9, 9, *[10] * 5, 11, 11]),
        ("mnist_one_gpu", [*[13] * 5, *[14] * 4]),
        ("parameter_server/one_gpu", [15] * 6),
        ("parameter_server/evaluate_once", [16] * 3),
        ("hosts/fashion_mnist_elastic_starter", [20] * 7),
        ("allreduce/allreduce_starter", [21]),
        ("scaling/predict_starter", [22] * 3),
    ],
)
def test_a_starting_program_has_its_markers(program, steps):
    assert sorted(markers(SOLUTIONS / f"{program}.py")) == steps


@pytest.mark.parametrize("step", EXERCISES, ids=lambda step: step.name)
def test_a_step_changes_the_program_at_its_own_markers_only(step):
    """A step that was added after the program was complete has no markers there, and may change any line."""
    before, after = step.starter.read_text().splitlines(), step.solution.read_text().splitlines()
    changes = [
        (before[i1:i2], after[j1:j2])
        for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        if tag != "equal"
    ]
    assert changes, "the step changes nothing"
    has_markers = step.number in markers(step.starter)
    for old, new in changes if has_markers else ():
        imports = all(not line or line.startswith(("import ", "from ")) for line in [*old, *new])
        assert imports or list(map(int, MARKER.findall("\n".join(old)))) == [step.number], (old, new)
    assert markers(step.solution) == [number for number in markers(step.starter) if number != step.number]


def test_steps_follow_each_other():
    for script in {step.script for step in EXERCISES}:
        for before, after in itertools.pairwise(step for step in EXERCISES if step.script == script):
            assert after.starter == before.solution


def test_a_link_leads_to_the_program_after_the_last_step():
    links = {path.resolve() for path in SOLUTIONS.rglob("*") if path.is_symlink()}
    assert links and links <= {part.checks[-1].step.solution for part in PARTS.values()}


def test_no_stray_file_is_among_the_solutions():
    known = {step.starter for step in STEPS} | {step.solution for step in STEPS}
    known |= {SOLUTIONS / f"imagenet_resnet50_{what}.py" for what in ("one_gpu", "solution")}
    known |= {SOLUTIONS / f"mnist_{what}.py" for what in ("multi_worker_solution", "horovod", "parameter_server")}
    known.add(SOLUTIONS / "parameter_server" / "worker_and_ps.py")
    of_hosts = [
        "discover.sh",
        "fashion_mnist_job.py",
        "launch_elastic.sh",
        "where.py",
        "launch.py",
        "launch_starter.py",
        "job.py",
        "job_starter.py",
    ]
    known |= {SOLUTIONS / "hosts" / name for name in of_hosts}
    known |= {SOLUTIONS / "allreduce" / f"{name}.py" for name in ("algorithms", "compare", "show")}
    known |= {SOLUTIONS / "hang" / f"{job}.py" for job in diagnosis.JOBS}
    assert {path for kind in ("py", "sh", "sbatch", "toml") for path in SOLUTIONS.glob(f"**/*.{kind}")} == known


@pytest.mark.parametrize(
    ("program", "defaults"),
    [("fashion_mnist", FASHION_MNIST), ("imagenet_resnet50", IMAGENET), ("mnist_one_gpu", MNIST)],
)
def test_flags_have_their_defaults(program, defaults):
    tree = ast.parse((SOLUTIONS / f"{program}.py").read_text())
    found = {}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "add_argument":
            default = next((keyword.value for keyword in call.keywords if keyword.arg == "default"), ast.Constant(None))
            if isinstance(default, ast.Constant):
                found[call.args[0].value] = default.value
    assert found == defaults
