"""Run folders and caches: their sizes, and removing them."""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import psutil
import pytest

from zoo.cli.main import main
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.runs import event_log, lock, result, storage


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    root = tmp_path / "runs"
    for name, content in (("a", {"exit": "completed", "verb": "train", "started": "2"}), ("b", "{")):
        (root / name).mkdir(parents=True)
        (root / name / "run.json").write_text(json.dumps(content))
    (root / "c").mkdir()
    (root / "c" / "run.json").write_text(json.dumps({"exit": "running", "verb": "train", "started": "1"}))
    (root / "other").mkdir()
    return root


def test_runs_are_listed_as_they_stand(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = {row.name: row.about for row in map(storage.run, storage.folders(runs))}
    assert set(listed) == {"a", "b", "c"}
    assert listed["a"].endswith("completed")
    assert listed["b"].startswith("damaged")
    assert listed["c"].endswith("killed")
    assert main(["runs", "list", "--root", str(runs), "--json"]) == 0
    assert {row["name"] for row in json.loads(capsys.readouterr().out)} == {"a", "b", "c"}


def test_a_table_of_very_many_runs_has_the_newest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(103):
        folder = tmp_path / f"run_{number:03}"
        folder.mkdir()
        (folder / "run.json").write_text(json.dumps({"exit": "completed", "verb": "train"}))
        os.utime(folder / "run.json", (number, number))
    for command in (["runs", "list"], ["report", "--list"]):
        arguments = [*command, "--root", str(tmp_path)]
        assert main(arguments) == 0
        printed = capsys.readouterr()
        assert "run_002" not in printed.out
        assert "run_003" in printed.out and "run_102" in printed.out  # noqa: PT018
        assert "3 of 103 runs are not shown; --all shows them" in printed.err
        for every in ("--all", "--json"):
            assert main([*arguments, every]) == 0
            assert "run_000" in capsys.readouterr().out


def test_a_killed_run_is_killed_wherever_it_is_shown(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, root = str(runs / "c"), ["--root", str(runs)]
    for is_writing, state in ((False, "killed"), (True, "running")):
        lock_file = lock.take(runs / "c", ["zoo"]) if is_writing else None
        assert result.open_run(runs / "c").exit == state
        assert {row.name: row.about.split()[-1] for row in map(storage.run, storage.folders(runs))}["c"] == state
        capsys.readouterr()
        assert main(["report", "--list", "--json", *root]) == 0
        assert {row["run"]: row["exit"] for row in json.loads(capsys.readouterr().out)}["c"] == state
        assert main(["report", folder]) == 0
        assert f">{state}<" in (runs / "c" / "report.html").read_text()
        if lock_file:
            lock.release(lock_file)


@pytest.mark.parametrize("words", [["list"], ["list", "--json"], ["remove", "a"]])
def test_a_file_in_place_of_the_root_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", *words, "--root", __file__]) == 1
    shown = capsys.readouterr()
    assert f"error: {__file__} is a file, not a folder" in shown.err
    assert not shown.out


def test_only_what_is_named_is_removed(runs: Path) -> None:
    assert main(["runs", "remove", "a", "--root", str(runs)]) == 0
    assert {path.name for path in runs.iterdir()} == {"b", "c", "other"}


@pytest.mark.parametrize("words", [[], ["nothing"], ["../outside"], ["other"]])
def test_what_is_no_run_is_not_removed(runs: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (runs.parent / "outside").mkdir()
    assert main(["runs", "remove", *words, "--root", str(runs)]) == 1
    assert capsys.readouterr().err.strip()
    assert {path.name for path in runs.iterdir()} == {"a", "b", "c", "other"}
    assert (runs.parent / "outside").is_dir()


def test_a_run_that_is_being_written_is_not_removed(runs: Path) -> None:
    lock_file = lock.take(runs / "c", ["zoo", "train"])
    assert main(["runs", "remove", "a", "c", "--root", str(runs)]) == 1
    lock.release(lock_file)
    assert (runs / "a").is_dir()


def test_a_run_on_a_disk_that_is_read_only_cannot_be_removed(
    small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (small_disk / "a").mkdir()
    (small_disk / "a" / "run.json").write_text('{"exit": "completed"}')
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert main(["runs", "remove", "a", "--root", str(small_disk)]) == 1
    assert f"Cannot remove {small_disk / 'a'}: Read-only file system" in capsys.readouterr().err


@pytest.fixture
def impatient() -> Iterator[None]:
    """End a test that waits for ever."""

    def late(*_: object) -> None:
        raise AssertionError("it waits for what never comes")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("name", [".lock", "run.json", "history.csv", "events.jsonl", "host.log", "worker.log"])
def test_a_named_pipe_in_a_run_folder_is_not_waited_for(
    runs: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = runs / "c"
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    whole = 1 if name == "run.json" else 0
    assert main(["runs", "list", "--root", str(runs)]) == 0
    assert main(["attach", str(folder)]) in (0, 1)
    assert main(["report", str(folder)]) == whole
    assert main(["train", f"resume={folder}"]) == 1
    assert main(["infer", f"run={folder}", "input=x.png"]) == 1
    assert "bug" not in "".join(capsys.readouterr())
    with contextlib.suppress(ZooError):
        lock.release(lock.take(folder, ["zoo", "train"]))
    assert main(["runs", "remove", "c", "--root", str(runs)]) == 0
    assert not folder.exists()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("ZOO_CACHE", str(folder))
    paths.make_cache()
    for name in ("data/digits-1", "data/mnist-2", "envs/torch-3"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").write_bytes(bytes(1000))
    return folder


def test_the_cache_is_its_owner_s_alone(cache: Path) -> None:
    assert cache.stat().st_mode & 0o777 == 0o700


def test_others_are_kept_out_of_the_usual_cache_and_a_chosen_one_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, usual, left in (("usual", True, 0o700), ("chosen", False, 0o755)):
        folder = tmp_path / name
        folder.mkdir(mode=0o755)
        monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *_, folder=folder, **__: str(folder))
        monkeypatch.delenv("ZOO_CACHE", raising=False) if usual else monkeypatch.setenv("ZOO_CACHE", str(folder))
        main(["train", "model=mnist_dense", "data=folder"])
        assert folder.stat().st_mode & 0o777 == left


def test_the_cache_is_listed_and_removed_by_name(cache: Path) -> None:
    assert {(row.name, row.size_bytes) for row in storage.cache()} == {
        ("data/digits-1", 1000),
        ("data/mnist-2", 1000),
    }
    assert main(["cache", "remove", "data/digits-1"]) == 0
    assert [row.name for row in storage.cache()] == ["data/mnist-2"]
    assert main(["cache", "remove", "envs/torch-3"]) == 1
    assert main(["cache", "remove", "../cache"]) == 1
    assert main(["cache", "remove"]) == 1
    assert main(["cache", "remove", "--all"]) == 0
    assert storage.cache() == []
    assert (cache / "envs/torch-3/file").is_file()


@pytest.mark.parametrize("part", ["--all", "data/"])
def test_what_a_training_uses_is_not_removed_from_the_cache(
    pretending: Path, part: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_WORKER", "slow")
    words = [part] if part == "--all" else [row.name for row in storage.cache() if row.name.startswith(part)]
    command = ["train", "model=mnist_dense", "data=digits", "backend=cpu", "output.root=runs", "output.name=a"]
    training = threading.Thread(target=main, args=(command,))
    training.start()
    while not event_log.epochs(pretending / "runs" / "a" / "events.jsonl"):
        assert training.is_alive(), capsys.readouterr().err
        time.sleep(0.02)
    assert main(["cache", "remove", *words]) == 1
    assert f"The cache is in use by process {os.getpid()} (" in capsys.readouterr().err
    assert {row.name for row in storage.cache()} >= set(words) - {"--all"}
    (worker,) = (each for each in psutil.Process().children() if "fake_worker.py" in " ".join(each.cmdline()))
    worker.send_signal(signal.SIGINT)
    training.join()
    assert main(["cache", "remove", *words]) == 0
