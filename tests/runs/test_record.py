"""The run folder."""

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from zoo.core.errors import ZooError
from zoo.core.files import write_json
from zoo.runs import folder as run_folder
from zoo.runs import records, storage, tables


def test_folders_of_one_second_do_not_collide(tmp_path: Path) -> None:
    folders = {run_folder.new_folder(tmp_path, None, ["mnist", "cpu"]) for _ in range(5)}
    assert len(folders) == 5


def test_a_named_folder_is_never_reused(tmp_path: Path) -> None:
    run_folder.new_folder(tmp_path, "mine", [])
    with pytest.raises(ZooError, match="is there already"):
        run_folder.new_folder(tmp_path, "mine", [])


@pytest.mark.parametrize("name", ["a/b", "..", "", " "])
def test_a_name_cannot_lead_elsewhere(tmp_path: Path, name: str) -> None:
    with pytest.raises(ZooError, match=r"output\.name"):
        run_folder.new_folder(tmp_path / "runs", name, [])


def test_a_file_in_place_of_the_root_is_told(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(ZooError, match=r"Cannot make a run folder|is there already"):
        run_folder.new_folder(tmp_path / "runs", None, ["x"])


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_root_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ZooError, match="Cannot make a run folder"):
        run_folder.new_folder(tmp_path / "runs", None, ["x"])


@pytest.mark.parametrize("content", ["", "{", "[]", '{"exit": 3}', "\x00"])
def test_a_damaged_record_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(ZooError, match=r"run\.json"):
        records.read(tmp_path)


def test_a_folder_without_a_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="no run folder"):
        records.read(tmp_path)
    with pytest.raises(ZooError, match="There is no run folder"):
        records.read(tmp_path / "nowhere")


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
    names = [item.name for item in storage.runs(tmp_path)]
    assert names == ["before_the_clock_went_back", "a_stranger_s", "newest", "without_weights"]


def test_latest_of_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="no finished train run"):
        run_folder.latest(tmp_path, "train")


def test_history_is_read_back_as_numbers(tmp_path: Path) -> None:
    rows = [
        {"epoch": 1, "loss": 0.5, "best": True, "event": "epoch"},
        {"epoch": 2, "loss": 0.25, "best": False},
    ]
    tables.write_history(tmp_path / "history.csv", rows, ["loss", "accuracy", "val_loss", "val_accuracy"])
    assert tables.read_history(tmp_path) == [
        {"epoch": 1.0, "loss": 0.5, "best": 1.0},
        {"epoch": 2.0, "loss": 0.25, "best": 0.0},
    ]


def test_predictions_name_the_likeliest_class(tmp_path: Path) -> None:
    probabilities = np.array([[0.1, 0.9], [0.75, 0.25]], np.float32)
    tables.write_predictions(tmp_path / "p.csv", ["a,b.png", "c.png"], ["no", "yes"], probabilities)
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert lines[1].startswith('"a,b.png",yes,0.89999')
    assert lines[2].startswith("c.png,no,0.75,")


def test_json_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_json(path, {"exit": "running"})
    with pytest.raises(TypeError):
        write_json(path, {"exit": object()})
    assert json.loads(path.read_text()) == {"exit": "running"}


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = records.RunRecord(verb="train", model="mnist", stack={"name": "jax"})
    record.data, record.summary, record.weights = {"sha256": "ab"}, ["done"], None
    record.write(tmp_path)
    content = json.loads((tmp_path / "run.json").read_text())
    assert content["told"] == ["done"]
    assert content["weights"] is None
    assert "metrics" not in content
    assert records.RunRecord.from_untrusted(tmp_path).to_json() == content == record.to_json()


def test_a_record_of_another_version_keeps_what_is_unknown_here(tmp_path: Path) -> None:
    older = {"exit": "failed", "verb": "train", "went_on_with": {"trainer.batch_size": 8}, "novelty": [1]}
    write_json(tmp_path / "run.json", older)
    record = records.RunRecord.from_untrusted(tmp_path)
    assert record.adjusted == {"trainer.batch_size": 8}
    assert record.to_json()["novelty"] == [1]
    assert "went_on_with" not in record.to_json()


@pytest.mark.parametrize("key", ["verb", "config", "phases", "seconds", "command", "adjusted"])
def test_a_record_with_values_of_other_types_is_refused(tmp_path: Path, key: str) -> None:
    write_json(tmp_path / "run.json", {"exit": "completed", key: "x" if key == "command" else [[]]})
    with pytest.raises(ZooError, match=r"run\.json is not the record of a run"):
        records.RunRecord.from_untrusted(tmp_path)
