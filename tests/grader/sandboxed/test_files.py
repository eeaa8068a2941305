"""The watch over a rank's files, and folders into which other ranks write meanwhile."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

from course.steps import ROOT
from grader.sandboxed.files import files_below
from tests.grader.deep import too_deep

WATCHED = """
import os, pathlib, shutil, tempfile
import h5py, tensorflow as tf
from grader.terms.facts import Fit, State
from grader.terms.clusters import Folders, Found
from grader.sandboxed.files import WatchedFiles

logs = pathlib.Path("left")
logs.mkdir()
files = WatchedFiles(Folders("store", "kept", "left"))
fit = Fit(0, {}, [], [], None, [], [], 0, State([], [], 0, []))
"""


def run(tmp_path, script):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED + textwrap.dedent(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


@pytest.mark.slow
def test_files_are_seen_by_whatever_library_they_are_written(tmp_path):
    script = """
        files.watch()
        files.train(fit)
        h5py.File("left/checkpoint-1.h5", "w").close()
        os.close(os.open("left/checkpoint-2.h5", os.O_WRONLY | os.O_CREAT))
        tf.io.gfile.copy("left/checkpoint-1.h5", "left/checkpoint-3.h5")
        with tf.io.gfile.GFile("left/checkpoint-4.h5", "w") as file:
            file.write("whole")
        print(fit.wrote, fit.renamed)
        print(files.new_checkpoints())
        handle, partial = tempfile.mkstemp(dir="left")
        os.close(handle)
        os.replace(partial, "left/checkpoint-1.h5")
        pathlib.Path("left/partial").touch()
        tf.io.gfile.rename("left/partial", "left/checkpoint-5.h5")
        pathlib.Path("elsewhere").touch()
        shutil.move("elsewhere", "left/checkpoint-6.h5")
        print(len(fit.wrote), fit.renamed)
        print(files.new_checkpoints(), files.new_checkpoints())
    """
    names = [f"checkpoint-{number}.h5" for number in range(1, 7)]
    assert run(tmp_path, script) == [
        f"{names[:4]} []",
        f"{names[:4]}",
        f"4 {[names[0], *names[4:]]}",
        f"{[names[0], *names[4:]]} []",
    ]


@pytest.mark.slow
def test_what_a_program_finds_when_it_is_started_again(tmp_path):
    script = """
        for name in ("checkpoint-1.h5", "checkpoint-2.h5", "checkpoint-2.h5.partial", "checkpoint-12.h5"):
            (logs / name).write_text(name)
        files.find(0, Found(((1, 9), (2, 10)), (10, 11)))
        print(sorted(path.name + "=" + path.read_text() for path in logs.iterdir()))
        (logs / "checkpoint-10.h5").unlink()
        files.find(1, Found(((1, 9), (2, 10)), (10, 11)))
        print(*(oct((logs / f"checkpoint-{name}.h5").stat().st_mode)[-3:] for name in (10, 11)))
    """
    there, leftovers = run(tmp_path, script)
    assert "'checkpoint-10.h5=checkpoint-2.h5'" in there and "'checkpoint-9.h5=checkpoint-1.h5'" in there
    assert there.count("=") == 6 and leftovers == "000 000"


def test_a_folder_that_another_rank_removes_meanwhile_has_no_files(tmp_path, monkeypatch):
    for name in ("after-1_temp", "checkpoints"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part").write_text("")
    scan = os.scandir

    def removed_meanwhile(path):
        if str(path).endswith("_temp"):
            shutil.rmtree(path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", removed_meanwhile)
    assert files_below(tmp_path) == [tmp_path / "checkpoints" / "part"]


def test_folders_too_deep_to_go_through_stop_nothing(tmp_path):
    (tmp_path / "part").write_text("")
    with too_deep(tmp_path):
        assert files_below(tmp_path) == [tmp_path / "part"]
