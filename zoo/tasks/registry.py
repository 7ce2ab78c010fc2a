"""Every verb that makes a run folder: finds the module for the model's task and lets it work."""

import importlib
from typing import Any

from zoo.config import compose, config_files, references
from zoo.config.overrides import value_of
from zoo.config.tasks import Command
from zoo.core.errors import unknown
from zoo.runs import context, result, resume
from zoo.runs.result import Run


def train(overrides: list[str]) -> Run:
    """Train as told.

    Args:
        overrides: as on the command line, ``group=option`` and ``key=value``; ``resume=RUN`` goes on with a run.

    Raises:
        ZooError: anything that stops the run, with what to do about it; the run folder then holds its record.
    """
    return act("train", overrides)


def infer(overrides: list[str]) -> Run:
    """Use a trained run, or published weights.

    Raises:
        ZooError: anything that stops the run, with what to do about it.
    """
    return act("infer", overrides)


def bench(overrides: list[str]) -> Run:
    """Time as told.

    Raises:
        ZooError: anything that stops all of it; what one stack cannot do is a row of the results.
    """
    return act("bench", overrides)


def act(verb: str, overrides: list[str]) -> Run:
    """Do a verb with the module of the model's task: its function of the verb's name.

    Raises:
        ZooError: the task has no such verb, and whatever the module raises.
    """
    if verb == "train" and resume.requested(overrides):
        overrides = resume.expand(overrides)
    run: Run = command_of(verb, overrides).run(overrides)
    return run


def command_of(verb: str, overrides: list[str]) -> Command[Any]:
    """Return the command that does a verb for the task of the overrides.

    Raises:
        ZooError: the task has no such verb.
    """
    form = compose.form(verb, task_of(verb, overrides))
    command: Command[Any] = getattr(importlib.import_module(form.module), verb.upper())
    return command


def task_of(verb: str, overrides: list[str]) -> str:
    """The task of the model that overrides name, or of the model that their ``run=`` trained.

    Raises:
        ZooError: there is no such run.
    """
    overrides = references.expand(overrides)
    kind = value_of("bench", overrides) if verb == "bench" else None
    if kind:
        return _benchmark(kind)
    if verb == "bench" and not value_of("model", overrides):
        return "encode"
    told = value_of("run", overrides)
    if verb == "train" or value_of("model", overrides) or not told:
        return config_files.task_of(value_of("model", overrides))
    return config_files.task_of(result.named(told, value_of("output.root", overrides)).record.get("model"))


def _benchmark(kind: str) -> str:
    if kind not in compose.BENCHES:
        raise unknown("benchmark", kind, list(compose.BENCHES))
    return kind


def composed_text(verb: str, overrides: list[str]) -> str:
    """The settings that a verb would run with, as YAML."""
    return context.composed_text(command_of(verb, overrides), overrides)
