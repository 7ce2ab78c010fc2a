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


def test_a_folder_is_named_by_the_time_and_words(tmp_path: Path) -> None:
    name = run_folder.new_folder(tmp_path / "a" / "b", None, ["keras/ResNet50", "cpu"]).name
    assert name.endswith("_keras-ResNet50_cpu")
    assert time.strptime(name[:19], "%Y-%m-%d_%H-%M-%S")
    first = run_folder.first_free(tmp_path, "x")
    assert [run_folder.first_free(tmp_path, "x").name for _ in range(2)] == ["x_2", "x_3"]
    assert first == (tmp_path / "x").resolve()


def test_names_are_not_searched_for_ever(tmp_path: Path) -> None:
    for number in range(1, 999):
        (tmp_path / ("x" if number == 1 else f"x_{number}")).mkdir()
    assert run_folder.first_free(tmp_path, "x").name == "x_999"
    with pytest.raises(ZooError, match="There are 999 run folders called x in"):
        run_folder.first_free(tmp_path, "x")


def test_a_folder_with_links_or_pipes_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").touch()
    run_folder.refuse_traps(tmp_path)
    (tmp_path / "sub" / "link").symlink_to("file")
    with pytest.raises(ZooError, match="link is a link, through which another file would be changed"):
        run_folder.refuse_traps(tmp_path)
    (tmp_path / "sub" / "link").unlink()
    (tmp_path / "sub" / "hard").hardlink_to(tmp_path / "sub" / "file")
    with pytest.raises(ZooError, match=r"(file|hard) is a link, through which another file would be changed"):
        run_folder.refuse_traps(tmp_path)
    (tmp_path / "sub" / "hard").unlink()
    os.mkfifo(tmp_path / "sub" / "pipe")
    with pytest.raises(ZooError, match="pipe is not a file"):
        run_folder.refuse_traps(tmp_path)


def test_runs_of_sweeps_are_runs_too(tmp_path: Path) -> None:
    for name in ("a", "sweep/0", "sweep/1", "other/0"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "run.json").touch()
    (tmp_path / "sweep" / "sweep.json").touch()
    assert [path.relative_to(tmp_path).as_posix() for path in run_folder.run_folders(tmp_path)] == [
        "a", "sweep/0", "sweep/1",
    ]  # fmt: skip


def test_a_run_is_looked_for_at_its_path_and_then_under_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "a").mkdir(parents=True)
    assert run_folder.find("a", Path("runs")) == (tmp_path / "runs" / "a").resolve()
    assert run_folder.find("b", Path("runs")) == (tmp_path / "b").resolve()
    (tmp_path / "a").mkdir()
    assert run_folder.find("a", Path("runs")) == (tmp_path / "a").resolve()


def test_latest_is_of_the_verb_and_skips_damaged_records(tmp_path: Path) -> None:
    ended = {"exit": "completed"}
    for name, content in (("1", ended | {"verb": "infer"}), ("2", ended | {"verb": "train"}), ("3", {"exit": "x"})):
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / "run.json", content)
    assert run_folder.latest(tmp_path, "infer", trained=False).name == "1"
    assert run_folder.latest(tmp_path, "train", trained=False).name == "2"
    with pytest.raises(ZooError, match="no finished train run"):
        run_folder.latest(tmp_path, "train")


def test_the_start_of_a_folder_without_files_is_unknown(tmp_path: Path) -> None:
    assert run_folder.begun_ns(tmp_path) == 0
    (tmp_path / "run.json").touch()
    os.utime(tmp_path / "run.json", ns=(5, 5))
    assert run_folder.begun_ns(tmp_path) == 5
