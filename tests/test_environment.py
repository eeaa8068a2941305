"""What sets the course up: versions that agree, a set-up that says what is missing, a repository that stays small."""

import os
import re
import shutil
import subprocess
import tomllib

import pytest
import yaml

from course.steps import ROOT
from tests.checkout import Checkout

TRACKED = [
    ROOT / name
    for name in subprocess.check_output(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True
    ).splitlines()
    if (ROOT / name).is_file()
]


@pytest.fixture(scope="module")
def locked():
    packages = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    return {package["name"]: package["version"] for package in packages}


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def conda():
    text = (ROOT / "environment.yml").read_text()
    dependencies = yaml.safe_load(text)["dependencies"]
    return text, next(entry["pip"] for entry in dependencies if isinstance(entry, dict))


def test_conda_gets_the_versions_of_the_lock(locked):
    text, pins = conda()
    for pin in pins:
        name, exact, version = pin.partition("==")
        assert not exact or locked[name] == version, pin
    assert f"horovod=={locked['horovod']}" in text


def test_conda_gets_all_that_the_project_needs(project):
    _, pins = conda()
    named = {re.split("[<=]", pin)[0] for pin in pins} | {"horovod"}
    assert {re.split(r"[<>= \[]", need)[0] for need in project["project"]["dependencies"]} <= named


def test_horovod_is_built_alike_by_uv_and_conda(project):
    variables = yaml.safe_load((ROOT / "environment.yml").read_text())["variables"]
    assert variables == project["tool"]["uv"]["extra-build-variables"]["horovod"]


SCRIPTS = [f"scripts/{name}" for name in ("environment.sh", "setup", "tools.sh", "wheel", "repack.py", "run")]


def set_up(tmp_path, tools, script="scripts/run", status=1, **variables):
    """Run a script in an empty checkout on a machine that has these tools only, and return its errors."""
    for name in (*SCRIPTS, "uv.lock", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    for name, text in tools.items():
        if text is None:
            (tmp_path / "bin" / name).symlink_to(shutil.which(name))
        else:
            (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / "bin" / name).chmod(0o755)
    done = subprocess.run(
        ["bash", script],
        cwd=tmp_path,
        env={"PATH": str(tmp_path / "bin")} | variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stderr
    return done.stderr


BASIC = dict.fromkeys(("bash", "dirname", "uname", "cmp", "grep", "env"))
PYTHON = {"python3.11": "exit 0"}
WITHOUT_PIP = {"python3.11": '[ "$1" = -m ] && exit 1 || exit 0'}
COMPILERS = {"g++": "exit 0", "cc": "exit 0"}
MAKE = {"make": "exit 0"}
FLOCK = {"flock": "exit 0"}


def test_the_set_up_refuses_another_platform(tmp_path):
    assert "Darwin arm64" in set_up(tmp_path, BASIC | {"uname": "echo Darwin arm64"})


@pytest.mark.parametrize(
    ("tools", "packages"),
    [
        ({}, "python3.11 python3-pip g++ make"),
        ({"python3": "exit 1"} | COMPILERS | MAKE, "python3.11 python3-pip"),
        (WITHOUT_PIP | COMPILERS | MAKE, "python3-pip"),
        (PYTHON | MAKE, "g++"),
        (PYTHON | MAKE | {"g++": "exit 0"}, "g++"),
        (PYTHON | COMPILERS, "make"),
    ],
    ids=["nothing", "old python", "no pip", "no compiler", "no compiler for C", "no make"],
)
def test_the_set_up_names_all_packages_that_are_missing(tmp_path, tools, packages):
    said = set_up(tmp_path, BASIC | tools)
    assert re.findall(r"apt-get install (.*)", said) == [packages]
    assert len(said.splitlines()) == 1


def test_the_set_up_fails_and_shows_the_reason_when_uv_does(tmp_path):
    uv = tmp_path / ".tools" / "bin" / "uv"
    uv.parent.mkdir(parents=True)
    uv.write_text("#!/bin/sh\necho 'error: No space left on device' >&2; exit 2\n")
    uv.chmod(0o755)
    said = set_up(tmp_path, BASIC | PYTHON | COMPILERS | MAKE | FLOCK)
    assert "error: No space left on device" in said
    assert not (tmp_path / ".venv").exists()


def test_packages_go_into_the_environment_that_can_be_moved(tmp_path):
    uv = tmp_path / ".tools" / "bin" / "uv"
    uv.parent.mkdir(parents=True)
    uv.write_text('#!/bin/sh\necho "uv $*" >&2; [ "$1" = venv ]\n')
    uv.chmod(0o755)
    made, filled = re.findall("uv .*", set_up(tmp_path, BASIC | PYTHON | COMPILERS | MAKE | FLOCK))[:2]
    assert made.startswith(f"uv venv --relocatable --clear {tmp_path}/.venv ")
    assert filled.startswith("uv sync ") and filled.endswith(f"--python {tmp_path}/.venv/bin/python")


def with_a_wheel(tmp_path, uv):
    """Give the checkout a wheel of Horovod, and a uv that is this shell script."""
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "horovod-0.28.1-cp311-cp311-linux_x86_64.whl").touch()
    (tmp_path / ".tools" / "bin").mkdir(parents=True)
    (tmp_path / ".tools" / "bin" / "uv").write_text(f"#!/bin/sh\n{uv}\n")
    (tmp_path / ".tools" / "bin" / "uv").chmod(0o755)


def test_with_a_wheel_of_horovod_no_compiler_is_asked_for(tmp_path):
    with_a_wheel(tmp_path, "")
    said = set_up(tmp_path, BASIC)
    assert re.findall(r"apt-get install (.*)", said) == ["python3.11"]


def test_a_wheel_of_horovod_is_installed_before_the_other_packages(tmp_path):
    with_a_wheel(tmp_path, 'echo "uv $*" >&2; [ "$1" != sync ]')
    calls = re.findall("uv (venv|pip install|sync) (.*)", set_up(tmp_path, BASIC | PYTHON | FLOCK))
    assert [call for call, _ in calls] == ["venv", "pip install", "sync"]
    assert f"--no-index --find-links {tmp_path}/wheels " in calls[1][1]


def test_a_wheel_of_horovod_that_does_not_load_ends_the_set_up(tmp_path):
    made = f"mkdir -p {tmp_path}/.venv/bin; printf '#!/bin/sh\\nexit 1\\n' >{tmp_path}/.venv/bin/python"
    with_a_wheel(tmp_path, f"{made}; chmod +x {tmp_path}/.venv/bin/python")
    tools = BASIC | PYTHON | FLOCK | dict.fromkeys(("mkdir", "chmod"))
    assert "horovod-0.28.1-cp311-cp311-linux_x86_64.whl, does not load" in set_up(tmp_path, tools)
    assert not (tmp_path / ".venv" / "made-from.cpu").exists()


def test_a_shell_in_which_set_up_fails_goes_on(tmp_path):
    set_up(tmp_path, BASIC)
    for shell in filter(shutil.which, ("bash", "zsh")):
        command = [shutil.which(shell), "-c", f"source {tmp_path}/scripts/environment.sh; echo still here; set -o"]
        done = subprocess.run(command, env={"PATH": str(tmp_path / "bin")}, capture_output=True, text=True)
        assert "still here" in done.stdout and "needed and not found" in done.stderr
        assert re.search(r"errexit\s+off", done.stdout)


def test_a_folder_of_scripts_elsewhere_is_not_entered(tmp_path):
    (tmp_path / "elsewhere" / "scripts").mkdir(parents=True)
    said = set_up(tmp_path, BASIC, CDPATH=f"{tmp_path}/elsewhere:.")
    assert "needed and not found" in said and len(said.splitlines()) == 1


def test_a_compiler_may_be_called_by_another_program(tmp_path):
    said = set_up(tmp_path, BASIC | PYTHON | MAKE | {"ccache": "", "cc": ""} | FLOCK, CXX="ccache g++")
    assert "needed and not found" not in said


PIP = 'case "$*" in *install*) echo "$PIP_USER$PIP_REQUIRE_VIRTUALENV$PIP_PREFIX" >&2; exit 1;; esac'


def test_the_set_up_does_not_follow_settings_for_other_environments(tmp_path):
    settings = {"PIP_USER": "1", "PIP_REQUIRE_VIRTUALENV": "1", "PIP_PREFIX": "/nowhere"}
    said = set_up(tmp_path, BASIC | COMPILERS | MAKE | FLOCK | {"python3.11": PIP}, **settings)
    assert "\n00\n" in said and "/nowhere" not in said
    uv = tmp_path / ".tools" / "bin" / "uv"
    uv.parent.mkdir(parents=True)
    uv.write_text(f'#!{shutil.which("sh")}\necho "in: $UV_PROJECT_ENVIRONMENT"; umask; exit 2\n')
    uv.chmod(0o755)
    command = ["bash", "-c", "umask 077; scripts/run"]
    env = {"PATH": str(tmp_path / "bin"), "UV_PROJECT_ENVIRONMENT": "/nowhere"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.stdout == "in: \n0022\n"


def test_a_terminal_of_jupyterlab_has_the_course_s_python_whatever_the_user_s_settings_are(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text("#!/bin/sh\necho another Python\n")
    (tmp_path / "bin" / "python").chmod(0o755)
    (tmp_path / ".bashrc").write_text(f"PATH={tmp_path}/bin:$PATH\nalias hello='echo hello'\n")
    command = ["bash", "--rcfile", ROOT / "scripts" / "terminal.bashrc", "-ic", "command -v python; alias hello"]
    environment = {"HOME": str(tmp_path), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, start_new_session=True)
    assert done.stdout.splitlines() == [f"{ROOT}/.venv/bin/python", "alias hello='echo hello'"], done.stderr


def link(source, target):
    """Link a file, which is not changed here; copy it where that cannot be."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@pytest.mark.slow
def test_a_checkout_that_was_moved_runs_its_own_code(tmp_path):
    moved = Checkout(tmp_path).root
    shutil.copytree(ROOT / ".venv", moved / ".venv", symlinks=True, copy_function=link)
    ranks = "import horovod.tensorflow as hvd; hvd.init(); print(hvd.size(), hvd.__file__)"
    used = "python -c 'import course, grader; print(course.__file__, grader.__file__)'; command -v nbgrader papermill"
    used += f"; nbgrader --version; mpirun --allow-run-as-root --oversubscribe -np 2 python -c '{ranks}'"
    command = ["bash", "-c", f"source scripts/environment.sh; {used}"]
    variables = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    variables["PATH"] = "/usr/local/bin:/usr/bin:/bin"
    done = subprocess.run(command, cwd=moved, env=variables, capture_output=True, text=True)
    assert done.stdout.count(f"{moved}/") == 6 and str(ROOT) not in done.stdout, done.stdout + done.stderr
    assert "2 /" in done.stdout


def test_the_repository_stays_small():
    assert sum(path.stat().st_size for path in TRACKED) < 12e6


def test_files_stay_readable():
    tables = "equivalents.py", "steps.py"
    for path in TRACKED:
        if path.suffix == ".py" and path.name not in tables and path.parent.name != "corpus":
            assert len(path.read_text().splitlines()) <= 340, path
