"""Report a run to TensorBoard and MLflow as it proceeds. A failure is only a warning and does not change the run."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from zoo.config.schemas.common import Tracking
from zoo.core import console
from zoo.core.errors import ZooError
from zoo.protocol.events import Event
from zoo.runs import event_files, mlflow_tracking
from zoo.runs.records import RunRecord


class Trackers:
    """Follows a run for the trackers that its settings name; ``text`` is its settings as YAML."""

    def __init__(self, settings: Tracking, folder: Path, record: RunRecord, text: str) -> None:
        self._makers: dict[str, Callable[[], Any]] = {}
        if settings.tensorboard:
            self._makers["TensorBoard"] = functools.partial(event_files.EventFile, folder, text)
        if settings.mlflow:
            run = functools.partial(mlflow_tracking.MlflowRun, settings.mlflow, folder, record)
            self._makers[f"MLflow at {settings.mlflow}"] = run
        self._open: dict[str, Any] = {}
        self._live = {name for name in self._makers if self._is_open(name)}

    def watch(self, event: Event) -> None:
        for name in sorted(self._live):
            if not _succeeds(name, functools.partial(self._open[name].watch, event)):
                self._live.remove(name)

    def finish(self, record: RunRecord) -> None:
        for name in self._makers:
            if self._is_open(name) and _succeeds(name, functools.partial(self._open[name].finish, record)):
                console.say(f"Reported to {name}: {self._open[name].place}")

    def _is_open(self, name: str) -> bool:
        return name in self._open or _succeeds(name, lambda: self._open.update({name: self._makers[name]()}))


def _succeeds(name: str, call: Callable[[], Any]) -> bool:
    try:
        call()
    except Exception as error:  # a store may raise any exception
        reason = error.message if isinstance(error, ZooError) else f"{type(error).__name__}: {error}"
        console.warn(f"The run cannot be reported to {name}: {reason[:400]}")
        return False
    return True
