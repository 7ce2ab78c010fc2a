"""Find tasks and their commands: a module below ``zoo/tasks`` that declares a ``TASK`` is a task."""

import functools
import importlib
import re
from pathlib import Path
from typing import Any

from zoo.config import config_files, references
from zoo.config.overrides import Overrides
from zoo.config.tasks import Command, Task
from zoo.core.errors import ZooError, unknown
from zoo.runs import result

# The benchmark to run without `bench=` and `model=`.
DEFAULT_BENCHMARK = "encode"
_DECLARATION = re.compile(r'^TASK = Task\(\s*"(\w+)"', re.MULTILINE)


@functools.cache
def modules() -> dict[str, str]:
    """Return the module of each task by name. It searches the sources, because importing all modules is slow."""
    folder = Path(__file__).parent
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*/*.py"))}
    declared = {path: _DECLARATION.search(text) for path, text in texts.items()}
    return {match[1]: f"zoo.tasks.{path.parent.name}.{path.stem}" for path, match in declared.items() if match}


def task(name: str) -> Task:
    declared: Task = importlib.import_module(modules()[name]).TASK
    return declared


def tasks() -> dict[str, Task]:
    return {name: task(name) for name in modules()}


def commands() -> list[Command[Any]]:
    return [command for each in tasks().values() for command in each.commands]


def benchmarks() -> list[str]:
    return [name for name, each in tasks().items() if not each.needs_model]


def command(verb: str, name: str) -> Command[Any]:
    declared = task(name)
    command = declared.command(verb)
    if command is None:
        verbs = " and ".join(f"`{each.verb}`" for each in declared.commands)
        raise ZooError(f"Models of task {name!r} do not support `{verb}`", f"They support {verbs}.")
    return command


def command_of(verb: str, overrides: Overrides) -> Command[Any]:
    return command(verb, task_of(verb, overrides))


def task_of(verb: str, overrides: Overrides) -> str:
    """Return the task of the model in the overrides, or of the model that their ``run=`` trained."""
    overrides = references.expand(overrides)
    model, run, bench = map(overrides.get, ("model", "run", "bench"))
    if verb == "bench" and (bench or not model):
        if bench and (bench not in modules() or task(bench).needs_model):
            raise unknown("benchmark", bench, benchmarks())
        return bench or DEFAULT_BENCHMARK
    if verb == "train" or model or not run:
        return config_files.task_of(model)
    return config_files.task_of(result.named(run, overrides.get("output.root")).record.get("model"))
