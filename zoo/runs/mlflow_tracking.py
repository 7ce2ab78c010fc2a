"""Telling MLflow of a run: settings, figures by epoch and the files of the folder. The one door to MLflow."""

import math
import os
from pathlib import Path
from typing import Any

from zoo.core import console
from zoo.core.errors import ZooError
from zoo.runs import records, tables

INSTALL = "pip install 'keras-gpu-zoo[mlflow]', or leave mlflow= out."
STATUS = {"completed": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}
# What MLflow takes of a parameter, and of parameters at once.
MOST_LETTERS, MOST_AT_ONCE = 500, 100


def check(uri: str) -> None:
    """Make sure that a run can be told there, before it is begun.

    Args:
        uri: of a store, such as ``file:mlruns``, ``sqlite:///mlflow.db`` or the address of a server.

    Raises:
        ZooError: MLflow is not installed, or cannot use that store.
    """
    client = _client(uri)
    try:
        client.search_experiments(max_results=1)
    except Exception as error:  # a store is somebody else's program: whatever it says is told
        raise _unusable(uri, error) from error


def _unusable(uri: str, error: Exception) -> ZooError:
    return ZooError(
        f"MLflow cannot use mlflow={uri}: {str(error).strip()[:400]}",
        "Give another store, such as mlflow=sqlite:///mlflow.db, or leave mlflow= out.",
    )


def _client(uri: str) -> Any:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # nothing is sent anywhere but where the user says
    if uri.startswith("file:") or ":" not in uri:  # asked for, though MLflow 3.7 and newer would rather not
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    try:
        from mlflow.tracking import MlflowClient
    except ImportError as error:
        raise ZooError(f"mlflow={uri} needs MLflow, which is not installed: {error}", INSTALL) from error
    try:
        return MlflowClient(tracking_uri=uri)
    except Exception as error:
        raise _unusable(uri, error) from error


def tell(uri: str, folder: Path, record: dict[str, Any]) -> None:
    """Tell of a run that has come to its end; where that fails, the run stays as it is and a warning says why.

    Args:
        uri: of the store.
        folder: of the run.
        record: the content of its ``run.json``.
    """
    try:
        number = _told(_client(uri), folder, record)
    except Exception as error:
        told = error.message if isinstance(error, ZooError) else f"{type(error).__name__}: {error}"
        console.warn(f"MLflow was not told of the run: {told[:400]}")
        return
    console.say(f"Told MLflow at {uri}: run {number}")


def _told(client: Any, folder: Path, record: dict[str, Any]) -> str:
    from mlflow import entities

    name = f"zoo {record['model']}"
    known = client.get_experiment_by_name(name)
    experiment = known.experiment_id if known else client.create_experiment(name)
    number = str(client.create_run(experiment, tags=tags(record), run_name=folder.name).info.run_id)
    params = [entities.Param(key, value) for key, value in parameters(record["config"]).items()]
    metrics = [entities.Metric(key, value, at, step) for key, value, at, step in figures(folder, record)]
    for begin in range(0, len(params), MOST_AT_ONCE):
        client.log_batch(number, params=params[begin : begin + MOST_AT_ONCE])
    for begin in range(0, len(metrics), MOST_AT_ONCE):
        client.log_batch(number, metrics=metrics[begin : begin + MOST_AT_ONCE])
    for path in sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")):
        client.log_artifact(number, str(path))
    client.set_terminated(number, STATUS.get(record["exit"], "FAILED"))
    return number


def tags(record: dict[str, Any]) -> dict[str, str]:
    """Where and with what it ran."""
    device = record.get("device") or {}
    found = {"backend": record["backend"], "stack": record["stack"]["name"], "device": device.get("name"),
             "zoo_version": record["zoo_version"], "git_commit": record["git_commit"]}  # fmt: skip
    found |= {f"version {name}": number for name, number in record.get("versions", {}).items()}
    return {name: str(value)[:MOST_LETTERS] for name, value in found.items() if value}


def parameters(config: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Settings as dotted keys and texts; what is long is cut."""
    found: dict[str, str] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            found |= parameters(value, f"{prefix}{key}.")
        else:
            found[prefix + str(key)] = str(value)[:MOST_LETTERS]
    return found


def figures(folder: Path, record: dict[str, Any]) -> list[tuple[str, float, int, int]]:
    """(name, value, milliseconds since 1970, step): those of every epoch, and the final ones."""
    finished = int(1000 * (folder / records.RECORD).stat().st_mtime)
    found = [(name, value, finished, int(row["epoch"])) for row in tables.read_history(folder)
             for name, value in row.items() if name != "epoch"]  # fmt: skip
    last = int(found[-1][3]) if found else 0
    final = {f"final_{name}": value for name, value in (record.get("metrics") or {}).items()}
    final |= {f"phase_{name}": value for name, value in record.get("phases", {}).items()}
    found += [(name, float(value), finished, last) for name, value in final.items() if _is_number(value)]
    return [each for each in found if math.isfinite(each[1])]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
