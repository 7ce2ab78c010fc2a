"""The epochs of a training as a table and as curves, drawn beside what the worker still does after the last one."""

import contextlib
from typing import Any

from zoo.config.schemas.common import Settings
from zoo.runs import plots, tables, worker_process
from zoo.runs.context import RunContext


class History:
    """Follows a training and draws its curves once.

    Args:
        context: the run, whose record tells what the curves are of.
    """

    def __init__(self, context: RunContext[Settings]) -> None:
        self._context = context
        self._told: dict[int, dict[str, Any]] = {}
        self._drawn: list[dict[str, Any]] = []

    def watch(self, event: dict[str, Any]) -> None:
        """Take note of an event of the worker; this draws while it evaluates and saves after the last epoch."""
        if event["event"] == "resume":  # what follows is trained again
            self._told = {epoch: row for epoch, row in self._told.items() if epoch < event["epoch"]}
        elif event["event"] == "epoch":
            self._told[event["epoch"]] = event
            if event["epoch"] == event["epochs"]:
                # What goes wrong here must not end the worker: it goes wrong again in `finish`, where it is told.
                with contextlib.suppress(Exception):
                    self._draw(list(self._told.values()))

    def finish(self, outcome: worker_process.Outcome) -> None:
        """Write and draw what the worker told in the end, where that is not done.

        Raises:
            OSError: they cannot be written.
        """
        if outcome.epochs and outcome.epochs != self._drawn:
            self._draw(outcome.epochs)

    def _draw(self, epochs: list[dict[str, Any]]) -> None:
        folder = self._context.folder
        command = self._context.command
        tables.write_history(folder / "history.csv", epochs, [*command.figures, *command.columns])
        plots.curves(tables.read_history(folder), title(self._context), folder / "curves.png")
        self._drawn = epochs


def title(context: RunContext[Settings]) -> str:
    """What stands above the pictures of a training."""
    record = context.record
    return f"{record.model} on {record.backend} ({record.stack['name']}), {record.data['name']}"
