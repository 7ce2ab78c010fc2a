"""What a task declares of itself: a ``Task`` with one ``Command`` for each verb. Types only."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from zoo.config.overrides import Overrides
from zoo.config.schemas.common import Arguments, Settings
from zoo.environments.machine import Machine

S = TypeVar("S", bound=Settings, covariant=True)
Table = tuple[str, list[str], list[list[str]]]


@dataclass(frozen=True)
class Command(Generic[S]):
    """One verb of one task.

    Attributes:
        verb: ``train``, ``infer``, ``evaluate``, ``export`` or ``bench``.
        task: name of the task, as the files of its models give it.
        file: the file under ``configs/`` to start from, without its suffix.
        schema: the settings.
        run: does the work and returns a run.
        add_defaults: adds overrides that the user left out, for a machine: a faster stack, those of a trained run.
        figures: figures of a step or an epoch, in the order in which they are shown.
        columns: figures that are written to ``history.csv`` besides.
        summary: lines that a finished run prints.
        tables: tables that a finished run prints: title, headings and rows of each.
    """

    verb: str
    task: str
    file: str
    schema: type[S]
    run: Callable[[Overrides], Any]
    add_defaults: Callable[[Overrides, Machine], Overrides] | None = None
    figures: tuple[str, ...] = ("loss",)
    columns: tuple[str, ...] = ()
    summary: Callable[[Any], list[str]] | None = None
    tables: Callable[[Any], list[Table]] | None = None


@dataclass(frozen=True)
class Task:
    """Something that can be done with models, or a benchmark without one.

    Attributes:
        name: as the files of its models give it, or what ``bench=`` names.
        commands: one for each verb.
        needs_model: False for a benchmark that ``bench=`` names.
        network_arguments: arguments of a model that training takes from the data, chosen for benchmarks of
            networks; None keeps the task's models out of them.
    """

    name: str
    commands: tuple[Command[Any], ...]
    needs_model: bool = True
    network_arguments: Arguments | None = None

    def command(self, verb: str) -> Command[Any] | None:
        """Return the command of a verb, or None."""
        return next((command for command in self.commands if command.verb == verb), None)
