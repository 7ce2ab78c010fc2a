"""Report a run to MLflow: settings, metrics by epoch, and files. Only this module uses MLflow."""

import math
import os
from pathlib import Path
from typing import Any

from zoo.config.overrides import leaves
from zoo.core import console, paths
from zoo.core.errors import ZooError
from zoo.runs import records, tables
from zoo.runs.records import Json, RunRecord

STATUS = {"completed": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}
# MLflow's limits on the length of a parameter, and on the number of parameters per call.
MOST_LETTERS, MOST_AT_ONCE = 500, 100


def check(uri: str) -> None:
    """Check before a run that the store at ``uri`` can be used.

    Stores are, for example, ``file:mlruns``, ``sqlite:///mlflow.db`` or the address of a server.
    """
    client = _client(uri)
    try:
        client.search_experiments(max_results=1)
    except Exception as error:  # a store may raise any exception
        raise _unusable(uri, error) from error


def _unusable(uri: str, error: Exception) -> ZooError:
    return ZooError(
        f"MLflow cannot use mlflow={uri}: {str(error).strip()[:400]}",
        "Give another store, such as mlflow=sqlite:///mlflow.db, or remove mlflow=.",
    )


def _client(uri: str) -> Any:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # send data only where the user requests it
    if uri.startswith("file:") or ":" not in uri:  # discouraged since MLflow 3.7, but requested
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    try:
        from mlflow.tracking import MlflowClient
    except ImportError as error:
        raise ZooError(
            f"mlflow={uri} needs MLflow, which is not installed: {error}", paths.install_command("mlflow")
        ) from error
    try:
        return MlflowClient(tracking_uri=uri)
    except Exception as error:
        raise _unusable(uri, error) from error


def report_run(uri: str, folder: Path, record: RunRecord) -> None:
    """Report an ended run; a failure causes a warning and does not change the run."""
    try:
        number = _log(_client(uri), folder, record)
    except Exception as error:
        reason = error.message if isinstance(error, ZooError) else f"{type(error).__name__}: {error}"
        console.warn(f"The run was not reported to MLflow: {reason[:400]}")
        return
    console.say(f"Reported to MLflow at {uri}: run {number}")


def _log(client: Any, folder: Path, record: RunRecord) -> str:
    from mlflow import entities

    name = f"zoo {record.model}"
    known = client.get_experiment_by_name(name)
    experiment = known.experiment_id if known else client.create_experiment(name)
    number = str(client.create_run(experiment, tags=tags(record), run_name=folder.name).info.run_id)
    params = [entities.Param(key, value) for key, value in parameters(record.config).items()]
    metrics = [entities.Metric(key, value, at, step) for key, value, at, step in figures(folder, record)]
    for begin in range(0, len(params), MOST_AT_ONCE):
        client.log_batch(number, params=params[begin : begin + MOST_AT_ONCE])
    for begin in range(0, len(metrics), MOST_AT_ONCE):
        client.log_batch(number, metrics=metrics[begin : begin + MOST_AT_ONCE])
    for path in sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")):
        client.log_artifact(number, str(path))
    client.set_terminated(number, STATUS.get(record.exit, "FAILED"))
    return number


def tags(record: RunRecord) -> dict[str, str]:
    device = record.get("device") or {}
    values = {"backend": record.backend, "stack": record.stack["name"], "device": device.get("name"),
             "zoo_version": record.zoo_version, "git_commit": record.git_commit}  # fmt: skip
    values |= {f"version {name}": number for name, number in record.get("versions", {}).items()}
    return {name: str(value)[:MOST_LETTERS] for name, value in values.items() if value}


def parameters(config: Json) -> dict[str, str]:
    """Return settings as dotted keys and texts, truncated to MLflow's limit."""
    return {key: str(value)[:MOST_LETTERS] for key, value in leaves(config)}


def figures(folder: Path, record: RunRecord) -> list[tuple[str, float, int, int]]:
    """Return name, value, milliseconds since 1970 and step of all metrics by epoch, and of the final metrics."""
    finished = int(1000 * (folder / records.RECORD).stat().st_mtime)
    points = [(name, value, finished, int(row["epoch"])) for row in tables.read_history(folder)
             for name, value in row.items() if name != "epoch"]  # fmt: skip
    last = int(points[-1][3]) if points else 0
    final = {f"final_{name}": value for name, value in (record.get("metrics") or {}).items()}
    final |= {f"phase_{name}": value for name, value in record.get("phases", {}).items()}
    points += [(name, float(value), finished, last) for name, value in final.items() if _is_number(value)]
    return [each for each in points if math.isfinite(each[1])]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
