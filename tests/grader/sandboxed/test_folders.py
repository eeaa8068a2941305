"""What is in a folder into which other ranks write at the same time."""

import os
import shutil

from grader.sandboxed.folders import files_below
from tests.grader.deep import too_deep


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
