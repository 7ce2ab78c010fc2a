"""The record of a run, written and read."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from zoo.core import paths
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


@pytest.mark.parametrize(
    ("record", "said", "remedy"),
    [
        ({"exit": "completed", "verb": "train"}, "has no data.name", "Give another run, or train again."),
        ({"exit": "failed", "verb": "infer"}, "has no data.name", "Give another run, or train again."),
        (
            {"exit": "failed", "verb": "train"},
            "the run was interrupted (failed)",
            "Resume it: python -m zoo train resume=",
        ),
        ({"exit": "running", "verb": "train"}, "the run has not ended yet", "Wait for its end, or give another run."),
        ({"exit": "completed", "verb": "train", "data": {"name": 3}}, "has no data.name", "Give another run"),
        ({"exit": "completed", "verb": "train", "data": "x"}, "has no data.name", "Give another run"),
    ],
)
def test_what_a_record_lacks_is_named_with_the_reason(
    tmp_path: Path, record: dict[str, Any], said: str, remedy: str
) -> None:
    with pytest.raises(ZooError) as caught:
        records.require(tmp_path, record, {"data.name": str})
    assert said in caught.value.message
    assert caught.value.remedy.startswith(remedy)
    with pytest.raises(ZooError, match=r"has no (data\.name, no )?run_id") as caught:
        records.require(tmp_path, record, {"data.name": str, "run_id": str})
    assert caught.value.remedy == "Give another run, or train again."
    records.require(tmp_path, record | {"data": {"name": "a"}}, {"data.name": str})


def test_the_command_to_resume_names_a_model_file() -> None:
    folder = Path("/a b")
    assert records.resume_command(folder, {"model": {"name": "mnist"}}) == "python -m zoo train 'resume=/a b'"
    assert records.resume_command(folder, None) == "python -m zoo train 'resume=/a b'"
    config = {"model": {"file": "/c.py"}}
    assert records.resume_command(folder, config) == "python -m zoo train 'resume=/a b' model=/c.py"


def test_a_record_that_is_too_long_or_no_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.json").write_text('{"exit": "failed"}')
    monkeypatch.setattr(records, "MOST_BYTES", 18)
    assert records.read(tmp_path) == {"exit": "failed"}
    monkeypatch.setattr(records, "MOST_BYTES", 17)
    with pytest.raises(ZooError, match=r"run\.json cannot be read: it is longer than 17 bytes"):
        records.read(tmp_path)
    (tmp_path / "run.json").unlink()
    (tmp_path / "run.json").mkdir()
    with pytest.raises(ZooError, match="it is not a file"):
        records.read(tmp_path)


@pytest.mark.parametrize(("phases", "valid"), [({"a": 1}, True), ({"a": 0.5}, True), ({"a": "1"}, False)])
def test_phases_are_seconds(tmp_path: Path, phases: dict[str, Any], valid: bool) -> None:
    write_json(tmp_path / "run.json", {"exit": "completed", "seconds": 3, "phases": phases})
    if valid:
        assert records.read(tmp_path)["phases"] == phases
        return
    with pytest.raises(ZooError, match="is not the record of a run"):
        records.read(tmp_path)


def test_a_run_whose_host_is_gone_was_killed(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", {"exit": "running"})
    assert records.read(tmp_path)["exit"] == "killed"
    handle = records.lock.take(tmp_path, ["zoo"])
    assert records.read(tmp_path)["exit"] == "running"
    records.lock.release(handle)


def test_the_commit_of_a_checkout_says_whether_it_was_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    assert records.git_commit() is None

    def git(*words: str) -> str:
        command = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    assert records.git_commit() is None
    (tmp_path / "recipes").mkdir()
    for name in ("code.py", "recipes/a.json"):
        (tmp_path / name).write_text("1")
    git("add", ".")
    git("commit", "-qm", "first")
    commit = git("rev-parse", "HEAD")
    assert records.git_commit() == commit
    (tmp_path / "recipes" / "a.json").write_text("2")
    assert records.git_commit() == commit
    (tmp_path / "code.py").write_text("2")
    assert records.git_commit() == f"{commit}-dirty"


@pytest.mark.parametrize("shape", [["28", None, 1], [28, 28], [-28, 28, 1], [True, 28, 1], [28, 28, 1.5]])
def test_a_shape_of_no_image_is_refused(tmp_path: Path, shape: list[object]) -> None:
    record = {"exit": "completed", "verb": "train", "data": {"input_shape": shape}}
    with pytest.raises(ZooError, match=r"has no data\.input_shape of three positive numbers"):
        records.require(tmp_path, record, {"data.input_shape": list})
    record["data"] = {"input_shape": [28, 28, 1]}
    records.require(tmp_path, record, {"data.input_shape": list})
