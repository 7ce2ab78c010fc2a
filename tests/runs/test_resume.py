"""Going on with a run, restarts, smaller batches and hung workers, with a worker that pretends."""

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import SUPPORT
from zoo.cli.main import main
from zoo.execution import watchdog
from zoo.protocol.events import EpochEvent
from zoo.runs import event_log, lock, records, result

Zoo = Callable[..., int]
FOLDER = "runs/a"


@pytest.fixture
def zoo(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> Zoo:
    """The command line, with a worker that pretends; without settings it trains into ``FOLDER``."""

    def run(*arguments: str, script: str = "ok") -> int:
        monkeypatch.setenv("FAKE_WORKER", script)
        begun = ["data=digits", "output.name=a"] if not any(word.startswith("resume=") for word in arguments) else []
        return main(["train", *begun, *arguments])

    return run


def record() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(FOLDER, "run.json").read_text())
    return content


def test_a_killed_run_goes_on_in_its_own_folder(zoo: Zoo, capsys: pytest.CaptureFixture[str]) -> None:
    assert zoo("seed=4", "trainer.epochs=7", script="dies-once") == 1
    assert record()["exit"] == "failed"
    begun = record()["started"]
    assert zoo(f"resume={FOLDER}") == 0
    content = record()
    assert (content["exit"], content["started"], content["config"]["seed"]) == ("completed", begun, 4)
    (cut,) = content["interruptions"]
    assert cut["exit"] == "failed"
    assert "SIGKILL" in cut["error"]["message"]
    assert "error" not in content
    assert [row["epoch"] for row in result.open_run(Path(FOLDER)).history] == [1, 2, 3]
    assert "Resuming" in capsys.readouterr().err
    assert len(list(Path("runs").iterdir())) == 1


def test_a_run_goes_on_in_the_precision_that_its_recipe_named_when_it_began(zoo: Zoo) -> None:
    assert zoo("trainer.epochs=7", script="dies-once") == 1
    content = record()
    assert content["config"]["trainer"]["precision"] == "auto"
    content["config"]["trainer"]["precision"] = "float32"
    Path(FOLDER, "run.json").write_text(json.dumps(content))
    assert zoo(f"resume={FOLDER}") == 0
    assert record()["config"]["trainer"]["precision"] == "float32"


def test_a_run_goes_on_with_what_its_recipe_said_when_it_began(zoo: Zoo) -> None:
    assert zoo("trainer.epochs=7", script="dies-once") == 1
    content = record()
    content["config"]["model"]["dropout"], content["config"]["trainer"]["warmup"] = 0.3, 0.4
    Path(FOLDER, "run.json").write_text(json.dumps(content))
    assert zoo(f"resume={FOLDER}") == 0
    request = json.loads(Path(FOLDER, "request.json").read_text())
    assert (request["model"]["args"]["dropout"], request["train"]["warmup"], request["train"]["epochs"]) == (
        0.3,
        0.4,
        7,
    )
    Path(FOLDER, "run.json").write_text(json.dumps(content | {"exit": "killed"}))
    assert zoo(f"resume={FOLDER}", "model.dropout=0.2") == 1


def test_a_run_whose_data_have_changed_is_refused_each_time_and_stays_as_it_is(
    zoo: Zoo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("texts.csv").write_text("text,label\n" + "fine film,good\ndull film,bad\n" * 30)
    monkeypatch.setenv("FAKE_WORKER", "dies-once")
    words = ["model=transformer/classifier", "data=text_table", "data.root=texts.csv", "output.name=a"]
    assert main(["train", *words]) == 1
    data, split = record()["data"], Path(FOLDER, "split.npz").read_bytes()
    Path("texts.csv").write_text("text,label\n" + "fine film,excellent\ndull film,bad\n" * 31)
    for _ in range(2):
        assert zoo(f"resume={FOLDER}") == 1
        assert "differ from the data of the run" in capsys.readouterr().err
        assert (record()["data"], Path(FOLDER, "split.npz").read_bytes()) == (data, split)
    Path("texts.csv").write_text("text,label\n" + "fine film,good\ndull film,bad\n" * 30)
    assert zoo(f"resume={FOLDER}") == 0


def test_data_that_were_moved_are_named_when_a_run_is_resumed(
    zoo: Zoo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "text,label\n" + "fine film,good\ndull film,bad\n" * 30
    Path("texts.csv").write_text(text)
    monkeypatch.setenv("FAKE_WORKER", "dies-once")
    words = ["model=transformer/classifier", "data=text_table", "data.root=texts.csv", "output.name=a"]
    assert main(["train", *words]) == 1
    Path("texts.csv").rename("moved.csv")
    Path("others.csv").write_text(text.replace("fine", "good"))
    assert zoo(f"resume={FOLDER}", "data.root=others.csv") == 1
    assert "differ from the data of the run" in capsys.readouterr().err
    assert zoo(f"resume={FOLDER}", "data.root=moved.csv", script="error") == 1
    assert record()["adjusted"] == {"data.root": "moved.csv"}
    assert zoo(f"resume={FOLDER}") == 0, "the new place holds for later resumptions"


def test_a_run_keeps_its_id_and_another_has_another(zoo: Zoo) -> None:
    def ids() -> list[str]:
        return [json.loads(Path(FOLDER, name).read_text())["run_id"] for name in ("run.json", "request.json")]

    zoo(script="dies-once")
    first = ids()
    assert zoo(f"resume={FOLDER}") == 0
    assert ids() == first
    assert len({*first}) == 1
    zoo("output.name=b")
    assert json.loads(Path("runs/b/run.json").read_text())["run_id"] not in first


def test_a_run_that_was_cut_off_is_no_source_of_weights_and_names_what_goes_on_with_it(
    zoo: Zoo, capsys: pytest.CaptureFixture[str]
) -> None:
    assert zoo() == 0
    content = {key: value for key, value in record().items() if key != "data"}
    taken = lock.take(Path(FOLDER), ["zoo", "train"])
    for is_writing, words in ((True, "the run has not ended yet"), (False, "the run was interrupted (killed)")):
        Path(FOLDER, "run.json").write_text(json.dumps(content | {"exit": "running"}))
        if not is_writing:
            lock.release(taken)
        capsys.readouterr()
        assert main(["infer", f"run={FOLDER}", "input=test"]) == 1
        said = capsys.readouterr().err
        assert f"has no data.class_names: {words}" in said
        assert (f"python -m zoo train resume={Path(FOLDER).resolve()}" in said) == (not is_writing)


def test_a_host_that_had_no_time_to_speak_is_told_as_killed(zoo: Zoo) -> None:
    zoo()
    content = record()
    del content["finished"]
    Path(FOLDER, "run.json").write_text(json.dumps(content | {"exit": "running"}))
    assert zoo("resume=last") == 0
    assert record()["interruptions"][0]["exit"] == "killed"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "complete: nothing to resume"),
        (("seed=9", "trainer.epochs=1000"), "Cannot resume with seed=9; the run used seed=1"),
        (("model=mnist_dense", "trainer.epochs=1000"), "Cannot resume with"),
        (("trainer.nonsense=1", "trainer.epochs=1000"), "nonsense"),
    ],
)
def test_what_is_no_resuming_is_refused(
    zoo: Zoo, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    zoo()
    before = record()
    assert zoo(f"resume={FOLDER}", *words) == 1
    assert message in capsys.readouterr().err
    assert record() == before


def test_a_finished_run_can_be_given_more_epochs(zoo: Zoo) -> None:
    zoo("trainer.epochs=7")
    assert zoo(f"resume={FOLDER}", "trainer.epochs=9") == 0
    assert json.loads(Path(FOLDER, "request.json").read_text())["train"]["epochs"] == 9


@pytest.mark.parametrize("epochs", ["7", "6"])
def test_a_finished_run_is_not_given_as_many_or_fewer_epochs(
    zoo: Zoo, capsys: pytest.CaptureFixture[str], epochs: str
) -> None:
    zoo("trainer.epochs=7")
    assert zoo(f"resume={FOLDER}", f"trainer.epochs={epochs}") == 1
    assert f"{FOLDER} is complete" in capsys.readouterr().err


def test_what_a_resumption_changes_holds_for_the_next(zoo: Zoo, capsys: pytest.CaptureFixture[str]) -> None:
    zoo("trainer.epochs=7", script="dies-once")
    changes = {"trainer.batch_size": 48, "trainer.epochs": 300}
    words = [f"{key}={value}" for key, value in changes.items()]
    assert zoo(f"resume={FOLDER}", *words, "stack=tf-2.19", script="error") == 1
    assert f"{FOLDER} with {' '.join(words)}" in " ".join(capsys.readouterr().err.split())
    assert record()["adjusted"] == changes
    assert zoo(f"resume={FOLDER}") == 0
    settings = json.loads(Path(FOLDER, "request.json").read_text())["train"]
    assert (settings["batch_size"], settings["epochs"]) == (48, 300)
    assert record()["stack"]["name"] == "tf-2.19"
    assert zoo(f"resume={FOLDER}", "trainer.epochs=200") == 1
    assert "complete: nothing to resume" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["{", "[]", '{"exit": "failed", "verb": "train"}', '{"exit": "failed"}'])
def test_a_damaged_record_is_told(zoo: Zoo, capsys: pytest.CaptureFixture[str], content: str) -> None:
    zoo()
    Path(FOLDER, "run.json").write_text(content)
    assert zoo(f"resume={FOLDER}") == 1
    assert "bug" not in (capsys.readouterr().err or "bug")


def test_an_interpreter_is_not_taken_from_a_run_that_may_be_a_stranger_s(
    zoo: Zoo, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    zoo(script="dies-once")
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    evil.chmod(0o755)
    content = record()
    content["command"].append(f"backend.python={evil}")
    Path(FOLDER, "run.json").write_text(json.dumps(content))
    assert zoo(f"resume={FOLDER}") == 0
    assert "Ignored settings" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "spelling",
    ["mlflow={}", "+mlflow={}", "backend={{name: cpu, python: '{}'}}", f"reference={FOLDER}/theirs.yaml"],
)
def test_nothing_outside_of_the_folder_is_written_on_the_word_of_its_record(
    zoo: Zoo, capsys: pytest.CaptureFixture[str], tmp_path: Path, spelling: str
) -> None:
    zoo(script="dies-once")
    mine = tmp_path / "mine.png"
    mine.write_text("mine")
    uri = f"sqlite:///{tmp_path}/theirs.db"
    settings = {"mlflow": uri}
    Path(FOLDER, "theirs.yaml").write_text(json.dumps({"about": "-", "machine": {"about": "-"}, "settings": settings}))
    store = spelling.format(uri)
    asked = [f"save={mine}", "overwrite=true", store]
    content = record()
    content["command"] += asked
    Path(FOLDER, "run.json").write_text(json.dumps(content))
    assert zoo(f"resume={FOLDER}") == 0
    assert f"Ignored settings in the run's record: {' '.join(asked)}" in capsys.readouterr().err
    assert mine.read_text() == "mine"
    assert not (tmp_path / "theirs.db").exists()


def test_a_folder_that_is_being_written_is_left_alone(zoo: Zoo, capsys: pytest.CaptureFixture[str]) -> None:
    zoo(script="dies-once")
    before = record()
    lock_file = lock.take(Path(FOLDER), ["zoo", "train"])
    assert zoo(f"resume={FOLDER}") == 1
    lock.release(lock_file)
    assert "is being written" in capsys.readouterr().err
    assert record() == before


def test_a_worker_that_dies_is_started_again_if_asked(zoo: Zoo) -> None:
    assert zoo("trainer.restarts=1", script="dies-once") == 0
    assert len(record()["attempts"]) == 1
    assert [row["epoch"] for row in result.open_run(Path(FOLDER)).history] == [1, 2, 3]


def test_where_memory_runs_out_a_smaller_batch_is_proposed(zoo: Zoo, capsys: pytest.CaptureFixture[str]) -> None:
    assert zoo("trainer.batch_size=128", script="oom") == 1
    assert "trainer.batch_size=64" in capsys.readouterr().err
    assert zoo(f"resume={FOLDER}", "trainer.batch_size=32") == 0


def test_c_that_gives_up_without_memory_is_told_so(zoo: Zoo, capsys: pytest.CaptureFixture[str]) -> None:
    assert zoo("trainer.batch_size=128", script="aborts") == 1
    assert "SIGABRT (out of memory: try a smaller batch)" in capsys.readouterr().err


@pytest.mark.parametrize("script", ["oom", "aborts"])
def test_or_taken_and_kept(zoo: Zoo, capsys: pytest.CaptureFixture[str], script: str) -> None:
    assert zoo("trainer.batch_size=128", "trainer.on_oom=halve", script=script) == 0
    content = record()
    assert content["adjusted"] == {"trainer.batch_size": 32}
    assert len(content["attempts"]) == 2
    assert "continuing with 64" in capsys.readouterr().err
    zoo(f"resume={FOLDER}", "trainer.epochs=20")
    assert json.loads(Path(FOLDER, "request.json").read_text())["train"]["batch_size"] == 32


def test_a_hung_worker_is_ended_and_explained(zoo: Zoo, capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    assert zoo("trainer.hang_minutes=0.03", script="hung") == 1
    assert time.monotonic() - began < 30
    assert "did not respond" in capsys.readouterr().err
    assert "did not respond" in record()["error"]["message"]


HOST = """
import os, sys
from pathlib import Path
from zoo.core import console, paths
from zoo.execution import watchdog, worker_process
paths.WORKER = Path(sys.argv[1])
show = lambda event: print(type(event).__name__, flush=True)
limits = watchdog.ProcessLimits(outlives_terminal=sys.argv[2] == "continue")
outcome = worker_process.run(
    Path(sys.executable), dict(os.environ), Path("request.json").resolve(), show, None, limits
)
console.say(f"stopped: {outcome.done.stopped}")
"""


@pytest.mark.parametrize("wanted", ["continue", "stop"])
def test_a_closed_terminal_stops_a_run_or_does_not(pretending: Path, wanted: str) -> None:
    """The host gets SIGHUP, and what it writes to is closed."""
    fake, log = SUPPORT / "fake_worker.py", pretending / "host.log"
    Path("request.json").write_text(json.dumps({"protocol": 1, "verb": "train", "run_dir": str(pretending)}))
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(fake), wanted], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "FAKE_WORKER": "slow"},
    )  # fmt: skip
    assert host.stdout is not None
    assert host.stderr is not None
    while b"EpochEvent" not in (line := host.stdout.readline()):
        assert line
    host.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + 60
    while not log.is_file():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    host.stdout.close()
    host.stderr.close()
    if wanted == "continue":
        time.sleep(1.0)
        assert host.poll() is None
        host.send_signal(signal.SIGINT)
    assert host.wait(timeout=60) == 0
    assert "stopped: interrupted" in log.read_text()


def test_attach_shows_a_run_to_its_end(zoo: Zoo, capsys: pytest.CaptureFixture[str]) -> None:
    zoo()
    capsys.readouterr()
    assert main(["attach", FOLDER]) == 0
    shown = capsys.readouterr()
    assert "epoch   3/3" in shown.err
    assert "completed" in shown.out


def test_attach_follows_while_it_is_written(zoo: Zoo, tmp_path: Path) -> None:
    zoo(script="dies-once")
    lock_file = lock.take(Path(FOLDER), ["x"])
    watcher = subprocess.Popen(
        [sys.executable, "-m", "zoo", "attach", FOLDER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert watcher.stderr is not None
    for line in watcher.stderr:
        if line.startswith("epoch   2"):
            break
    with Path(FOLDER, "events.jsonl").open("a") as out:
        out.write('{"event": "epoch", "epoch": 3, "epochs": 3, "lo')
        out.flush()
        time.sleep(0.5)
        out.write('ss": 0.5, "items_per_s": 1.0, "epoch_s": 1.0}\n')
        out.write('{"event": "epoch", "epoch": "\\u001b[2J"}\n{"event": "warning", "message": "\\u001b[2Jx"}\n')
    lock.release(lock_file)
    shown, errors = watcher.communicate(timeout=30)
    assert watcher.returncode == 0
    assert "epoch   3/3  loss 0.5000" in errors
    assert "\x1b" not in errors
    assert "failed" in shown


def test_epochs_that_were_trained_again_are_told_once(tmp_path: Path) -> None:
    rows = [
        {"event": "epoch", "epoch": 1, "loss": 9}, {"event": "epoch", "epoch": 2, "loss": 8},
        {"event": "epoch", "epoch": 3, "loss": 7}, {"event": "resume", "epoch": 2}, {"event": "epoch", "epoch": 2},
    ]  # fmt: skip
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"event": "epo')
    assert [(row.epoch, row.loss) for row in event_log.epochs(path)] == [(1, 9), (2, None)]
    heard = [EpochEvent(epoch=2, epochs=3, loss=5), EpochEvent(epoch=3, epochs=3, loss=4)]
    assert [(row.epoch, row.loss) for row in event_log.epochs(path, heard)] == [(1, 9), (2, 5), (3, 4)]


def test_a_line_that_a_full_disk_cut_spoils_no_other(tmp_path: Path) -> None:
    class Disk(io.FileIO):
        """Takes nine bytes of the first line, and everything after that."""

        def write(self, data: Any) -> int:
            return super().write(data[:9] if not self.tell() else data)

    with Disk(tmp_path / "events.jsonl", "w") as out:
        events = watchdog.EventFile(out)
        for number in (1, 2, 3):
            events.write(json.dumps({"event": "epoch", "epoch": number}).encode() + b"\n")
    assert [row.epoch for row in event_log.epochs(tmp_path / "events.jsonl")] == [2, 3]


def test_the_command_that_goes_on_can_be_pasted_whatever_the_folder_is_called() -> None:
    command = records.resume_command(Path("runs/Été à la mer"), {"model": {"file": "my model.py"}})
    assert shlex.split(command)[3:] == ["train", "resume=runs/Été à la mer", "model=my model.py"]


def test_a_run_is_named_as_the_list_of_runs_prints_it(pretending: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = "output.root=elsewhere"
    assert main(["train", "data=digits", "trainer.epochs=1", "output.name=one", root]) == 0
    assert main(["train", "resume=one", "trainer.epochs=2", root]) == 0
    assert main(["infer", "run=one", "input=test", root]) == 0
    assert main(["infer", "run=two", "input=test", root]) == 1
    assert "There is no run folder" in capsys.readouterr().err


@pytest.mark.parametrize("launcher", ["launcher=ssh", "launcher=slurm", "launcher.jobs=3"])
def test_a_run_that_a_launcher_started_is_resumed_here(
    zoo: Zoo, capsys: pytest.CaptureFixture[str], launcher: str
) -> None:
    zoo(script="dies-once")
    content = record()
    content["command"].append(launcher)
    Path(FOLDER, "run.json").write_text(json.dumps(content))
    assert zoo(f"resume={FOLDER}") == 0
    assert "bug" not in capsys.readouterr().err
    assert record()["exit"] == "completed"
