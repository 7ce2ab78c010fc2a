"""What is executed for an element of a sweep, and for what its runs need before they start."""

import os
import sys
from pathlib import Path

from zoo.config.overrides import Overrides
from zoo.core import paths
from zoo.execution.launchers import Command
from zoo.execution.sweeps.record import Element, Sweep
from zoo.protocol.variables import WATCH_HOST
from zoo.runs import lock

# The settings that decide which environment a run needs.
DECIDES = ("backend", "stack", "reference", "backend.python")
PREPARE = "--prepare"


def command(sweep: Sweep, element: Element) -> Command:
    """Return the command of the next attempt of an element."""
    return of_zoo(element.name, [sweep.verb, *settings(sweep, element)], sweep.log(element.name))


def settings(sweep: Sweep, element: Element) -> list[str]:
    """Return the settings of the next attempt: a training goes on in its folder, all else begins in another."""
    name = element.name
    if sweep.verb == "train":
        where = [f"output.name={name}", "resume=auto"]
    else:  # also one that was killed before it had written anything has taken its number
        suffixes = [path.name.removeprefix(f"{name}_") for path in sweep.folder.glob(f"{name}_*")]
        taken = [int(suffix) for suffix in suffixes if suffix.isdecimal()] + [1] * (sweep.folder / name).exists()
        where = [f"output.name={f'{name}_{max(taken) + 1}' if taken else name}"]
    return [*element.words, f"output.root={sweep.folder}", *where]


def is_written(sweep: Sweep, element: Element) -> bool:
    """Whether some process writes into a run folder of an element now, such as one that an earlier sweep left."""
    return any(lock.is_held(folder) for folder in sweep.attempts(element))


def preparations(verb: str, elements: list[Element]) -> list[list[str]]:
    """Return the arguments of the zoo that build the environments of elements, each once."""
    parsed = [Overrides.parse(element.words) for element in reversed(elements)]
    kinds = {tuple(map(each.get, DECIDES)): each.words for each in parsed}
    return [[verb, *given, PREPARE] for given in kinds.values()]


def of_zoo(name: str, arguments: list[str], log: Path) -> Command:
    """Return a command of the zoo that any machine can execute that sees the same folders.

    Args:
        name: short.
        arguments: verb, settings and options.
        log: for its output.
    """
    own = {key: value for key, value in os.environ.items() if key.startswith("ZOO_") and key != WATCH_HOST}
    variables = {**own, "PYTHONPATH": str(paths.PACKAGE.parent), "PYTHONUNBUFFERED": "1"}
    return Command(name, [sys.executable, "-m", "zoo", *arguments], Path.cwd(), log, variables)
