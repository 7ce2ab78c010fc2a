"""The start and the end of a run."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from zoo.cli.main import main
from zoo.core.files import storage_error
from zoo.environments import store
from zoo.execution import retry

TRAIN = ["train", "model=mnist_dense", "data=digits", "output.name=run"]


@pytest.mark.parametrize("by_files", [True, False])
def test_a_full_disk_under_the_run_folder_is_named_with_what_to_do(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], by_files: bool
) -> None:
    def full(path: Path, _: Any) -> None:
        error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if by_files:
            raise storage_error("write", path, error) from error
        raise error

    monkeypatch.setattr(retry, "write_json", full)
    assert main(TRAIN) == 1
    said = capsys.readouterr().err
    assert f"Cannot write the run folder {Path('runs/run').resolve()}: No space left on device" in said
    assert "output.root=FOLDER" in said
    assert f"To resume once there is space: python -m zoo train resume={Path('runs/run').resolve()}" in said
    assert json.loads(Path("runs/run/run.json").read_text())["exit"] == "failed"


def test_the_record_names_every_file_with_its_checksum(pretending: Path) -> None:
    assert main(TRAIN) == 0
    record = json.loads(Path("runs/run/run.json").read_text())
    names = [row["path"] for row in record["artifacts"]]
    assert {"config.yaml", "request.json", "events.jsonl", "requirements.lock"} <= set(names)
    assert "run.json" not in names
    assert all(len(row["sha256"]) == 64 for row in record["artifacts"])


def test_a_worker_that_somebody_else_stops_before_its_first_figures_is_interrupted(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_WORKER", "stopped")
    assert main(TRAIN) == 130
    assert "Interrupted: mnist_dense" in capsys.readouterr().out
    assert json.loads(Path("runs/run/run.json").read_text())["exit"] == "interrupted"
    monkeypatch.setenv("FAKE_WORKER", "ok")
    assert main(["train", "resume=runs/run"]) == 0


@pytest.mark.parametrize(("script", "named"), [("error", True), ("crash", True), ("nan", False)])
def test_an_environment_that_lost_files_is_named_with_the_command_that_builds_it_again(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], script: str, named: bool
) -> None:
    lost = f"The environment {pretending} is damaged: a file of its packages is missing or truncated: six.py."
    monkeypatch.setattr(store, "damage", lambda folder: "a file of its packages is missing or truncated: six.py")
    monkeypatch.setenv("FAKE_WORKER", script)
    assert main([*TRAIN, "stack=tf-2.21"]) == 1
    said = capsys.readouterr().err
    assert (lost in said) == named
    assert (f"builds it again: python -m zoo env remove {pretending.name}" in said) == named
