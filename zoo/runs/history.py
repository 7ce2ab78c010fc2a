"""Write the epochs of a training run as a table and as curves, while the worker still evaluates and saves."""

import contextlib

from zoo.config.schemas.common import Settings
from zoo.protocol.events import EpochEvent, Event
from zoo.runs import event_log, plots, tables
from zoo.runs.context import RunContext


class History:
    """The epochs of a training run, for its table and curves."""

    def __init__(self, context: RunContext[Settings]) -> None:
        self._context = context
        self._epochs: dict[int, EpochEvent] = {}
        self._drawn: list[EpochEvent] = []

    def watch(self, event: Event) -> None:
        """Record an event; after the last epoch, draw while the worker evaluates and saves."""
        event_log.enter(self._epochs, event)
        if isinstance(event, EpochEvent) and event.epoch == event.epochs:
            # An error must not end the worker; `finish` tries again and raises it.
            with contextlib.suppress(Exception):
                self._draw(list(self._epochs.values()))

    def finish(self, epochs: list[EpochEvent]) -> None:
        """Write and draw the epochs of a training run, if not done yet; raise OSError on failure."""
        if epochs and epochs != self._drawn:
            self._draw(epochs)

    def _draw(self, epochs: list[EpochEvent]) -> None:
        folder = self._context.folder
        command = self._context.command
        tables.write_history(folder / "history.csv", epochs, [*command.figures, *command.columns])
        plots.curves(tables.read_history(folder), title(self._context), folder / "curves.png")
        self._drawn = epochs


def title(context: RunContext[Settings]) -> str:
    record = context.record
    return f"{record.model} on {record.backend} ({record.stack['name']}), {record.data['name']}"
