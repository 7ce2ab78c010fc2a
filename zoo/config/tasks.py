"""The types that describe a task: a ``Task`` with one ``Command`` per verb."""

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
        task: name of the task in the files of models.
        file: the file under ``configs/`` to compose, without suffix.
        run: does the work and returns a run.
        add_defaults: adds overrides that the user did not give: a faster stack for a machine, those of a trained run.
        figures: metrics of a step or an epoch, in display order.
        columns: additional metrics in ``history.csv``.
        summary: returns lines to print for a finished run.
        tables: returns tables to print for a finished run: title, headings and rows of each.
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
    """A task that models solve, or a benchmark.

    Attributes:
        name: name in the files of models, or value of ``bench=``.
        needs_model: False for a benchmark that ``bench=`` names.
        network_arguments: the model arguments that training takes from the data, for benchmarks of networks; None
            excludes the task's models from them.
    """

    name: str
    commands: tuple[Command[Any], ...]
    needs_model: bool = True
    network_arguments: Arguments | None = None

    def command(self, verb: str) -> Command[Any] | None:
        return next((command for command in self.commands if command.verb == verb), None)
