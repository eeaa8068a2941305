"""What is seen of the program that launch and batch scripts start, and what it keeps to itself."""

import os
import tarfile
from types import SimpleNamespace

import pytest

from grader.watchers import mpi_program, mpi_rank


@pytest.fixture
def cluster(tmp_path):
    """Return what has a shared folder with data in it."""
    cluster = SimpleNamespace(shared=tmp_path)
    mpi_program.provide(cluster, "orders")
    return cluster


def test_a_copy_is_seen_in_a_folder_of_any_name_and_in_an_archive(cluster, tmp_path):
    disk = tmp_path / "disk"
    (disk / "ompi").mkdir(parents=True)
    (disk / "ompi" / "session").write_bytes(b"\xff some text")
    (disk / "link").symlink_to(cluster.shared / mpi_program.DATA.name / "labels")
    assert not mpi_program.has_data(disk)
    with tarfile.open(disk / "another name", "w") as archive:
        archive.add(cluster.shared / mpi_program.DATA.name)
    assert mpi_program.has_data(disk)


def test_a_digest_is_read_once_so_that_no_later_run_finds_it(cluster):
    assert mpi_program.digest(cluster, "orders", 0) == ""
    (cluster.shared / "orders" / "digest-0").write_text(mpi_rank.digest("secret"))
    assert mpi_program.digest(cluster, "orders", 0) == mpi_rank.digest("secret") != mpi_rank.digest("other")
    assert mpi_program.digest(cluster, "orders", 0) == ""


@pytest.mark.parametrize(
    "make", [os.mkdir, os.mkfifo, lambda path: path.symlink_to(path)], ids=["folder", "pipe", "loop"]
)
def test_what_is_in_the_way_of_the_programs_files_is_no_trouble(make, cluster):
    orders = cluster.shared / "orders"
    for name in ("ready-0-0", "go.new", "digest-0"):
        make(orders / name)
    assert mpi_program.ready(cluster, "orders") is None
    assert mpi_program.digest(cluster, "orders", 0) == ""
    mpi_program.order(cluster, "orders", "end")
    assert (orders / "go").exists() == (make is not os.mkdir)


def test_texts_of_all_kinds_are_read_and_shortened(tmp_path):
    (tmp_path / "file").write_bytes(b"\xff text")
    assert mpi_program.text(tmp_path / "file") == "\ufffd text"
    assert mpi_program.text(tmp_path / "none") == ""
    assert mpi_program.short("\udcff" + "x" * 1000) == "?" + "x" * (mpi_program.LONGEST - 1)


def test_a_file_that_cannot_be_read_counts_as_data(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    assert not mpi_program.has_data(tmp_path)
    error = PermissionError()

    def fail(path):
        raise error

    monkeypatch.setattr(mpi_program.Path, "read_bytes", fail)
    assert mpi_program.has_data(tmp_path)
    error = FileNotFoundError()  # it is gone by then
    assert not mpi_program.has_data(tmp_path)
