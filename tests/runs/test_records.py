"""The record of a run, written and read."""

import json
from pathlib import Path

import pytest

from zoo.core.errors import ZooError
from zoo.core.files import write_json
from zoo.runs import records


@pytest.mark.parametrize("content", ["", "{", "[]", '{"exit": 3}', "\x00"])
def test_a_damaged_record_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(ZooError, match=r"run\.json"):
        records.read(tmp_path)


def test_a_folder_without_a_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="not a run folder"):
        records.read(tmp_path)
    with pytest.raises(ZooError, match="There is no run folder"):
        records.read(tmp_path / "nowhere")


def test_a_run_under_the_usual_folder_is_proposed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    with pytest.raises(ZooError, match="There is no run folder") as caught:
        records.read(tmp_path / "mine")
    assert "Did you mean runs/mine?" in caught.value.remedy
    with pytest.raises(ZooError, match="There is no run folder") as caught:
        records.read(tmp_path / "lst")
    assert "Did you mean last?" in caught.value.remedy


def test_json_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_json(path, {"exit": "running"})
    with pytest.raises(TypeError):
        write_json(path, {"exit": object()})
    assert json.loads(path.read_text()) == {"exit": "running"}


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = records.RunRecord(exit="completed", verb="train", model="mnist", stack={"name": "jax"})
    record.data, record.summary, record.weights = {"sha256": "ab"}, ["done"], None
    record.write(tmp_path)
    content = json.loads((tmp_path / "run.json").read_text())
    assert content["summary"] == ["done"]
    assert content["weights"] is None
    assert "metrics" not in content
    assert records.RunRecord.from_untrusted(tmp_path).to_json() == content == record.to_json()


def test_a_record_of_another_version_keeps_what_is_unknown_here(tmp_path: Path) -> None:
    older = {"exit": "failed", "verb": "train", "adjusted": {"trainer.batch_size": 8}, "novelty": [1]}
    write_json(tmp_path / "run.json", older)
    record = records.RunRecord.from_untrusted(tmp_path)
    assert record.adjusted == {"trainer.batch_size": 8}
    assert record.to_json()["novelty"] == [1]


@pytest.mark.parametrize("key", ["verb", "config", "phases", "seconds", "command", "adjusted"])
def test_a_record_with_values_of_other_types_is_refused(tmp_path: Path, key: str) -> None:
    write_json(tmp_path / "run.json", {"exit": "completed", key: "x" if key == "command" else [[]]})
    with pytest.raises(ZooError, match=r"run\.json is not the record of a run"):
        records.RunRecord.from_untrusted(tmp_path)
