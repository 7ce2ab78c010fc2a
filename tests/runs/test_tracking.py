"""TensorBoard's event files, read back by TensorFlow, and what MLflow receives."""

import json
import math
import struct
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import real_stacks
from zoo.config.overrides import Overrides
from zoo.config.schemas.common import Tracking
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.environments import store
from zoo.protocol.events import EpochEvent, HistogramEvent, NetworkEvent, ResumeEvent, WarningEvent
from zoo.runs import event_files, mlflow_tracking
from zoo.runs.records import RunRecord
from zoo.runs.tracking import Trackers
from zoo.tasks import registry

READER = """
import glob, json, sys
import tensorflow as tf
iterate = tf.train.summary_iterator if hasattr(tf.train, "summary_iterator") else tf.compat.v1.train.summary_iterator
rows = []
for path in sorted(glob.glob(sys.argv[1] + "/*")):
    for event in iterate(path):
        for value in event.summary.value:
            kind = value.WhichOneof("value")
            shown = {"simple_value": value.simple_value, "image": [value.image.width, value.image.height],
                     "histo": [value.histo.min, value.histo.max, value.histo.num, sum(value.histo.bucket)]}.get(kind)
            rows.append([value.tag, event.step, shown or tf.make_ndarray(value.tensor)[0].decode()])
        if event.WhichOneof("what") == "graph_def":
            graph = tf.compat.v1.GraphDef if hasattr(tf, "compat") and hasattr(tf.compat, "v1") else tf.GraphDef
            for node in graph.FromString(event.graph_def).node:
                sizes = [dim.size for dim in node.attr["_output_shapes"].list.shape[0].dim]
                rows.append([node.name, 0, [node.op, list(node.input), sizes]])
print(json.dumps(rows))
"""
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 7, 9)


def read_by(name: str, folder: Path) -> dict[tuple[str, int], Any]:
    """Read event files by the TensorFlow of a stack, which checks the sums of the records."""
    stack, ready = real_stacks.environment(name)
    answer = subprocess.run(
        [str(ready.python), "-I", "-c", READER, str(folder)],
        env=store.child_environment(stack), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {(tag, step): shown for tag, step, shown in json.loads(answer.stdout.splitlines()[-1])}


def records(path: Path) -> Iterator[bytes]:
    """Yield the content of the records in an event file, without their sums."""
    content = path.read_bytes()
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        yield content[12 : 12 + length]
        content = content[12 + length + 4 :]


@pytest.mark.stacks
@pytest.mark.parametrize("name", [pytest.param("tf-2.21", marks=pytest.mark.slow), "tf-1.8"])
def test_event_files_hold_what_the_history_does(name: str, tmp_path: Path) -> None:
    overrides = ["model=mnist_dense", "data=digits", f"stack={name}", "backend=cpu", "trainer.epochs=2",
            "data.train_limit=256", "backend.probes=false", "tensorboard=true",
            "tensorboard_histograms=true", f"output.root={tmp_path}"]  # fmt: skip
    run = registry.dispatch("train", Overrides.parse(overrides))
    read = read_by(name, run.folder / "tensorboard")
    names = ("loss", "accuracy", "val_loss", "val_accuracy", "learning_rate", "epoch_s")
    wanted = {(key, int(row["epoch"])): row[key] for row in run.history for key in names}
    assert len(wanted) == 12
    assert {key: read[key] for key in wanted} == pytest.approx(wanted, rel=1e-6)
    assert "epochs: 2" in read["settings", 0]
    assert read["confusion", 2][0] > 100
    assert read["hidden", 0] == ["Dense", ["flatten"], [-1, 128]]
    assert read["predictions", 0] == ["Dense", ["dropout"], [-1, 10]]
    with np.load(run.folder / "weights.npz") as weights:
        for key in weights.files:
            values, row = weights[key], read[key, run.record["metrics"]["best_epoch"]]
            assert row == [values.min(), values.max(), values.size, values.size]


def test_event_files_need_no_framework_and_end_with_the_images(tmp_path: Path) -> None:
    record = RunRecord.from_json(RECORD)
    for _ in range(2):  # a resumed run begins another file
        trackers = Trackers(Tracking(tensorboard=True), tmp_path, record, "seed: 1\n")
        trackers.watch(WarningEvent(message="x"))
        trackers.watch(ResumeEvent(epoch=2))
        trackers.watch(EpochEvent(epoch=2, epochs=3, loss=0.5, best=True, val_loss=math.nan))
    (tmp_path / "confusion.png").write_bytes(PNG)
    trackers.finish(record)
    first, second = sorted((tmp_path / "tensorboard").iterdir())
    assert [len(list(records(first))), len(list(records(second)))] == [4, 5]
    version, settings, restart, epoch, image = records(second)
    assert b"brain.Event:2" in version
    assert b"    seed: 1\n" in settings
    assert restart.endswith(b"\x10\x02\x3a\x02\x08\x01")  # step 2, session log: start
    assert epoch.endswith(b"\x0a\x04loss\x15\x00\x00\x00\x3f")
    assert all(name not in epoch for name in (b"val_loss", b"best", b"epoch"))
    assert image.endswith(b"\x08\x09\x10\x07\x18\x03\x22" + bytes([len(PNG)]) + PNG)


def doubles(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


def test_event_files_have_the_network_and_histograms_of_its_weights(tmp_path: Path) -> None:
    trackers = Trackers(Tracking(tensorboard=True), tmp_path, RunRecord.from_json(RECORD), "")
    layers = [{"name": "a b", "class": "Input", "inputs": [], "shape": [None, 300]}]
    layers.append({"name": "in/c", "class": "Dense", "inputs": ["a b"], "shape": []})
    trackers.watch(NetworkEvent(layers=layers))
    values = [-1, 1, 7, 0.5, 2.5]
    trackers.watch(HistogramEvent(epoch=3, weight="c/bias", figures=values, counts=[2, 0, 1, 4]))
    _, _, network, histogram = records(next((tmp_path / "tensorboard").iterdir()))
    batch = b"\x12\x0b\x08" + b"\xff" * 9 + b"\x01"  # -1 as an unsigned number of 64 bits
    first = b"\x0a\x03a_b\x12\x05Input\x2a\x28\x0a\x0e_output_shapes\x12\x16\x0a\x14\x3a\x12" + batch
    first += b"\x12\x03\x08\xac\x02"
    second = b"\x0a\x04in/c\x12\x05Dense\x1a\x03a_b\x2a\x16\x0a\x0e_output_shapes\x12\x04\x0a\x02\x3a\x00"
    graph = b"\x0a\x36" + first + b"\x0a\x2a" + second
    assert network.endswith(b"\x10\x00\x22" + bytes([len(graph)]) + graph)
    figures = zip(b"\x09\x11\x19\x21\x29", values, strict=True)
    content = b"".join(bytes([key]) + doubles(value) for key, value in figures)
    content += b"\x32\x20" + doubles(-0.5, 0, 0.5, 1) + b"\x3a\x20" + doubles(2, 0, 1, 4)
    value = b"\x0a\x06c/bias\x2a" + bytes([len(content)]) + content
    assert histogram[9:] == b"\x10\x03\x2a" + bytes([len(value) + 2, 0x0A, len(value)]) + value


def test_a_tracker_that_fails_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tensorboard").write_text("a file in its place")
    trackers = Trackers(Tracking(tensorboard=True), tmp_path, RunRecord.from_json(RECORD), "")
    trackers.watch(EpochEvent(epoch=1, loss=0.5))
    assert "The run cannot be reported to TensorBoard: FileExistsError" in capsys.readouterr().err


def test_without_mlflow_nothing_is_begun(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ZooError, match="not installed") as caught:
        registry.dispatch("train", Overrides.parse(["model=mnist", "data=digits", "mlflow=file:mlruns"]))
    assert f"-m uv pip install -e {paths.ROOT}[mlflow]" in caught.value.remedy.replace("'", "")
    assert not (pretending / "runs").exists()


RECORD = {
    "model": "mnist", "backend": "cpu", "stack": {"name": "tf-2.21"}, "device": None, "zoo_version": "0.1.0",
    "git_commit": None, "versions": {"keras": "3.15.1", "python": "3.12.1"}, "run_id": "abc",
    "metrics": {"test_accuracy": 0.99, "best": True}, "started": "2026-11-27T15:00:00+00:00",
    "phases": {"train_s": 1.5}, "config": {"seed": 1, "trainer": {"epochs": 2}, "note": "x" * 900},
    "exit": "completed",
}  # fmt: skip


def run_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(RECORD))
    (folder / "model.keras").write_text("a model")
    (folder / "history.csv").write_text("epoch,loss,val_loss,epoch_s\n1,0.5,0.25,1\n2,0.25,nan,1\n")
    return folder


def report(uri: str, folder: Path) -> None:
    """Report a run whose second epoch could not be sent while it ran."""
    record = RunRecord.from_json(RECORD)
    trackers = Trackers(Tracking(mlflow=uri), folder, record, "")
    trackers.watch(EpochEvent(epoch=1, loss=0.5, val_loss=0.25, epoch_s=1.0))
    trackers.finish(record)


def test_settings_and_final_figures_are_laid_out_for_mlflow() -> None:
    parameters = mlflow_tracking.parameters(RECORD["config"])  # type: ignore[arg-type]
    assert (parameters["seed"], parameters["trainer.epochs"], len(parameters["note"])) == ("1", "2", 500)
    final = mlflow_tracking.final_figures(RunRecord.from_json(RECORD))
    assert final == {"final_test_accuracy": 0.99, "phase_train_s": 1.5}


class Store:
    """Stands in for a client of MLflow, and for its store."""

    def __init__(self) -> None:
        self.runs: list[Any] = []
        self.calls: list[tuple[Any, ...]] = []
        self.broken = False

    def search_runs(self, *_: Any, **__: Any) -> list[Any]:
        return self.runs

    def create_run(self, _: str, begun: int, tags: dict[str, str], name: str) -> Any:
        self.calls.append(("create", begun, tags["zoo_run_id"], name))
        self.runs.append(types.SimpleNamespace(info=types.SimpleNamespace(run_id="7")))
        return self.runs[0]

    def get_metric_history(self, *_: Any) -> list[Any]:
        return [types.SimpleNamespace(step=1)]

    def log_batch(self, _: str, params: Any = (), metrics: Any = ()) -> None:
        if self.broken and metrics:
            raise ConnectionError("no answer")
        self.calls += [("metric", name, value, step) for name, value, _, step in metrics]

    def log_artifacts(self, _: str, folder: str, name: str) -> None:
        files = {path.relative_to(folder).as_posix(): path.read_text() for path in Path(folder).rglob("*.*")}
        self.calls.append(("model", name, (Path(folder) / "MLmodel").read_text(), files))

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **_: self.calls.append((name, *args[1:]))


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store in place of MLflow's."""
    kept, parts = Store(), {"tracking": types.ModuleType("mlflow.tracking"), "entities": types.ModuleType("entities")}
    vars(parts["tracking"])["MlflowClient"] = lambda tracking_uri: kept
    vars(parts["entities"]).update(Param=lambda *row: row, Metric=lambda *row: row)
    monkeypatch.setitem(sys.modules, "mlflow", types.ModuleType("mlflow"))
    for name, module in parts.items():
        vars(sys.modules["mlflow"])[name] = module
        monkeypatch.setitem(sys.modules, f"mlflow.{name}", module)
    return kept


def test_epochs_are_sent_at_once_and_the_rest_at_the_end(kept: Store, tmp_path: Path) -> None:
    report("store:", run_folder(tmp_path))
    metrics = [call[1:] for call in kept.calls if call[0] == "metric"]
    assert metrics == [
        ("epoch_s", 1.0, 1), ("loss", 0.5, 1), ("val_loss", 0.25, 1),
        ("loss", 0.25, 2), ("epoch_s", 1.0, 2), ("final_test_accuracy", 0.99, 2), ("phase_train_s", 1.5, 2),
    ]  # fmt: skip
    assert ("create", 1795791600000, "abc", "run") in kept.calls
    assert kept.calls[-1] == ("set_terminated", "FINISHED")
    (model,) = [call for call in kept.calls if call[0] == "model"]
    assert "loader_module: mlflow.keras" in model[2]
    assert model[3]["data/model.keras"] == "a model"
    assert model[3]["requirements.txt"] == "mlflow\nkeras==3.15.1"


def test_a_resumed_run_continues_and_a_dead_store_is_a_warning(
    kept: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_folder(tmp_path)
    report("store:", folder)
    kept.calls.clear()
    record = RunRecord.from_json(RECORD)
    trackers = Trackers(Tracking(mlflow="store:"), folder, record, "")
    kept.broken = True
    trackers.watch(EpochEvent(epoch=2, loss=0.25))
    assert "cannot be reported to MLflow at store:: ConnectionError: no answer" in capsys.readouterr().err
    kept.broken = False
    trackers.finish(record)
    assert ("metric", "loss", 0.25, 2) in kept.calls
    assert not [call for call in kept.calls if call[0] == "create" or call[1:] == ("loss", 0.5, 1)]


@pytest.mark.parametrize("uri", ["file:{}/store", "sqlite:///{}/mlflow.db"])
def test_mlflow_itself_keeps_it_all(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mlflow", reason="MLflow is an extra: pip install '.[mlflow]'")
    monkeypatch.chdir(tmp_path)  # the artifacts of a database go to the working folder
    from mlflow.tracking import MlflowClient

    place = uri.format(tmp_path)
    mlflow_tracking.open_store(place)
    report(place, run_folder(tmp_path))
    assert f"Reported to MLflow at {place}: run " in capfd.readouterr().err
    client = MlflowClient(tracking_uri=place)
    experiment = client.get_experiment_by_name("zoo mnist")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id])
    assert (run.info.status, run.info.start_time) == ("FINISHED", 1795791600000)
    assert run.data.params["trainer.epochs"] == "2"
    assert run.data.metrics["final_test_accuracy"] == 0.99
    assert run.data.tags["stack"] == "tf-2.21"
    assert [each.value for each in client.get_metric_history(run.info.run_id, "loss")] == [0.5, 0.25]
    assert {each.path for each in client.list_artifacts(run.info.run_id)} == {"history.csv", "model", "run.json"}


def test_sums_of_records_are_those_of_the_castagnoli_polynomial(tmp_path: Path) -> None:
    value = 0xE3069283  # the check value of CRC-32C: that of the text 123456789
    masked = ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF
    assert event_files.masked_crc(b"123456789") == struct.pack("<I", masked)
    trackers = Trackers(Tracking(tensorboard=True), tmp_path, RunRecord.from_json(RECORD), "")
    trackers.watch(EpochEvent(epoch=1, loss=0.5))
    content = next((tmp_path / "tensorboard").iterdir()).read_bytes()
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        body = content[12 : 12 + length]
        assert content[8:12] == event_files.masked_crc(content[:8])
        assert content[12 + length : 16 + length] == event_files.masked_crc(body)
        content = content[16 + length :]
