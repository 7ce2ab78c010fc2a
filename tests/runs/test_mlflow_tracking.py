"""TensorBoard's event files, read back by the stack's own reader, and what MLflow is told."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import real_stacks
from zoo.config.overrides import Overrides
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.environments import store
from zoo.runs import mlflow_tracking
from zoo.runs.records import RunRecord
from zoo.tasks import registry
from zoo.worker import tensorboard
from zoo.worker.errors import UserError

READER = """
import glob, json, sys
import tensorflow as tf
iterate = tf.train.summary_iterator if hasattr(tf.train, "summary_iterator") else tf.compat.v1.train.summary_iterator
rows = []
for path in sorted(glob.glob(sys.argv[1] + "/*")):
    for event in iterate(path):
        for value in event.summary.value:
            kind = value.WhichOneof("value")
            number = value.simple_value if kind == "simple_value" else float(tf.make_ndarray(value.tensor))
            rows.append([value.tag, event.step, number])
print(json.dumps(rows))
"""


@pytest.mark.parametrize("framework", ["jax", "openvino", "plaidml", "torch", "tensorflow"])
def test_a_stack_without_a_writer_is_told_what_to_do(framework: str, tmp_path: Path) -> None:
    # Neither PyTorch nor TensorFlow is installed beside the host: as in a stack that lacks the writer.
    with pytest.raises(UserError, match=r"stack=tf-2\.21"):
        tensorboard.TensorBoardEmitter(None, framework, str(tmp_path))


def test_only_figures_of_epochs_are_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Events:
        events: list[str] = []  # noqa: RUF012

        def emit(self, event: str, **fields: Any) -> None:
            self.events.append(event)

    written: list[Any] = []
    monkeypatch.setattr(tensorboard, "_writer", lambda *_: (lambda row, step: written.append((step, row)), None))
    scribe = tensorboard.TensorBoardEmitter(Events(), "tensorflow", str(tmp_path))
    scribe.emit("warning", message="x")
    scribe.emit("epoch", epoch=2, epochs=3, loss=0.5, best=True, val_loss=math.nan, peak_memory_bytes=None)
    assert Events.events == ["warning", "epoch"]
    assert written == [(2, {"loss": 0.5})]


@pytest.mark.stacks
@pytest.mark.parametrize("name", [pytest.param("tf-2.21", marks=pytest.mark.slow), "tf-1.8"])
def test_event_files_hold_what_the_history_does(name: str, tmp_path: Path) -> None:
    stack, ready = real_stacks.environment(name)
    overrides = ["model=mnist_dense", "data=digits", f"stack={name}", "backend=cpu", "trainer.epochs=2",
            "data.train_limit=256", "backend.probes=false", "tensorboard=true",
            f"output.root={tmp_path}"]  # fmt: skip
    run = registry.dispatch("train", Overrides.parse(overrides))
    answer = subprocess.run(
        [str(ready.python), "-I", "-c", READER, str(run.folder / "tensorboard")],
        env=store.child_environment(stack), capture_output=True, text=True, check=True,
    )  # fmt: skip
    read = {(tag, step): number for tag, step, number in json.loads(answer.stdout.splitlines()[-1])}
    names = ("loss", "accuracy", "val_loss", "val_accuracy", "learning_rate", "epoch_s")
    wanted = {(key, int(row["epoch"])): row[key] for row in run.history for key in names}
    assert len(wanted) == 12
    assert {key: read[key] for key in wanted} == pytest.approx(wanted, rel=1e-6)


def test_without_mlflow_nothing_is_begun(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ZooError, match="not installed") as caught:
        registry.dispatch("train", Overrides.parse(["model=mnist", "data=digits", "mlflow=file:mlruns"]))
    assert f"-m pip install {paths.ROOT}[mlflow]" in caught.value.remedy.replace("'", "")
    assert not (pretending / "runs").exists()


RECORD = {
    "model": "mnist", "backend": "cpu", "stack": {"name": "tf-2.21"}, "device": None, "zoo_version": "0.1.0",
    "git_commit": None, "versions": {"keras": "3.15.1"}, "metrics": {"test_accuracy": 0.99, "best": True},
    "phases": {"train_s": 1.5}, "config": {"seed": 1, "trainer": {"epochs": 2}, "note": "x" * 900},
    "exit": "completed",
}  # fmt: skip


def run_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(RECORD))
    (folder / "history.csv").write_text("epoch,loss,val_loss\n1,0.5,0.25\n2,0.25,nan\n")
    return folder


def test_settings_and_figures_are_laid_out_for_mlflow(tmp_path: Path) -> None:
    parameters = mlflow_tracking.parameters(RECORD["config"])  # type: ignore[arg-type]
    assert (parameters["seed"], parameters["trainer.epochs"], len(parameters["note"])) == ("1", "2", 500)
    figures = {
        (name, step): value
        for name, value, _, step in mlflow_tracking.figures(run_folder(tmp_path), RunRecord.from_json(RECORD))
    }
    assert figures == {
        ("loss", 1): 0.5, ("val_loss", 1): 0.25, ("loss", 2): 0.25, ("final_test_accuracy", 2): 0.99,
        ("phase_train_s", 2): 1.5,
    }  # fmt: skip


def test_mlflow_itself_keeps_it_all(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mlflow", reason="MLflow is an extra: pip install '.[mlflow]'")
    from mlflow.tracking import MlflowClient

    uri = (tmp_path / "store").as_uri()
    mlflow_tracking.check(uri)
    mlflow_tracking.report_run(uri, run_folder(tmp_path), RunRecord.from_json(RECORD))
    assert "Reported to MLflow" in capfd.readouterr().err
    client = MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("zoo mnist")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.params["trainer.epochs"] == "2"
    assert run.data.metrics["final_test_accuracy"] == 0.99
    assert run.data.tags["stack"] == "tf-2.21"
    assert [each.value for each in client.get_metric_history(run.info.run_id, "loss")] == [0.5, 0.25]
    assert {each.path for each in client.list_artifacts(run.info.run_id)} == {"history.csv", "run.json"}
