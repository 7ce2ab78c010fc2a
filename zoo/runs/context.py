"""The state of one run: its settings, machine, backend and stack, its folder and its record."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from zoo.config import compose, references
from zoo.config.overrides import value_of
from zoo.config.schemas.common import Settings
from zoo.config.tasks import Command
from zoo.core import console
from zoo.core.errors import ZooError
from zoo.core.paths import user_path
from zoo.environments import machine, selection
from zoo.runs import folder as run_folder
from zoo.runs import mlflow_tracking, resume
from zoo.runs.records import RunRecord
from zoo.runs.result import Run

# Covariant, so that what reads a context takes that of any task as RunContext[Settings].
S = TypeVar("S", bound=Settings, covariant=True)


@dataclass
class RunContext(Generic[S]):
    """State that the steps of one run share.

    Attributes:
        command: the command that runs.
        settings: the composed settings of the task.
        settings_text: the same as YAML.
        overrides: from the command line, expanded, with the name of the backend.
        choice: backend and stack.
        machine: this machine.
        reference: the published run to repeat, if one was named.
        folder: the run folder, once the run has started.
        record: what ``run.json`` holds so far.
        resumes: the folder of the run to resume.
        previous: the record of that run.
        lock: open file of the lock of the run folder.
    """

    command: Command[S]
    settings: S
    settings_text: str
    overrides: list[str]
    choice: selection.Selection
    machine: machine.Machine
    reference: references.Reference | None = None
    folder: Path = Path()
    record: RunRecord = field(default_factory=RunRecord)
    resumes: Path | None = None
    previous: RunRecord = field(default_factory=RunRecord)
    lock: int | None = None

    @property
    def verb(self) -> str:
        """Return ``train``, ``infer`` or ``bench``."""
        return self.command.verb

    @property
    def result(self) -> Run:
        """Return the run as its folder holds it."""
        return Run(self.folder, self.record.to_json())


def create_context(command: Command[S], overrides: list[str]) -> RunContext[S]:
    """Compose the settings of a command and select backend and stack; nothing is built yet.

    Args:
        command: declared by the task.
        overrides: as on the command line.
    """
    here = machine.probe()
    resumes = resume.folder_of(overrides) if resume.requested(overrides) else None
    overrides = [text for text in overrides if text.partition("=")[0] != resume.KEY]
    reference = references.chosen(overrides)
    for remark in references.remarks(reference, here) if reference else []:
        console.say(remark)
    overrides, settings, text, choice = resolve(command, overrides, here, reference)
    if settings.tracking.mlflow:
        mlflow_tracking.check(settings.tracking.mlflow)
    if resumes is None:
        run_folder.check_root(user_path(settings.output.root))
    _announce(choice)
    return RunContext(command, settings, text, overrides, choice, here, reference, resumes=resumes)


def create_training_context(command: Command[S], overrides: list[str]) -> RunContext[S]:
    """As :func:`create_context`, for a command that trains."""
    context = create_context(command, overrides)
    backend, stack = context.choice.backend, context.choice.stack
    if not (backend.trains and stack.trains):
        name = f"Stack {stack.name}" if backend.trains else f"Backend {backend.name}"
        raise ZooError(f"{name} cannot train: {stack.about}", "`python -m zoo doctor` tells what can.")
    return context


def refuse_without_keras(context: RunContext[Settings]) -> None:
    """Stop where the stack has no Keras."""
    stack = context.choice.stack
    if stack.keras == "none":
        raise ZooError(f"Stack {stack.name} has no Keras", "Choose another: `python -m zoo list stacks`.")


def resolve(
    command: Command[S],
    overrides: list[str],
    here: machine.Machine,
    reference: references.Reference | None = None,
) -> tuple[list[str], S, str, selection.Selection]:
    """Resolve overrides, settings, their YAML text, backend and stack for a machine."""
    if command.add_defaults:
        overrides = command.add_defaults(overrides, here)
    overrides, choice = _name_backend(references.expand(overrides, reference), here)
    settings, text = compose.compose_with_text(command, overrides)
    if choice is None:
        choice = selection.select(settings.backend.name, here, settings.stack, settings.backend.python)
    return overrides, settings, text, choice


def recompose(context: RunContext[Any], overrides: list[str]) -> None:
    """Compose the settings of a context again, with other overrides for its command."""
    context.settings, context.settings_text = compose.compose_with_text(context.command, overrides)
    context.overrides = overrides


def _announce(choice: selection.Selection) -> None:
    console.say(f"Backend {choice.backend.name}, stack {choice.stack.name}")
    for reason in choice.reasons:
        console.say(f"  {reason}")


def _name_backend(overrides: list[str], here: machine.Machine) -> tuple[list[str], selection.Selection | None]:
    """Name the selected backend where the overrides have none or ``auto``: Hydra needs it to find the recipe."""
    if value_of("backend", overrides) not in (None, "auto"):
        return overrides, None
    stack, python = (value_of(key, overrides) for key in ("stack", "backend.python"))
    choice = selection.select(None, here, stack, python)
    rest = [text for text in overrides if not text.startswith("backend=")]
    return [*rest, f"backend={choice.backend.name}"], choice


def composed_text(command: Command[Any], overrides: list[str]) -> str:
    """Return the settings that a command would run with, as YAML."""
    return compose.composed_text(command, _name_backend(references.expand(overrides), machine.probe())[0])
