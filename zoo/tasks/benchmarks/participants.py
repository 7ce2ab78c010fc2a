"""Several stacks in one benchmark: which of them take part, each with a context and a folder of its own."""

import copy
import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar

from zoo.config.schemas.common import Settings
from zoo.core import console
from zoo.core.errors import ZooError
from zoo.environments import selection
from zoo.runs.context import RunContext

T = TypeVar("T", bound=Settings)


class Place(Protocol):
    """One stack on one device, and what went wrong there."""

    error: str | None

    @property
    def context(self) -> RunContext[Settings]:
        """The context of its own."""


def on_processor(context: RunContext[Settings], stack: str) -> selection.Selection:
    """That stack on the processor.

    Raises:
        ZooError: there is no such stack, or not for this machine.
    """
    return selection.select("cpu", context.machine, stack)


def choices(context: RunContext[Settings], beside: Iterable[str]) -> list[selection.Selection]:
    """Every stack that takes part: the one chosen, beside a GPU the same on the processor, and the others."""
    found = [context.choice]
    if context.choice.required_device == "gpu":
        found.append(on_processor(context, context.choice.stack.name))
    return only_once([*found, *(on_processor(context, name) for name in beside)])


def only_once(found: Iterable[selection.Selection]) -> list[selection.Selection]:
    """Each stack and kind of device once, in their order."""
    return list({(choice.stack.name, choice.required_device): choice for choice in found}.values())


def participant_contexts(context: RunContext[T], choices: Iterable[selection.Selection]) -> list[RunContext[T]]:
    """Create a context of its own for each choice."""
    return [participant_context(context, choice, number) for number, choice in enumerate(choices)]


def participant_context(context: RunContext[T], choice: selection.Selection, number: int) -> RunContext[T]:
    """Create the context of one choice, with a folder inside of the run's."""
    folder = context.folder / f"{number + 1}_{choice.stack.name}_{choice.required_device}"
    folder.mkdir()
    own = dataclasses.replace(context, choice=choice, folder=folder, record=copy.deepcopy(context.record))
    platform = choice.stack.platforms.get(context.machine.platform)
    own.record.backend = choice.backend.name
    own.record.stack = {
        "name": choice.stack.name,
        "framework": choice.stack.framework,
        "stand_in_for": platform.stand_in_for if platform else None,
    }
    if number:  # an environment of the user's own is for the stack it was named for
        own.settings = dataclasses.replace(
            context.settings, backend=dataclasses.replace(context.settings.backend, python=None)
        )
    return own


def device(context: RunContext[Settings]) -> dict[str, Any]:
    """Name and kind of the device of a place, for its rows."""
    found = context.record.get("device") or {}
    return {"device": found.get("name"), "device_kind": found.get("kind", context.choice.required_device)}


def keep_error(place: Place, error: ZooError) -> None:
    """What went wrong at a place is told, and kept for its rows; the others go on."""
    place.error = error.message.splitlines()[0]
    console.warn(f"{place.context.choice.stack.name}: {error.message}")


def conclude(context: RunContext[Settings], places: Sequence[Place]) -> None:
    """Bring what the places said together in the run's record.

    Raises:
        ZooError: not one of them could time anything.
    """
    context.record.places = [
        {
            "stack": place.context.record.stack,
            "device": place.context.record.get("device"),
            "versions": place.context.record.get("versions"),
            "phases": place.context.record.phases,
            "folder": place.context.folder.name,
            "error": place.error,
        }
        for place in places
    ]
    first = places[0].context.record
    shared = {key: value for key, value in vars(first).items() if key in ("device", "versions", "probes", "phases")}
    context.record.update(shared)
    context.record.stack |= first.stack
    if all(place.error for place in places):
        raise ZooError(
            "Nothing could be timed: " + "; ".join(str(place.error) for place in places),
            f"The logs are in {context.folder}",
        )
