"""The container: the Dockerfile's own steps, run in a bare Debian, and what a container forbids.

No container engine is needed, and none is tried. See docs/container.md.
"""

import base64
import hashlib
import json
import re
import socket
import struct
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import pytest

from benchmarks import bare
from course.hosts import recorded
from course.steps import ROOT
from tests import dockerfile
from tests.checkout import Checkout
from tests.conftest import MACHINE
from tests.dockerfile import UNCONFINED, instructions
from tests.test_environment import BASIC, COMPILERS, FLOCK, MAKE, set_up, with_a_wheel
from tests.test_lab import wait_until

TEXT = (ROOT / "Dockerfile").read_text()
TAGS = {"rpath": 15, "runpath": 29}  # of <elf.h>
DYNAMIC = 6


def installed(text):
    """Return the packages that each stage of a Dockerfile installs."""
    stages = []
    for name, rest in instructions(text):
        if name == "FROM":
            stages.append(set())
        for listed in re.findall(r"apt-get install ((?:[^&;]|\\\n)*)", rest) if name == "RUN" else []:
            stages[-1] |= {word for word in listed.split() if not word.startswith("-")}
    return stages


def asked_for(folder):
    """Return the packages that the set-up asks for on a machine that has none of them."""
    return set(re.findall("apt-get install (.*)", set_up(folder, BASIC))[0].split())


def test_the_build_stage_installs_what_the_set_up_asks_for(tmp_path):
    build, _ = installed(TEXT)
    assert asked_for(tmp_path) <= build


def test_the_image_installs_what_the_set_up_asks_for_with_a_wheel_and_no_compiler(tmp_path):
    with_a_wheel(tmp_path, "")
    build, image = installed(TEXT)
    assert asked_for(tmp_path) <= image
    assert build - image == {"python3-pip", "g++", "make"}


def test_the_development_container_is_the_same_one():
    folder = ROOT / ".devcontainer"
    lines = (folder / "devcontainer.json").read_text().splitlines()
    settings = json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))
    assert (folder / settings["build"]["dockerfile"]).resolve() == ROOT / "Dockerfile"
    assert (folder / settings["build"]["context"]).resolve() == ROOT
    variables = dict(rest.split("=", 1) for name, rest in instructions(TEXT) if name == "ENV")
    assert settings["containerEnv"].keys() == variables.keys()
    (port,) = (rest for name, rest in instructions(TEXT) if name == "EXPOSE")
    assert settings["forwardPorts"] == [int(port)]


def test_what_git_ignores_does_not_get_into_the_image():
    ignored = set((ROOT / ".dockerignore").read_text().splitlines())
    for line in (ROOT / ".gitignore").read_text().splitlines():
        if line and not line.startswith("#"):
            anywhere = "" if "/" in line.rstrip("/") else "**/"
            assert f"{anywhere}{line.strip('/')}" in ignored


def test_options_that_permit_namespaces_are_the_same_everywhere():
    from course.internal import namespaces

    lines = (ROOT / ".devcontainer" / "devcontainer.json").read_text()
    options = re.findall("--security-opt ([a-z]+=unconfined)", namespaces.PERMIT)
    assert json.loads(re.search(r'"securityOpt": (\[.*\])', lines)[1]) == options
    page = (ROOT / "docs" / "container.md").read_text()
    assert all(f"--security-opt {option}" in page for option in options)


def test_the_image_starts_as_the_user_that_binder_chooses(tmp_path, monkeypatch):
    monkeypatch.setattr(bare, "make", lambda root, environment: root.mkdir())
    for step in ("run", "copy"):
        monkeypatch.setattr(dockerfile.Image, step, lambda *_: None)
    images = dockerfile.build(TEXT.replace("NB_USER=learner", "NB_USER=jovyan"), tmp_path, tmp_path)
    image = images[""]
    assert image.user == "jovyan" and str(image.folder) == "/home/jovyan/course" == image.variables["COURSE_ROOT"]
    assert image.default[0] == "scripts/lab" and "NB_UID" in image.arguments


def test_an_unknown_instruction_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(bare, "make", lambda root, environment: root.mkdir())
    for line in ("HEALTHCHECK NONE", "COPY --link a b/", "FROM scratch"):
        with pytest.raises(ValueError, match="not known here"):
            dockerfile.build(line, tmp_path, Path(tempfile.mkdtemp(dir=tmp_path)))


def test_continued_lines_and_comments_are_read_as_docker_reads_them():
    text = "# about a\nRUN a \\\n    # between\n    && b\n\nUSER c\n"
    assert list(instructions(text)) == [("RUN", "a && b"), ("USER", "c")]


def run_paths(elf):
    """Return the folders in which a library looks for others, from its content, an ELF file of 64 bits."""
    start = struct.unpack_from("<Q", elf, 40)[0]
    size, count = struct.unpack_from("<HH", elf, 58)
    sections = [struct.unpack_from("<IIQQQQI", elf, start + number * size) for number in range(count)]
    _, _, _, _, offset, length, link = next(section for section in sections if section[1] == DYNAMIC)
    names = sections[link][4]
    found = []
    for tag, value in struct.iter_unpack("<QQ", elf[offset : offset + length]):
        if tag in TAGS.values():
            found += elf[names + value : elf.index(b"\0", names + value)].decode().split(":")
    return found


def test_the_horovod_of_this_environment_can_be_moved():
    folder = next(ROOT.glob(".venv/lib/python*/site-packages/horovod"))
    libraries = list(folder.rglob("*_lib*.so"))
    assert libraries
    for library in libraries:
        assert run_paths(library.read_bytes())[0] == "$ORIGIN/../../../.."


ELSEWHERE = b":/cache/built/lib"
CONTENT = b"before\0$ORIGIN/../../../..%b\0after" % ELSEWHERE


def make_wheel(path, content):
    name = "horovod-0.28.1.dist-info"
    files = {"horovod/mpi_lib.so": content, f"{name}/METADATA": b"Name: horovod", f"{name}/RECORD": b"older"}
    with zipfile.ZipFile(path, "w") as wheel:
        for file in (f"{name}/RECORD", *files):
            if file not in wheel.namelist():
                wheel.writestr(file, files[file])


def test_the_wheel_has_no_run_path_of_the_machine_that_built_it(tmp_path):
    """A uv that has built a wheel in its cache stands for the real one."""
    built = tmp_path / "horovod-0.28.1-cp311-cp311-linux_x86_64.whl"
    make_wheel(built, CONTENT)
    with_a_wheel(tmp_path, f'[ "$1" != pip ] || mkdir -p "$5/sdists"; [ "$1" != pip ] || cp {built} "$5/sdists"')
    tools = BASIC | MAKE | COMPILERS | FLOCK | dict.fromkeys(("mkdir", "mktemp", "rm", "find", "cp", "python3.11"))
    said = set_up(tmp_path, tools | {"python3.11": f'exec {sys.executable} "$@"'}, script="scripts/wheel", status=0)
    with zipfile.ZipFile(tmp_path / "wheels" / built.name) as wheel:
        library = wheel.read("horovod/mpi_lib.so")
        record = wheel.read("horovod-0.28.1.dist-info/RECORD").decode().splitlines()
    assert library == CONTENT.replace(ELSEWHERE, bytes(len(ELSEWHERE))), said
    digest = base64.urlsafe_b64encode(hashlib.sha256(library).digest()).rstrip(b"=").decode()
    assert record[0] == f"horovod/mpi_lib.so,sha256={digest},{len(library)}"
    assert record[2:] == ["horovod-0.28.1.dist-info/RECORD,,"]


@pytest.fixture(scope="module")
def images():
    if lacking := bare.lacking():
        pytest.skip(f"a bare Debian {lacking}")
    with tempfile.TemporaryDirectory() as folder:
        context = Checkout(Path(folder)).root
        yield dockerfile.build(TEXT, context, Path(folder), MACHINE)


@pytest.fixture(scope="module")
def image(images):
    return images[""]


def run(image, *words, **options):
    return subprocess.run(image.container(words, **options), capture_output=True, text=True)


@pytest.mark.slow
def test_the_wheel_names_no_folder_of_the_machine_that_built_it(images):
    (wheel,) = Path(f"{images['build'].root}/course/wheels").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        libraries = [name for name in packed.namelist() if name.endswith(".so")]
        assert libraries
        for name in libraries:
            assert run_paths(packed.read(name)) == ["$ORIGIN/../../../.."]


@pytest.mark.slow
def test_the_image_has_the_locked_environment_a_user_and_no_compiler(image):
    said = run(image, "sh", "-c", 'id -un; ls -l "$COURSE_ROOT"; command -v g++ cc make').stdout.splitlines()
    assert said[0] == image.arguments["NB_USER"] and f" {said[0]} " in said[2]
    assert not [line for line in said if line.startswith("/")]
    assert run(image, "cmp", "uv.lock", ".venv/made-from.cpu").returncode == 0


@pytest.mark.slow
def test_a_terminal_has_the_course_s_environment(image):
    shell = bare.command(image.root, image.folder, image.user, image.variables, ["bash", "-ic", "command -v python"])
    assert subprocess.check_output(shell, text=True) == f"{image.variables['COURSE_ROOT']}/.venv/bin/python\n"


@pytest.mark.slow
def test_a_script_is_checked_where_namespaces_are_forbidden_and_the_message_says_how_to_permit_them(image):
    script = "solutions/fashion_mnist_after_step_03.py"
    done = run(image, "python", "-m", "grader", "check", "--step", "3", script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No sandbox can be made here" in done.stdout and "--security-opt" in done.stdout


PROBE = "from course import hosts; from grader.sandbox import policy; print(policy.available(), hosts.forbidden())"


@pytest.mark.slow
def test_with_the_options_of_the_page_a_container_has_a_sandbox_and_hosts(image):
    assert run(image, "python", "-c", PROBE, mounts=UNCONFINED).stdout == "None None\n"


@pytest.mark.slow
def test_without_namespaces_a_script_for_hosts_is_not_graded(image):
    done = run(image, "python", "-m", "grader", "check", "--json", "--step", "18", "solutions/hosts/launch.sh")
    assert done.returncode == 2, done.stdout + done.stderr
    message = json.loads(done.stdout)["checks"][0]["message"]
    assert "No hosts can be made here" in message and "--security-opt" in message


@pytest.mark.slow
def test_without_namespaces_lessons_run_and_those_about_hosts_show_recorded_outputs(image):
    done = run(image, "scripts/run", "--steps", "0,18", "--out", "/tmp/out")
    assert done.returncode == 0, done.stdout + done.stderr
    lesson = image.root / "tmp" / "out" / "step_18.ipynb"
    assert recorded.MARK in lesson.read_text()


def answers(opener, url):
    try:
        return opener.open(url).status == 200
    except urllib.error.URLError:  # JupyterLab prints the URL a moment before it listens
        return False


@pytest.mark.slow
def test_a_container_starts_jupyterlab(image):
    with socket.create_server(("127.0.0.1", 0)) as listener:  # JupyterLab takes another port if this one is taken again
        port = listener.getsockname()[1]
    command = image.container([*image.default, f"--port={port}"], own_network=False)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            urls = (re.search(r"http://127\.0\.0\.1:\d+/lab\S*token=\w+", line) for line in server.stdout)
            url = next(filter(None, urls))
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            wait_until(lambda: answers(opener, url[0]))
        finally:
            server.kill()
