"""The commands for an element of a sweep, and for the environments that its runs need."""

import os
import sys
from pathlib import Path

from zoo.config.overrides import Overrides
from zoo.core import paths
from zoo.execution.launchers import Command
from zoo.execution.sweeps.record import Element, Sweep
from zoo.protocol.variables import WATCH_HOST

# Settings that determine the environment of a run.
DECIDES = ("backend", "stack", "reference", "backend.python")


def command(sweep: Sweep, element: Element) -> Command:
    return of_zoo(element.name, [sweep.verb, *settings(sweep, element)], sweep.log(element.name))


def settings(sweep: Sweep, element: Element) -> list[str]:
    """Return the settings of the next attempt: training resumes in its folder, other runs start in a new one."""
    name = element.name
    if sweep.verb == "train":
        where = [f"output.name={name}", "resume=auto"]
    else:  # includes killed runs that have not written anything
        suffixes = [path.name.removeprefix(f"{name}_") for path in sweep.folder.glob(f"{name}_*")]
        taken = [int(suffix) for suffix in suffixes if suffix.isdecimal()] + [1] * (sweep.folder / name).exists()
        where = [f"output.name={f'{name}_{max(taken) + 1}' if taken else name}"]
    return [*element.words, f"output.root={sweep.folder}", *where]


def preparations(verb: str, elements: list[Element]) -> list[list[str]]:
    """Return the arguments of the zoo that build each environment of the elements once."""
    parsed = [Overrides.parse(element.words) for element in reversed(elements)]
    kinds = {tuple(map(each.get, DECIDES)): each.words for each in parsed}
    return [[verb, *given, "--prepare"] for given in kinds.values()]


def of_zoo(name: str, arguments: list[str], log: Path) -> Command:
    """Return a command of the zoo for any machine that shares this machine's folders."""
    own = {key: value for key, value in os.environ.items() if key.startswith("ZOO_") and key != WATCH_HOST}
    variables = {**own, "PYTHONPATH": str(paths.PACKAGE.parent), "PYTHONUNBUFFERED": "1"}
    return Command(name, [sys.executable, "-m", "zoo", *arguments], Path.cwd(), log, variables)
