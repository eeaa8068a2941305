"""Folders are copied to a store and back, completely or not at all; errors are reported in one line, in seconds.

The stores are a folder of this machine, and a real S3 server.
"""

import errno
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem

from course import store
from course.objectstore import ObjectStore

FILES = {
    "train/cat/0.png": b"one",
    "train/cat/1.png": b"",
    "train/a dog, ü/0.png": bytes(range(256)) * 1000,
    "val/0.png": b"four",
}


def make(folder, files=FILES):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def contents(folder):
    """Return what is in a folder, without the mark that download() leaves."""
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: content for name, content in files.items() if name != store.MARK}


@pytest.fixture(scope="module")
def server():
    with ObjectStore() as server:
        yield server


@pytest.fixture
def s3(server, monkeypatch):
    """Return a URL in the S3 server that nothing else is below, with the environment set to reach it."""
    for name, value in server.variables.items():
        monkeypatch.setenv(name, value)
    return f"{server.url}/{uuid.uuid4().hex}"


@pytest.fixture(params=["folder", "s3"])
def url(request, tmp_path):
    """Return a URL that nothing is below yet, in each kind of store."""
    return str(tmp_path / "store" / "images") if request.param == "folder" else request.getfixturevalue("s3")


@pytest.fixture
def host(tmp_path):
    """Return the folder of a host, in which there is a copy of what was in the store yesterday."""
    yesterday = make(tmp_path / "yesterday", {"train/old.png": b"old"})
    store.download(str(yesterday), tmp_path / "host" / "cache", progress=False)
    return tmp_path / "host"


def assert_as_it_was(host):
    assert contents(host) == {
        "cache/train/old.png": b"old",
        f"cache/{store.MARK}": f"{host.parent}/yesterday\n".encode(),
    }
    assert [path.name for path in host.iterdir()] == ["cache"]


def test_what_was_uploaded_is_downloaded(url, tmp_path):
    images = make(tmp_path / "images")
    store.upload(images, url, progress=False)
    store.download(url, tmp_path / "host" / "cache", progress=False)
    assert contents(tmp_path / "host" / "cache") == FILES
    assert [path.name for path in (tmp_path / "host").iterdir()] == ["cache"]


def test_a_copy_is_replaced_as_a_whole(url, tmp_path, host):
    store.upload(make(tmp_path / "images"), url, progress=False)
    store.download(url, host / "cache", progress=False)
    assert contents(host / "cache") == FILES
    assert [path.name for path in host.iterdir()] == ["cache"]


def test_an_upload_goes_beside_what_is_there(url, tmp_path):
    store.upload(make(tmp_path / "first", {"a": b"1", "b": b"1"}), url, progress=False)
    store.upload(make(tmp_path / "second", {"b": b"2", "c/d": b"2"}), url, progress=False)
    store.download(url, tmp_path / "cache", progress=False)
    assert contents(tmp_path / "cache") == {"a": b"1", "b": b"2", "c/d": b"2"}


def test_a_downloaded_folder_is_uploaded_without_its_mark(s3, tmp_path, host):
    store.upload(host / "cache", s3, progress=False)
    assert [path.rpartition("/")[2] for path in fsspec.url_to_fs(s3, skip_instance_cache=True)[0].find(s3)] == [
        "old.png"
    ]


def test_links_to_folders_are_followed(url, tmp_path):
    make(tmp_path / "elsewhere")
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "train").symlink_to(tmp_path / "elsewhere" / "train")
    store.upload(tmp_path / "images", url, progress=False)
    store.download(url, tmp_path / "cache", progress=False)
    assert contents(tmp_path / "cache" / "train") == contents(tmp_path / "elsewhere" / "train")
    store.download(str(tmp_path / "images"), tmp_path / "cache", progress=False)
    assert contents(tmp_path / "cache" / "train") == contents(tmp_path / "elsewhere" / "train")


def test_files_are_copied_side_by_side(tmp_path, monkeypatch):
    images = make(tmp_path / "images", {str(number): b"" for number in range(store.AT_ONCE)})
    all_at_once = threading.Barrier(store.AT_ONCE)
    copy = LocalFileSystem.get_file

    def get_file(self, *args, **kwargs):
        all_at_once.wait(30)
        copy(self, *args, **kwargs)

    monkeypatch.setattr(LocalFileSystem, "get_file", get_file)
    store.download(str(images), tmp_path / "cache", progress=False)
    assert len(contents(tmp_path / "cache")) == store.AT_ONCE


def test_a_store_is_looked_at_anew_each_time(s3, tmp_path):
    store.upload(make(tmp_path / "images", {"a": b"1"}), s3, progress=False)
    store.download(s3, tmp_path / "cache", progress=False)
    code = f"from course import store; store.upload({str(make(tmp_path / 'more', {'b': b'2'}))!r}, {s3!r}, False)"
    subprocess.run([sys.executable, "-c", code], check=True)
    store.download(s3, tmp_path / "cache", progress=False)
    assert contents(tmp_path / "cache") == {"a": b"1", "b": b"2"}


# --- Copying that fails half-way --------------------------------------------------------------------------------------


def test_a_file_that_vanishes_leaves_everything_as_it_was(url, tmp_path, host, monkeypatch):
    store.upload(make(tmp_path / "images"), url, progress=False)
    sizes = store._sizes

    def then_remove_one(where, root):
        found = sizes(where, root)
        where.rm_file(f"{root}/val/0.png")
        return found

    monkeypatch.setattr(store, "_sizes", then_remove_one)
    with pytest.raises(store.StoreError, match=r"could not be copied to .*/cache: .*/val/0\.png: it was there when"):
        store.download(url, host / "cache", progress=False)
    assert_as_it_was(host)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to root")
def test_a_file_that_cannot_be_read_is_named(tmp_path, host):
    images = make(tmp_path / "images")
    (images / "val" / "0.png").chmod(0)
    with pytest.raises(store.StoreError, match=r"val/0\.png: Permission denied"):
        store.download(str(images), host / "cache", progress=False)
    assert_as_it_was(host)


def test_a_file_that_arrives_in_part_is_named(tmp_path, host, monkeypatch):
    images = make(tmp_path / "images")
    monkeypatch.setattr(LocalFileSystem, "get_file", lambda self, source, target: Path(target).write_bytes(b"o"))
    with pytest.raises(store.StoreError, match=r"0\.png: 1 of its [\d,]+ bytes arrived"):
        store.download(str(images), host / "cache", progress=False)
    assert_as_it_was(host)


def test_a_disk_that_is_too_small_is_reported_before_anything_is_copied(url, tmp_path, host, monkeypatch):
    store.upload(make(tmp_path / "images"), url, progress=False)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(2**30, 2**30 - 1000, 1000))
    with pytest.raises(store.StoreError, match=r"it has 256,007 bytes, and there is room for 1,000 in .*/host"):
        store.download(url, host / "cache", progress=False)
    assert_as_it_was(host)


def test_a_disk_that_fills_up_meanwhile_leaves_everything_as_it_was(tmp_path, host, monkeypatch):
    images = make(tmp_path / "images")

    def get_file(self, source, target):
        Path(target).write_bytes(b"o")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(LocalFileSystem, "get_file", get_file)
    with pytest.raises(store.StoreError, match="No space left on device"):
        store.download(str(images), host / "cache", progress=False)
    assert_as_it_was(host)


def test_a_copy_that_cannot_take_its_place_leaves_everything_as_it_was(tmp_path, host, monkeypatch):
    rename = Path.replace

    def replace(self, target):
        if self == store._arriving(host / "cache"):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(store.StoreError, match="Device or resource busy"):
        store.download(str(make(tmp_path / "images")), host / "cache", progress=False)
    assert_as_it_was(host)


def test_a_folder_with_other_files_is_never_replaced(tmp_path):
    images, home = make(tmp_path / "images"), make(tmp_path / "home", {"thesis.tex": b"years"})
    with pytest.raises(store.StoreError, match="holds files that no download put there"):
        store.download(str(images), home, progress=False)
    assert contents(home) == {"thesis.tex": b"years"}


def test_what_a_killed_process_had_copied_is_removed(tmp_path, host):
    ended = subprocess.Popen(["true"])
    ended.wait()
    for pid in (ended.pid, os.getpid(), os.getppid()):
        make(store._arriving(host / "cache").with_suffix(f".{pid}"), {"0.png": b"half"})
    others = make(host / str(ended.pid), {"0.png": b""})
    store.download(str(make(tmp_path / "images")), host / "cache", progress=False)
    still_copying = store._arriving(host / "cache").with_suffix(f".{os.getppid()}")
    assert set(host.iterdir()) == {host / "cache", others, still_copying}


def test_an_upload_that_fails_leaves_no_file_in_part(tmp_path, monkeypatch):
    def copyfile(source, target):
        Path(target).write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfile", copyfile)
    with pytest.raises(store.StoreError, match=r"could not be copied to .*/store: .*: No space left on device"):
        store.upload(make(tmp_path / "images"), str(tmp_path / "store"), progress=False)
    assert contents(tmp_path / "store") == {}


# --- What can be wrong with a store -----------------------------------------------------------------------------------


@pytest.fixture
def silent():
    """Return an address at which no process listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


@pytest.mark.parametrize(
    ("wrong", "url", "said"),
    [
        (None, "s3://missing/images", "The specified bucket does not exist"),
        ("AWS_ENDPOINT_URL", "s3://staging/images", r"Could not connect .*http://127\.0.* Check .*AWS_ENDPOINT_URL"),
        (
            "AWS_SECRET_ACCESS_KEY",
            "s3://staging/images",
            "signature .* does not match .* Check .*AWS_SECRET_ACCESS_KEY",
        ),
        ("AWS_ACCESS_KEY_ID", "s3://staging/images", "access key ID .* does not exist .* Check .*AWS_ACCESS_KEY_ID"),
        (None, "s4://staging/images", "Protocol not known: s4"),
        (None, "", "no URL is given"),
    ],
    ids=["bucket", "endpoint", "secret", "key", "scheme", "empty"],
)
def test_a_wrong_store_is_reported_in_one_line_in_seconds(wrong, url, said, s3, silent, tmp_path, host, monkeypatch):
    if wrong:
        monkeypatch.setenv(wrong, silent if wrong == "AWS_ENDPOINT_URL" else "wrong")
    began = time.monotonic()
    with pytest.raises(store.StoreError, match=said) as down:
        store.download(url, host / "cache", progress=False)
    assert str(down.value).startswith(f"{url} could not be copied to {host}/cache: ")
    with pytest.raises(store.StoreError, match=said) as up:
        store.upload(make(tmp_path / "images"), url, progress=False)
    assert str(up.value).startswith(f"{tmp_path}/images could not be copied to {url}: ")
    assert time.monotonic() - began < 20 and "\n" not in f"{down.value}{up.value}"
    assert_as_it_was(host)


def test_a_url_below_which_nothing_is(url, host):
    with pytest.raises(store.StoreError, match="nothing is there"):
        store.download(url, host / "cache", progress=False)
    assert_as_it_was(host)


def test_a_url_of_a_file(url, tmp_path, host):
    store.upload(make(tmp_path / "images"), url, progress=False)
    with pytest.raises(store.StoreError, match="it is a file"):
        store.download(f"{url}/val/0.png", host / "cache", progress=False)
    assert_as_it_was(host)


def test_a_folder_that_is_not_there_is_not_uploaded(url, tmp_path):
    with pytest.raises(store.StoreError, match="there is no such folder"):
        store.upload(tmp_path / "nowhere", url, progress=False)
