"""The state of one run: its settings, machine, backend and stack, its folder and its record."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from zoo.config import compose, references
from zoo.config.overrides import USER, Overrides
from zoo.config.schemas.common import Settings
from zoo.config.tasks import Command
from zoo.core import console
from zoo.core.errors import ZooError, listed
from zoo.core.paths import user_path
from zoo.environments import machine, selection
from zoo.runs import folder as run_folder
from zoo.runs import mlflow_tracking, resume
from zoo.runs.records import RunRecord
from zoo.runs.result import Run
from zoo.runs.tracking import Trackers

# Covariant, so that functions for all tasks can take RunContext[Settings].
S = TypeVar("S", bound=Settings, covariant=True)


@dataclass
class RunContext(Generic[S]):
    """State that the steps of one run share.

    Attributes:
        composed: the settings of the task, with their origins.
        choice: backend and stack.
        reference: the reference in ``reference=``, if any.
        folder: the run folder, once the run has started.
        record: the content of ``run.json`` so far.
        resumes: the folder of the run to resume.
        previous: the record of the run to resume.
        lock: open file of the run folder's lock.
        calibration: the timings before the run, and the selected settings.
        trackers: TensorBoard and MLflow, once the run has started.
        devices: lines about devices that were printed, by the workers of all stacks.
    """

    command: Command[S]
    composed: compose.Composed[S]
    choice: selection.Selection
    machine: machine.Machine
    reference: references.Reference | None = None
    folder: Path = Path()
    record: RunRecord = field(default_factory=RunRecord)
    resumes: Path | None = None
    previous: RunRecord = field(default_factory=RunRecord)
    lock: int | None = None
    calibration: dict[str, Any] | None = None
    trackers: Trackers | None = None
    devices: set[str] = field(default_factory=set)

    @property
    def settings(self) -> S:
        return self.composed.settings

    @property
    def overrides(self) -> Overrides:
        """Return the user's overrides, expanded, with the name of the backend."""
        return self.composed.overrides

    def overlay(self, layer: str, settings: Mapping[str, Any]) -> None:
        """Apply settings on top of the run's settings; see :meth:`zoo.config.compose.Composed.overlay`."""
        self.composed = self.composed.overlay(layer, settings)

    def refuse_needless(self, why: str, *keys: str) -> None:
        """Raise an error if the user set one of these keys, which have no effect for the reason ``why``."""
        given = [key for key in keys if self.composed.set_by.get(key) == USER]
        if given:
            raise ZooError(f"{listed(given)} {'has' if len(given) == 1 else 'have'} no effect {why}",
                           f"Remove {listed([f'{key}=' for key in given])}.")  # fmt: skip

    def refuse_without_validation(self, validated: int, items: str) -> None:
        """Raise an error for settings of the user that need validation items, if there are none."""
        if not validated:
            self.refuse_needless(f"without {items} for validation", "trainer.best_by", "trainer.patience")

    @property
    def verb(self) -> str:
        return self.command.verb

    @property
    def result(self) -> Run:
        return Run(self.folder, self.record.to_json())


def create_context(command: Command[S], overrides: Overrides) -> RunContext[S]:
    """Compose the settings of a command, and select backend and stack, without building an environment."""
    here = machine.probe()
    resumes = resume.folder_of(overrides) if overrides.get(resume.KEY) else None
    reference = references.chosen(overrides)
    for remark in references.remarks(reference, here) if reference else []:
        console.say(remark)
    composed, choice = resolve(command, overrides.without(resume.KEY), here, reference)
    settings = composed.settings
    if settings.backend.device and choice.stack.framework in ("tensorflow", "openvino"):
        raise ZooError(
            f"backend.device={settings.backend.device} has no effect with stack {choice.stack.name}",
            "Remove it. To use one of several NVIDIA GPUs, set the environment variable CUDA_VISIBLE_DEVICES=NUMBER.",
        )
    if settings.tracking.mlflow:
        mlflow_tracking.open_store(settings.tracking.mlflow)
    if resumes is None:
        run_folder.check_root(user_path(settings.output.root))
    console.say(f"Backend {choice.backend.name}, stack {choice.stack.name}")
    for reason in choice.reasons:
        console.say(f"  {reason}")
    if command.verb in ("infer", "evaluate") and choice.stack.keras == "none":
        raise ZooError(f"Stack {choice.stack.name} has no Keras", "Choose another: `python -m zoo list stacks`.")
    return RunContext(command, composed, choice, here, reference, resumes=resumes)


def create_training_context(command: Command[S], overrides: Overrides) -> RunContext[S]:
    context = create_context(command, overrides)
    backend, stack = context.choice.backend, context.choice.stack
    if not (backend.trains and stack.trains):
        name = f"Stack {stack.name}" if backend.trains else f"Backend {backend.name}"
        raise ZooError(f"{name} cannot train: {stack.about}", "`python -m zoo doctor` lists the stacks that can.")
    return context


def resolve(
    command: Command[S], overrides: Overrides, here: machine.Machine, reference: references.Reference | None = None
) -> tuple[compose.Composed[S], selection.Selection]:
    overrides, choice = _complete(command, overrides, here, reference)
    composed = compose.composed(command, overrides)
    if choice is None:
        settings = composed.settings
        choice = selection.select(settings.backend.name, here, settings.stack, settings.backend.python)
    return composed, choice


def composed_text(command: Command[Any], overrides: Overrides) -> str:
    """Return the settings of a command as YAML.

    Commands that predict omit the defaults of ``add_defaults``, which may print messages.
    """
    quiet = command if command.verb == "train" else replace(command, add_defaults=None)
    return compose.composed_text(command, _complete(quiet, overrides, machine.probe())[0])


def _complete(
    command: Command[Any], overrides: Overrides, here: machine.Machine, reference: references.Reference | None = None
) -> tuple[Overrides, selection.Selection | None]:
    """Add the settings of the machine and a reference, and the backend, which determines the recipe."""
    if command.add_defaults:
        overrides = command.add_defaults(overrides, here)
    overrides = references.expand(overrides, reference)
    if overrides.get("backend") not in (None, "auto"):
        return overrides, None
    choice = selection.select(None, here, overrides.get("stack"), overrides.get("backend.python"))
    return overrides.with_("machine", {"backend": choice.backend.name}), choice
