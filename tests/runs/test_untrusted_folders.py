"""Run folders that somebody else made, or that a disk half lost: going on with them hurts nobody."""

import copy
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from zoo.cli.main import main
from zoo.core import paths
from zoo.runs import plots, records, tables

HOSTILE: tuple[Any, ...] = (None, -1, 10**30, float("inf"), "\x1b[2J", [], {"a": {}})
# Where a record is read by who goes on with it.
READ = ("command", "config", "config.trainer", "config.trainer.epochs", "phases", "backend", "stack", "stack.name",
        "seconds", "interruptions", "adjusted", "data", "data.sha256", "started", "error")  # fmt: skip


@pytest.fixture
def stranger(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run that was cut off, beside a copy of it called ``kept``."""
    monkeypatch.setattr(plots, "curves", lambda *_: None)  # half a second each time
    monkeypatch.setenv("FAKE_WORKER", "dies-once")
    assert main(["train", "data=digits", "output.name=a", "output.root=runs"]) == 1
    folder = pretending / "runs" / "a"
    shutil.copytree(folder, pretending / "kept")
    return folder


def anew(folder: Path) -> dict[str, Any]:
    """The folder as it was; returns its record."""
    shutil.rmtree(folder)
    shutil.copytree(folder.parent.parent / "kept", folder)
    return records.read(folder)


def changed(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> Any:
    copied = copy.deepcopy(tree)
    inside: Any = copied
    for key in path[:-1]:
        inside = inside.setdefault(key, {})
    inside[path[-1]] = value
    return copied


def goes_on(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Go on with it; what was said, which is never that the zoo is at fault."""
    code = main(["train", f"resume={folder}", *words])
    said = "".join(capsys.readouterr())
    assert code in (0, 1), said
    assert "\x1b" not in said
    return said


@pytest.mark.parametrize("key", READ)
def test_strange_values_in_a_record_are_refused_or_do_no_harm(
    stranger: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    for value in HOSTILE:
        record = anew(stranger)
        (stranger / records.RECORD).write_text(json.dumps(changed(record, tuple(key.split(".")), value)))
        goes_on(stranger, capsys)


@pytest.mark.parametrize("words", ["trainer.epochs=9", "trainer.epochs=²", "trainer.epochs=" + "9" * 5000])
def test_a_complete_run_with_strange_epochs_is_complete(
    stranger: Path, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    record = records.read(stranger) | {"exit": "completed"}
    (stranger / records.RECORD).write_text(json.dumps(changed(record, ("config", "trainer", "epochs"), "x")))
    assert "error" in goes_on(stranger, capsys, words)


@pytest.mark.slow
def test_a_folder_that_lost_the_ends_of_its_files_goes_on_or_is_refused(
    stranger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in sorted(path.name for path in stranger.iterdir() if path.is_file()):
        for share in (0.0, 0.99):
            anew(stranger)
            content = (stranger / name).read_bytes()
            (stranger / name).write_bytes(content[: int(len(content) * share)])
            said = goes_on(stranger, capsys)
            assert ("error" in said) == (name == records.RECORD), (name, share, said)


@pytest.mark.parametrize("name", ["events.jsonl", "history.csv", "requirements.lock", "checkpoints", "data"])
def test_a_link_is_not_written_through(stranger: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    precious = stranger.parent.parent / "precious"
    precious.mkdir()
    (precious / "file").write_text("dear")
    (stranger / name).unlink(missing_ok=True)
    (stranger / name).symlink_to(precious if name in ("checkpoints", "data") else precious / "file")
    assert "is a link" in goes_on(stranger, capsys)
    assert (precious / "file").read_text() == "dear"
    assert [path.name for path in precious.iterdir()] == ["file"]


def test_no_interpreter_comes_in_by_another_door(stranger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = stranger.parent.parent / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {evil}.ran\n")
    evil.chmod(0o755)
    strange = {"backend.python": str(evil), "trainer.epochs=1 backend.python": str(evil)}
    (stranger / records.RECORD).write_text(json.dumps(anew(stranger) | {"adjusted": strange}))
    goes_on(stranger, capsys)
    assert not Path(f"{evil}.ran").exists()


def test_a_record_that_never_ends_is_refused(stranger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (stranger / records.RECORD).unlink()
    os.mkfifo(stranger / records.RECORD)
    assert "run.json is not a file" in goes_on(stranger, capsys)
    assert main(["runs", "list", "--root", str(stranger.parent)]) == 0
    (stranger / records.RECORD).unlink()
    with (stranger / records.RECORD).open("wb") as out:
        out.truncate(records.MOST_BYTES + 1)
    assert "longer than" in goes_on(stranger, capsys)
    assert main(["runs", "list", "--root", str(stranger.parent)]) == 0


def test_a_link_among_the_runs_is_neither_listed_nor_removed(stranger: Path) -> None:
    shutil.move(stranger, stranger.parent.parent / "elsewhere")
    stranger.symlink_to(stranger.parent.parent / "elsewhere")
    assert main(["runs", "remove", "a", "--root", str(stranger.parent)]) == 1
    assert (stranger / records.RECORD).is_file()


HOST = """
import sys
from pathlib import Path
from zoo.cli import main
from zoo.core import paths
from zoo.environments import store
lock = Path("fake.lock").resolve()
ready = store.Environment(python=Path(sys.executable), folder=lock.parent, lock=lock, lock_sha256="0" * 64,
                          versions={"six": "1.17.0"}, build_s=0.0, python_version="3.11.0")
store.ensure = lambda stack, platform: ready
paths.WORKER = Path(sys.argv.pop(1))
sys.exit(main.main())
"""


@pytest.mark.slow
def test_of_two_that_go_on_at_once_one_does(stranger: Path) -> None:
    command = [sys.executable, "-c", HOST, str(paths.WORKER), "train", f"resume={stranger}"]
    variables = {**os.environ, "FAKE_WORKER": "lingers"}
    hosts = [
        subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for _ in range(3)
    ]
    said = [host.communicate(timeout=60)[1] for host in hosts]
    assert sorted(host.returncode for host in hosts) == [0, 1, 1], said
    assert sum("is being written by process" in words for words in said) == 2
    assert len(records.read(stranger)["interruptions"]) == 1
    assert [row["epoch"] for row in tables.read_history(stranger)] == [1, 2, 3]
