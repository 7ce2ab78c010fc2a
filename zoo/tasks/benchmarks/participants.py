"""Several stacks in one benchmark: which of them take part, each on a line and in a folder of its own."""

import copy
import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from zoo.core import console
from zoo.core.errors import ZooError
from zoo.environments import selection
from zoo.runs.context import Line


class Place(Protocol):
    """One stack on one device, and what went wrong there."""

    line: Line
    error: str | None


def on_processor(line: Line, stack: str) -> selection.Choice:
    """That stack on the processor.

    Raises:
        ZooError: there is no such stack, or not for this machine.
    """
    return selection.choose("cpu", line.machine, stack)


def choices(line: Line, beside: Iterable[str]) -> list[selection.Choice]:
    """Every stack that takes part: the one chosen, beside a GPU the same on the processor, and the others."""
    found = [line.choice]
    if line.choice.promise == "gpu":
        found.append(on_processor(line, line.choice.stack.name))
    return only_once([*found, *(on_processor(line, name) for name in beside)])


def only_once(found: Iterable[selection.Choice]) -> list[selection.Choice]:
    """Each stack and kind of device once, in their order."""
    return list({(choice.stack.name, choice.promise): choice for choice in found}.values())


def line_of(line: Line, choice: selection.Choice, number: int) -> Line:
    """A line of its own for one choice, in a folder inside of the run's."""
    folder = line.folder / f"{number + 1}_{choice.stack.name}_{choice.promise}"
    folder.mkdir()
    own = dataclasses.replace(line, choice=choice, folder=folder, record=copy.deepcopy(line.record))
    platform = choice.stack.platforms.get(line.machine.platform)
    own.record["backend"] = choice.backend.name
    own.record["stack"] = {
        "name": choice.stack.name,
        "framework": choice.stack.framework,
        "stand_in_for": platform.stand_in_for if platform else None,
    }
    if number:  # an environment of the user's own is for the stack it was named for
        own.settings = dataclasses.replace(
            line.settings, backend=dataclasses.replace(line.settings.backend, python=None)
        )
    return own


def device(line: Line) -> dict[str, Any]:
    """Name and kind of the device of a place, for its rows."""
    found = line.record.get("device") or {}
    return {"device": found.get("name"), "device_kind": found.get("kind", line.choice.promise)}


def keep_error(place: Place, error: ZooError) -> None:
    """What went wrong at a place is told, and kept for its rows; the others go on."""
    place.error = error.message.splitlines()[0]
    console.warn(f"{place.line.choice.stack.name}: {error.message}")


def conclude(line: Line, places: Sequence[Place]) -> None:
    """Bring what the places said together in the run's record.

    Raises:
        ZooError: not one of them could time anything.
    """
    line.record["places"] = [
        {
            "stack": place.line.record["stack"],
            "device": place.line.record.get("device"),
            "versions": place.line.record.get("versions"),
            "phases": place.line.record["phases"],
            "folder": place.line.folder.name,
            "error": place.error,
        }
        for place in places
    ]
    first = places[0].line.record
    line.record |= {key: first[key] for key in ("device", "versions", "probes", "phases") if key in first}
    line.record["stack"] |= first["stack"]
    if all(place.error for place in places):
        raise ZooError(
            "Nothing could be timed: " + "; ".join(str(place.error) for place in places),
            f"The logs are in {line.folder}",
        )
