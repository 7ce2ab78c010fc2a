"""Report a run to MLflow as it proceeds: settings, metrics by epoch, files, model. Only this module uses MLflow."""

import importlib
import os
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from zoo.config.overrides import leaves
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.protocol.events import EpochEvent, Event
from zoo.runs import event_files, tables
from zoo.runs.records import Json, RunRecord

STATUS = {"completed": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}
# MLflow's limits on the length of a parameter, and on the number of parameters per call.
MOST_LETTERS, MOST_AT_ONCE = 500, 100
# Without these, a server that does not answer stops the display of a run for minutes.
_LIMITS = {"MLFLOW_HTTP_REQUEST_TIMEOUT": "10", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1"}
_MODEL, _RUN_ID = "model.keras", "zoo_run_id"


def open_store(uri: str) -> Any:
    """Return MLflow's client of a store, after checking that the store can be used.

    Args:
        uri: of a store, such as ``sqlite:///mlflow.db``, ``file:mlruns`` or the address of a server.
    """
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # send data only where the user requests it
    if uri.startswith("file:") or ":" not in uri:  # discouraged since MLflow 3.7, but requested
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    for name, value in _LIMITS.items():
        os.environ.setdefault(name, value)
    tracking = paths.optional("mlflow.tracking", "mlflow", f"mlflow={uri} needs MLflow, which is not installed")
    try:
        client = tracking.MlflowClient(tracking_uri=uri)
        client.search_experiments(max_results=1)
    except Exception as error:  # a store may raise any exception
        raise ZooError(
            f"MLflow cannot use mlflow={uri}: {str(error).strip()[:400]}",
            "Give another store, such as mlflow=sqlite:///mlflow.db, or leave mlflow= out.",
        ) from error
    return client


class MlflowRun:
    """A run in MLflow. A resumed run continues its own; what could not be sent during training is sent at the end."""

    def __init__(self, uri: str, folder: Path, record: RunRecord) -> None:
        self._client, self._folder = open_store(uri), folder
        self._entities, self._steps = importlib.import_module("mlflow.entities"), set[int]()
        name, run_id = f"zoo {record.model}", record.get("run_id", folder.name)
        known = self._client.get_experiment_by_name(name)
        experiment = known.experiment_id if known else self._client.create_experiment(name)
        earlier = self._client.search_runs([experiment], f"tags.{_RUN_ID} = '{run_id}'", max_results=1)
        if earlier:
            self._number = str(earlier[0].info.run_id)
            self._client.update_run(self._number, status="RUNNING")
            self._steps = {row.step for row in self._client.get_metric_history(self._number, "epoch_s")}
            return
        begun = int(1000 * datetime.fromisoformat(record.started).timestamp())
        tags = {_RUN_ID: run_id, **tags_of(record)}
        self._number = str(self._client.create_run(experiment, begun, tags, folder.name).info.run_id)
        params = [self._entities.Param(*row) for row in parameters(record.config).items()]
        for begin in range(0, len(params), MOST_AT_ONCE):
            self._client.log_batch(self._number, params=params[begin : begin + MOST_AT_ONCE])

    @property
    def place(self) -> str:
        return f"run {self._number}"

    def watch(self, event: Event) -> None:
        if isinstance(event, EpochEvent):
            self._log(event_files.figures_of(event), event.epoch)
            self._steps.add(event.epoch)

    def finish(self, record: RunRecord) -> None:
        rows = tables.read_history(self._folder)
        for row in rows:
            if (step := int(row["epoch"])) not in self._steps:
                self._log({name: value for name, value in row.items() if name != "epoch"}, step)
        self._log(final_figures(record), max((int(row["epoch"]) for row in rows), default=0))
        for name, value in tags_of(record).items():
            self._client.set_tag(self._number, name, value)
        visible = (path for path in self._folder.iterdir() if path.is_file() and path.name[0] != ".")
        for path in sorted(path for path in visible if path.name != _MODEL):
            self._client.log_artifact(self._number, str(path))
        self._log_model(record)
        self._client.set_terminated(self._number, STATUS.get(record.exit, "FAILED"))

    def _log(self, figures: dict[str, float], step: int) -> None:
        now = int(1000 * time.time())
        rows = event_files.numbers(figures).items()
        metrics = [self._entities.Metric(name, value, now, step) for name, value in rows]
        self._client.log_batch(self._number, metrics=metrics)

    def _log_model(self, record: RunRecord) -> None:
        """Log the model as ``mlflow.keras`` does, which loads it by ``mlflow.keras.load_model("runs:/ID/model")``."""
        path, versions = self._folder / _MODEL, record.get("versions", {})
        if not path.is_file():
            return
        python = versions.get("python", "")
        keras = {"data": "data", "keras_version": versions["keras"], "save_exported_model": False}
        flavor = {"loader_module": "mlflow.keras", "python_version": python, "env": {"virtualenv": "python_env.yaml"}}
        about = {"run_id": self._number, "artifact_path": "model",
                 "flavors": {"keras": keras, "python_function": flavor}}  # fmt: skip
        needed = ["mlflow", *(f"{name}=={number}" for name, number in versions.items() if name != "python")]
        environment = {"python": python, "dependencies": ["-r requirements.txt"]}
        with tempfile.TemporaryDirectory() as scratch:
            data = Path(scratch) / "data"
            data.mkdir()
            (data / _MODEL).symlink_to(path.absolute())
            (data / "keras_module.txt").write_text("keras", encoding="utf-8")
            (data.parent / "requirements.txt").write_text("\n".join(needed), encoding="utf-8")
            (data.parent / "python_env.yaml").write_text(yaml.safe_dump(environment), encoding="utf-8")
            (data.parent / "MLmodel").write_text(yaml.safe_dump(about), encoding="utf-8")
            self._client.log_artifacts(self._number, scratch, "model")


def tags_of(record: RunRecord) -> dict[str, str]:
    device = record.get("device") or {}
    values = {"backend": record.backend, "stack": record.stack["name"], "device": device.get("name"),
             "zoo_version": record.zoo_version, "git_commit": record.git_commit}  # fmt: skip
    values |= {f"version {name}": number for name, number in record.get("versions", {}).items()}
    return {name: str(value)[:MOST_LETTERS] for name, value in values.items() if value}


def parameters(config: Json) -> dict[str, str]:
    """Return settings as dotted keys and texts, truncated to MLflow's limit."""
    return {key: str(value)[:MOST_LETTERS] for key, value in leaves(config)}


def final_figures(record: RunRecord) -> dict[str, float]:
    """Return the final metrics, and the seconds of each phase."""
    final = {f"final_{name}": value for name, value in (record.get("metrics") or {}).items()}
    final |= {f"phase_{name}": value for name, value in record.get("phases", {}).items()}
    return event_files.numbers(final)
