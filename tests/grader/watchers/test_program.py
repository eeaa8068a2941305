"""What is seen of the program that launch and batch scripts start, and what it keeps to itself."""

import tarfile
from types import SimpleNamespace

import pytest

from grader.watchers import program, rank


@pytest.fixture
def cluster(tmp_path):
    """Return what has a shared folder with data in it."""
    cluster = SimpleNamespace(shared=tmp_path)
    program.provide(cluster, "orders")
    return cluster


def test_a_copy_is_seen_in_a_folder_of_any_name_and_in_an_archive(cluster, tmp_path):
    disk = tmp_path / "disk"
    (disk / "ompi").mkdir(parents=True)
    (disk / "ompi" / "session").write_bytes(b"\xff some text")
    (disk / "link").symlink_to(cluster.shared / program.DATA.name / "labels")
    assert not program.has_data(disk)
    with tarfile.open(disk / "another name", "w") as archive:
        archive.add(cluster.shared / program.DATA.name)
    assert program.has_data(disk)


def test_a_digest_is_read_once_so_that_no_later_run_finds_it(cluster):
    assert program.digest(cluster, "orders", 0) == ""
    (cluster.shared / "orders" / "digest-0").write_text(rank.digest("secret"))
    assert program.digest(cluster, "orders", 0) == rank.digest("secret") != rank.digest("other")
    assert program.digest(cluster, "orders", 0) == ""
