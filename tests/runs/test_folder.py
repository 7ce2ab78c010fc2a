"""Creating run folders, and finding the latest."""

import os
import time
from pathlib import Path

import pytest

from zoo.config.overrides import Overrides
from zoo.core.errors import ZooError
from zoo.core.files import write_json
from zoo.runs import folder as run_folder
from zoo.runs import resume, storage


def test_folders_of_one_second_do_not_collide(tmp_path: Path) -> None:
    folders = {run_folder.new_folder(tmp_path, None, ["mnist", "cpu"]) for _ in range(5)}
    assert len(folders) == 5


def test_a_named_folder_is_never_reused(tmp_path: Path) -> None:
    run_folder.new_folder(tmp_path, "mine", [])
    with pytest.raises(ZooError, match="already exists"):
        run_folder.new_folder(tmp_path, "mine", [])


@pytest.mark.parametrize("name", ["a/b", "..", "", " "])
def test_a_name_cannot_lead_elsewhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(ZooError, match=r"output\.name"):
        run_folder.new_folder(tmp_path / "runs", name, [])


def test_a_file_in_place_of_the_root_is_told(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(ZooError, match=r"Cannot create a run folder|already exists"):
        run_folder.new_folder(tmp_path / "runs", None, ["x"])


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_root_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ZooError, match="Cannot create a run folder"):
        run_folder.new_folder(tmp_path / "runs", None, ["x"])


def test_latest_is_the_one_with_weights_that_began_last_by_the_disk(tmp_path: Path) -> None:
    for name, started, begun, weights in (
        ("a_stranger_s", "9999", 4e9, True),  # from an archive that says 2096
        ("before_the_clock_went_back", "2026-10-25T02:50:00+02:00", 1e9, True),
        ("newest", "2026-10-25T02:10:00+01:00", None, True),
        ("without_weights", "2026-10-26", None, False),
    ):
        folder = tmp_path / name
        folder.mkdir()
        time.sleep(0.02)  # the clock of a file system moves in steps of several milliseconds
        (folder / "config.yaml").touch()
        if begun is not None:
            os.utime(folder / "config.yaml", (begun, begun))
        write_json(folder / "run.json", {"exit": "completed", "verb": "train", "started": started})
        if weights:
            (folder / "weights.npz").touch()
    (tmp_path / "before_the_clock_went_back" / "run.json").touch()  # as resuming it does
    assert run_folder.latest(tmp_path, "train").name == "newest"
    names = [folder.name for folder in storage.folders(tmp_path)]
    assert names == ["before_the_clock_went_back", "a_stranger_s", "newest", "without_weights"]


def test_latest_of_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="no finished train run") as caught:
        run_folder.latest(tmp_path, "train")
    assert caught.value.remedy == "Train one, or give run=FOLDER."
    with pytest.raises(ZooError, match="no train run") as caught:
        resume.folder_of(Overrides.parse(["resume=last", f"output.root={tmp_path}"]))
    assert caught.value.remedy == "Train one, or give resume=FOLDER."
