"""The stacks of a benchmark, each with its own context and folder."""

import contextlib
import copy
import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from zoo.config.schemas.common import Settings
from zoo.core import console
from zoo.core.errors import ZooError
from zoo.environments import selection
from zoo.runs.context import RunContext
from zoo.runs.records import Json
from zoo.tasks.benchmarks import results

T = TypeVar("T", bound=Settings)


@dataclasses.dataclass
class Participant:
    """A stack on a device.

    Attributes:
        context: context of this stack, with a folder inside the run folder.
        error: first line of the error that stopped its timing, or None.
    """

    context: RunContext[Settings]
    error: str | None = None

    @contextlib.contextmanager
    def errors_recorded(self) -> Iterator[None]:
        """Report an error and store it for the rows; the other participants continue."""
        try:
            yield
        except ZooError as error:
            self.error = error.message.splitlines()[0]
            console.warn(f"{self.context.choice.stack.name}: {error.message}")

    @property
    def known(self) -> Json:
        """Return the fields that all rows of this participant share."""
        device = self.context.record.get("device") or {}
        kind = device.get("device_kind", self.context.choice.device_kind)
        return results.known(self.context) | {"device": device.get("name"), "device_kind": kind}


def choices(context: RunContext[Settings], others: Iterable[str]) -> list[selection.Selection]:
    """Return the stacks to time: the selected one (with a GPU, also on the CPU) and ``others`` on the CPU."""
    selections = [context.choice]
    own = [context.choice.stack.name] if context.choice.device_kind == "gpu" else []
    selections += (selection.select("cpu", context.machine, name) for name in [*own, *others])
    return list({(choice.stack.name, choice.device_kind): choice for choice in selections}.values())


def participant_contexts(context: RunContext[T], choices: Iterable[selection.Selection]) -> list[RunContext[T]]:
    """Return a context for each stack, with its own folder."""
    contexts: list[RunContext[T]] = []
    for choice in choices:
        folder = context.folder / f"{len(contexts) + 1}_{choice.stack.name}_{choice.device_kind}"
        folder.mkdir()
        own = dataclasses.replace(context, choice=choice, folder=folder, record=copy.deepcopy(context.record))
        platform = choice.stack.platforms.get(context.machine.platform)
        own.record.backend = choice.backend.name
        own.record.stack = {
            "name": choice.stack.name,
            "framework": choice.stack.framework,
            "stand_in_for": platform.stand_in_for if platform else None,
        }
        if contexts:  # the user's own environment applies only to the selected stack
            own.overlay("machine", {"backend.python": None})
        contexts.append(own)
    return contexts


def summarize(context: RunContext[Settings], participants: Sequence[Participant], whole: bool) -> None:
    """Combine the records of all participants in the record of the run; ``whole`` is False after Ctrl-C."""
    context.record.places = [
        {
            **{key: each.context.record.get(key) for key in ("stack", "device", "versions", "phases")},
            "folder": each.context.folder.name,
            "error": each.error,
        }
        for each in participants
    ]
    first = participants[0].context.record
    shared = {key: value for key, value in vars(first).items() if key in ("device", "versions", "probes", "phases")}
    context.record.update(shared)
    context.record.stack |= first.stack
    if all(each.error for each in participants):
        raise ZooError(
            "Nothing could be timed: " + "; ".join(str(each.error) for each in participants),
            f"The logs are in {context.folder}",
        )
    context.record.exit = "completed" if whole else "interrupted"
