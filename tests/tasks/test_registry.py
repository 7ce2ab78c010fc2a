"""The straight line from the command line to the run folder, with a fake worker at its end."""

import dataclasses
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from zoo import api
from zoo.cli.main import main
from zoo.config.overrides import Overrides
from zoo.core.errors import UnreachableIndexError, ZooError
from zoo.environments import store
from zoo.environments.stacks import Stack
from zoo.execution import event_display
from zoo.runs import result
from zoo.tasks import registry

Zoo = Callable[..., int]


@pytest.fixture
def zoo(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> Zoo:
    """The command line, with a worker that pretends."""

    def run(*arguments: str, script: str = "ok") -> int:
        monkeypatch.setenv("FAKE_WORKER", script)
        return main(list(arguments))

    return run


def only_run(tmp_path: Path) -> Path:
    (folder,) = (tmp_path / "runs").iterdir()
    return folder


def record(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return content


def test_a_run_folder_tells_the_whole_story(zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert zoo("train", "model=mnist", "data=digits", "seed=3") == 0
    folder = only_run(tmp_path)
    content = record(folder)
    assert content["exit"] == "completed"
    assert content["metrics"] == {"test_accuracy": 0.93, "test_loss": 0.25}
    for key in ("machine", "device", "versions", "phases", "git_commit", "peak_memory_bytes", "reasons", "started"):
        assert key in content
    assert content["stack"]["lock_sha256"] == "0" * 64
    assert content["data"]["train_items"] + content["data"]["validation_items"] == 1438
    assert content["expected"] == {"test_accuracy": {"at_least": 0.97, "met": False}}
    names = {row["path"] for row in content["artifacts"]}
    assert names == {"config.yaml", "curves.png", "events.jsonl", "history.csv", "request.json", "requirements.lock",
                     "split.npz", "weights.npz", "worker.log"}  # fmt: skip
    assert all(len(row["sha256"]) == 64 and row["bytes"] >= 0 for row in content["artifacts"])
    shown = capsys.readouterr()
    assert "test accuracy 0.9300" in shown.out
    assert "MISSED" in shown.out
    assert "epoch   3/3" in shown.err


def test_what_was_trained_stays_when_its_export_fails(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = store.ensure

    def ensure(stack: Stack, platform: str) -> store.Environment:
        if stack.name == "export":
            raise UnreachableIndexError("the package index cannot be reached", "Check the network.")
        return ready(stack, platform)

    monkeypatch.setattr(store, "ensure", ensure)
    assert zoo("train", "model=mnist", "data=digits", "output.name=kept", "output.export=[onnx]") == 1
    said = capsys.readouterr().err
    folder = tmp_path / "runs" / "kept"
    assert record(folder)["exit"] == "completed"
    assert (folder / "weights.npz").is_file()
    assert not (folder / "export").exists()
    assert "test accuracy 0.9300" in said
    assert "its export failed: the package index cannot be reached" in said
    assert f"python -m zoo export run={folder} 'format=[onnx]'" in said


def test_the_command_in_the_record_repeats_the_run(zoo: Zoo, tmp_path: Path) -> None:
    zoo("train", "data=digits", "trainer.epochs=7")
    first = record(only_run(tmp_path))
    assert first["command"][:4] == ["python", "-m", "zoo", "train"]
    zoo(*first["command"][3:], "output.root=again")
    (second,) = (tmp_path / "again").iterdir()
    assert record(second)["config"]["trainer"] == first["config"]["trainer"]


def test_json_prints_the_record_and_nothing_else(zoo: Zoo, capsys: pytest.CaptureFixture[str]) -> None:
    assert zoo("train", "data=digits", "--json") == 0
    assert json.loads(capsys.readouterr().out)["exit"] == "completed"


@pytest.mark.draws
def test_curves_are_a_picture(zoo: Zoo, tmp_path: Path) -> None:
    zoo("train", "data=digits")
    with Image.open(only_run(tmp_path) / "curves.png") as picture:
        assert picture.size[0] > 800
        assert len(picture.convert("RGB").getcolors(1 << 24) or []) > 10


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("error", "it does not work"),
        ("nan", "the loss became nan"),
        ("crash", "Fatal: something in C went wrong"),
        ("killed", "SIGKILL"),
        ("torn", "status 9"),
    ],
)
def test_a_failed_run_says_why_and_is_a_record_too(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str], script: str, words: str
) -> None:
    assert zoo("train", "data=digits", script=script) == 1
    shown = capsys.readouterr().err
    assert words in shown
    assert "Traceback" not in shown
    saved = record(only_run(tmp_path))
    assert saved["exit"] == "failed"
    assert saved["error"]["message"]


def test_ctrl_c_keeps_what_was_learnt_and_exits_130(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def press_ctrl_c(*_: Any) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return "an epoch"

    monkeypatch.setattr(event_display, "epoch_line", press_ctrl_c)
    assert zoo("train", "data=digits", script="slow") == 130
    folder = only_run(tmp_path)
    assert record(folder)["exit"] == "interrupted"
    assert (folder / "history.csv").is_file()
    assert str(folder) in capsys.readouterr().out


def test_nothing_is_built_for_wrong_settings(zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert zoo("train", "trainer.epochs=-1", "modle=x") == 1
    assert not (tmp_path / "runs").exists()
    kept = [path.name for path in (tmp_path / "cache").iterdir() if not path.name.startswith(".")]
    assert kept == ["data"]  # which was there before
    assert "Traceback" not in capsys.readouterr().err


def test_an_unwritable_output_is_told(zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("a file")
    assert zoo("train", "data=digits", "output.root=taken") == 1
    assert "output.root" in capsys.readouterr().err
    assert (tmp_path / "taken").read_text() == "a file"


def test_another_keras_than_the_lock_s_is_refused(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ready = store.ensure

    def pretend(versions: dict[str, str]) -> None:
        monkeypatch.setattr(store, "ensure", lambda *given: dataclasses.replace(ready(*given), versions=versions))

    pretend({"Keras": "3.15.1", "fake": "1.0+cpu"})
    assert zoo("train", "data=digits") == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "was changed: keras 0.0 was imported, but its lock has 3.15.1" in said
    assert record(only_run(tmp_path))["exit"] == "failed"
    pretend({"keras": "0.0+cpu"})
    assert zoo("train", "data=digits") == 0


def test_a_bug_keeps_its_traceback_in_a_file(
    zoo: Zoo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_verb: str, _overrides: Overrides) -> result.Run:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(registry, "dispatch", broken)
    assert zoo("train") == 3
    shown = capsys.readouterr().err
    log = Path(shown.strip().rsplit(" ", 1)[-1])
    assert "unforeseen" in log.read_text()
    assert "Traceback" not in shown
    log.unlink()


def test_a_sweep_runs_every_combination(zoo: Zoo, tmp_path: Path) -> None:
    assert zoo("train", "-m", "data=digits", "model=mnist,mnist_dense", "seed=1,2") == 0
    (sweep,) = (tmp_path / "runs").iterdir()
    records = [record(path.parent) for path in sweep.glob("*/run.json")]
    assert sorted((run["model"], run["config"]["seed"]) for run in records) == [
        ("mnist", 1), ("mnist", 2), ("mnist_dense", 1), ("mnist_dense", 2),
    ]  # fmt: skip


def test_cfg_shows_the_settings_and_runs_nothing(zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert zoo("train", "--cfg", "job", "data=digits", "trainer.epochs=7") == 0
    assert "epochs: 7" in capsys.readouterr().out
    assert not (tmp_path / "runs").exists()


def test_pictures_are_told_by_class(zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zoo("train", "data=digits")
    trained = only_run(tmp_path)
    array = np.zeros((3, 28, 28), np.uint8)
    array[:, 5, 5] = (3, 14, 25)
    np.save(tmp_path / "in, put.npy", array)
    assert zoo("infer", f"run={trained}", "input=in, put.npy", "output.root=out") == 0
    (folder,) = (tmp_path / "out").iterdir()
    assert [row["class"] for row in result.open_run(folder).predictions] == ["3", "4", "5"]
    assert "3 images" in capsys.readouterr().out
    assert record(folder)["trained_run"] == str(trained)


def test_weights_of_a_run_that_completed_no_epoch_come_with_a_warning(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    zoo("train", "data=digits")
    trained = only_run(tmp_path)
    (trained / "run.json").write_text(json.dumps(record(trained) | {"exit": "interrupted"}))
    (trained / "history.csv").unlink()
    assert zoo("infer", f"run={trained}", "input=test", "output.root=out") == 0
    assert "completed no epoch, so its weights are hardly trained. Resume it: " in capsys.readouterr().err


def test_a_resumed_run_stays_in_its_folder(zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zoo("train", "data=digits", "output.name=kept")
    trained = only_run(tmp_path)
    for words in ("output.name=new", f"output.root={tmp_path}/elsewhere"):
        assert zoo("train", f"resume={trained}", "trainer.epochs=9", words) == 1
        printed = capsys.readouterr().err
        assert f"The resumed run stays in {trained}: output.name and output.root have no effect" in printed
    assert zoo("train", f"resume={trained}", "trainer.epochs=9", "output.name=kept", f"output.root={tmp_path}") == 0


@pytest.mark.parametrize("reason", ["the worker fails", "other data"])
def test_a_refused_resumption_leaves_the_record_of_a_complete_run(zoo: Zoo, tmp_path: Path, reason: str) -> None:
    """Its metrics were replaced by an error before."""
    zoo("train", "data=digits")
    trained = only_run(tmp_path)
    if reason == "other data":
        content = record(trained)
        content["data"]["sha256"] = "0" * 64
        (trained / "run.json").write_text(json.dumps(content))
    before = record(trained)
    assert zoo("train", f"resume={trained}", "trainer.epochs=9", script="error") == 1
    after = record(trained)
    assert (after["exit"], after["metrics"]) == ("completed", before["metrics"])
    assert {key for key in before if before[key] != after.get(key)} <= {"artifacts"}


def test_a_device_that_a_stack_cannot_choose_is_refused(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert zoo("train", "data=digits", "backend=cpu", "backend.device=GPU:7") == 1
    assert "error: backend.device=GPU:7 has no effect with stack tf-2.21\n" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
    assert zoo("train", "data=digits", "backend=cpu", "stack=torch", "backend.device=cpu") == 0


@pytest.mark.parametrize("keep", [100, 0], ids=["truncated", "a text"])
def test_damaged_weights_of_a_run_are_refused_before_the_start(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str], keep: int
) -> None:
    zoo("train", "data=digits")
    trained = only_run(tmp_path)
    weights = trained / "weights.npz"
    weights.write_bytes(weights.read_bytes()[:keep] or b"not numbers")
    assert zoo("infer", f"run={trained}", "input=test", "output.root=out") == 1
    printed = capsys.readouterr().err
    assert f"error: {weights} is truncated, or is not an .npz file\nRestore the file from a copy" in printed
    assert not (tmp_path / "out").exists()


def test_last_is_the_newest_training(zoo: Zoo, tmp_path: Path) -> None:
    zoo("train", "data=digits")
    np.save(tmp_path / "x.npy", np.zeros((1, 28, 28), np.uint8))
    trained = only_run(tmp_path)
    assert zoo("infer", "run=last", "input=x.npy") == 0
    (predicted,) = [each for each in trained.parent.iterdir() if each != trained]
    assert f"run={trained}" in record(predicted)["command"]
    assert record(predicted)["config"]["run"] == str(trained)


def test_runs_of_a_sweep_find_a_run_by_its_name(zoo: Zoo, tmp_path: Path) -> None:
    assert zoo("train", "data=digits", "output.name=a") == 0
    np.save(tmp_path / "x.npy", np.zeros((1, 28, 28), np.uint8))
    assert zoo("infer", "-m", "run=a", "input=x.npy", "batch_size=1,2", "output.name=s") == 0
    assert [record(tmp_path / "runs" / "s" / each)["config"]["run"] for each in ("001", "002")] == [
        str(tmp_path / "runs" / "a")
    ] * 2
    assert zoo("infer", "-m", "run=b", "input=x.npy", "batch_size=1,2") == 1


def test_a_model_beside_a_run_that_has_its_own_is_refused(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert zoo("train", "data=digits", "output.name=a") == 0
    (tmp_path / "my_net.py").write_text("def build(compat, input_shape, classes):\n    return None\n")
    for verb, more in (("infer", "input=test"), ("evaluate", "batch_size=8"), ("export", "format=onnx")):
        assert zoo(verb, "run=runs/a", "model=my_net.py", more) == 1
        said = " ".join(capsys.readouterr().err.split())
        assert "model=my_net.py has no effect: " in said
        assert "has its own model, mnist" in said


@pytest.mark.parametrize(("words", "said"), [
    (["infer", "run=runs/a", "input=test", "sheets=3"], "sheets has no effect on arrays"),
    (["infer", "run=runs/a", "input=x.npy", "data.test_limit=3"], "data.test_limit has no effect with input=x.npy"),
    (["evaluate", "run=runs/a", "resize=crop"], "resize has no effect on arrays"),
    (["train", "data=digits", "data.validation=0", "trainer.patience=2"], "has no effect without images"),
    (["train", "data=digits", "launcher.retries=3"], "launcher.retries=3 has no effect on one run"),
])  # fmt: skip
def test_what_data_make_useless_is_refused(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    if words[0] != "train":
        assert zoo("train", "data=digits", "output.name=a") == 0
    np.save(tmp_path / "x.npy", np.zeros((1, 28, 28), np.uint8))
    assert zoo(*words) == 1
    assert said in " ".join(capsys.readouterr().err.split())


def test_an_element_of_a_sweep_is_without_what_has_no_effect(zoo: Zoo, tmp_path: Path) -> None:
    swept = ["augment.randaugment=0,2", "augment.magnitude=5", "output.name=s"]
    assert zoo("train", "-m", "data=digits", *swept) == 0
    sweep = json.loads((tmp_path / "runs" / "s" / "sweep.json").read_text())
    assert ["augment.magnitude=5" in element["words"] for element in sweep["elements"]] == [False, True]
    assert zoo("train", "-m", "data=digits", "augment.magnitude=5,9", "output.name=t") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run=nowhere", "input=x.png"), "There is no run folder"),
        (("input=x.png",), "run is missing"),
        (("run=last", "input=x.png"), "no finished train run"),
    ],
)
def test_infer_without_a_run_is_told(
    zoo: Zoo, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    assert zoo("infer", *arguments) == 1
    assert words in capsys.readouterr().err


def test_a_missing_picture_is_told_before_anything_is_started(
    zoo: Zoo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    zoo("train", "data=digits")
    assert zoo("infer", "run=last", "input=nothing.png") == 1
    assert "nothing.png" in capsys.readouterr().err
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_a_stranger_s_request_cannot_name_the_model(zoo: Zoo, tmp_path: Path) -> None:
    """A copied run folder may hold anything; what is imported comes from the zoo's own models only."""
    zoo("train", "data=digits")
    folder = only_run(tmp_path)
    request = json.loads((folder / "request.json").read_text())
    request["model"]["name"] = "os"
    (folder / "request.json").write_text(json.dumps(request))
    np.save(tmp_path / "x.npy", np.zeros((1, 28, 28), np.uint8))
    assert zoo("infer", "run=last", "input=x.npy") == 1


def test_from_python_it_is_the_same_path(zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_WORKER", "ok")
    run = api.train(model="mnist", data="digits", trainer={"epochs": 3}, seed=2, output={"root": "with blank, comma"})
    assert run.metrics["test_accuracy"] == 0.93
    assert [row["epoch"] for row in run.history] == [1, 2, 3]
    assert run.record["config"]["seed"] == 2
    assert run.folder.parent.name == "with blank, comma"
    assert "<th>test_accuracy</th><td>0.93</td>" in run._repr_html_()
    assert "data:image/png;base64,iVBOR" in run._repr_html_()
    np.save(tmp_path / "x.npy", np.full((1, 28, 28), 7, np.uint8))
    assert api.infer(run=run, input=tmp_path / "x.npy").predictions[0]["class"] == "7"


def test_from_python_mistakes_are_errors_not_exits(zoo: Zoo) -> None:
    with pytest.raises(ZooError, match="did you mean"):
        api.train(model="mnits")
    endless: dict[str, object] = {}
    endless["a"] = endless
    with pytest.raises(ZooError, match="Cannot read the values of trainer: maximum recursion"):
        api.train(trainer=endless)
    with pytest.raises(ZooError, match="Cannot read the values of seed: Exceeds the limit"):
        api.train(seed=10**5000)
