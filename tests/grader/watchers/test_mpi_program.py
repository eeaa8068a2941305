"""What is seen of the program that launch and batch scripts start."""

import os
import tarfile
from types import SimpleNamespace

import pytest

from grader.watchers import mpi_program


@pytest.fixture
def program(tmp_path):
    """Return the program on what has a shared folder."""
    return mpi_program.Program(SimpleNamespace(shared=tmp_path), "orders")


def test_a_copy_is_seen_in_a_folder_of_any_name_and_in_an_archive(program, tmp_path):
    data = tmp_path / mpi_program.DATA.name
    disk = tmp_path / "disk"
    (disk / "ompi").mkdir(parents=True)
    (disk / "ompi" / "session").write_bytes(b"\xff some text")
    (disk / "link").symlink_to(data / "labels")
    assert not mpi_program.has_data(disk)
    with tarfile.open(disk / "another name", "w") as archive:
        archive.add(data)
    assert mpi_program.has_data(disk)


@pytest.mark.parametrize(
    "make", [os.mkdir, os.mkfifo, lambda path: path.symlink_to(path)], ids=["folder", "pipe", "loop"]
)
def test_what_is_in_the_way_of_the_programs_files_is_no_trouble(make, program):
    for name in ("ready-0-0", "go.new"):
        make(program.folder / name)
    assert program.ready() is None
    program.order("end")
    assert (program.folder / "go").exists() == (make is not os.mkdir)


def test_all_ranks_of_a_run_have_to_be_ready(program):
    (program.folder / "ready-0-1").write_text("2")
    assert program.ready() is None
    (program.folder / "ready-0-0").write_text("2")
    assert program.ready() == 2 and program.ready(1) is None


def test_texts_of_all_kinds_are_read_and_shortened(tmp_path):
    (tmp_path / "file").write_bytes(b"\xff text")
    assert mpi_program.text(tmp_path / "file") == "\ufffd text"
    assert mpi_program.text(tmp_path / "none") == ""
    assert mpi_program.short("\udcff" + "x" * 1000) == "?" + "x" * (mpi_program.LONGEST - 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("if true; then\n", "line 2: syntax error: unexpected end of file"),
        ("#!/usr/bin/env python3\nif True:\n    pass\n", ""),
        ("#!/usr/bin/env python3\nif True\n", "launch.sh: line 2: SyntaxError: expected ':'"),
        ("#!/usr/bin/python\n\0", "launch.sh: SyntaxError: source code string cannot contain null bytes"),
        ("# python\necho $((1 + 1))\n", ""),
    ],
)
def test_the_first_line_says_whether_bash_or_python_reads_a_script(text, said, tmp_path):
    script = tmp_path / "launch.sh"
    script.write_text(text)
    found = mpi_program.syntax(script)
    assert said in found and bool(said) == bool(found)
