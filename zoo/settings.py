"""What can be set: typed parts with their ranges, and what training and using a classifier are told.

Other tasks have a module of their own beside this one and share its parts.
"""

from dataclasses import dataclass, field
from typing import Any

from zoo.errors import nearest

OPTIMIZERS = ("adam", "momentum", "rmsprop", "sgd")
SCHEDULES = ("constant", "cosine")


@dataclass
class Trainer:
    """How to train.

    Attributes:
        epochs: passes over the training pictures.
        batch_size: pictures per optimizer step.
        optimizer: adam, momentum (SGD with Nesterov momentum 0.9), rmsprop or sgd.
        learning_rate: the highest learning rate.
        schedule: constant, or cosine: falls to a hundredth along half a cosine.
        warmup: share of all steps that climb to the learning rate.
        jit: compile with XLA where Keras 3 can. Slower for small networks on a CPU, impossible on Metal.
    """

    epochs: int = 12
    batch_size: int = 128
    optimizer: str = "adam"
    learning_rate: float = 0.001
    schedule: str = "constant"
    warmup: float = 0.0
    jit: bool = False


@dataclass
class BackendSettings:
    """What can be set of a backend; the rest of its row is not for the user to change.

    Attributes:
        python: interpreter of an environment of your own, used instead of the zoo's.
        device: name of one device, where the backend has several.
        probes: compare small operations with numpy before the first step; false skips that.
    """

    name: str = "cpu"
    python: str | None = None
    device: str | None = None
    probes: bool = True


@dataclass
class DataSettings:
    """What can be set of a data set; the rest of its row is not for the user to change.

    Attributes:
        root: folder that holds the files; null means the zoo's cache, filled by download.
        train_limit: use only so many training pictures.
        test_limit: use only so many test pictures.
        validation: share of the training pictures set aside to choose the best epoch.
    """

    name: str = "auto"
    root: str | None = None
    train_limit: int | None = None
    test_limit: int | None = None
    validation: float = 0.1


@dataclass
class Output:
    """Where the run folder goes.

    Attributes:
        root: folder of all run folders.
        name: name of this run's folder; null means date, time, model and backend.
    """

    root: str = "runs"
    name: str | None = None


@dataclass
class Settings:
    """What every task and verb is told."""

    backend: BackendSettings = field(default_factory=BackendSettings)
    output: Output = field(default_factory=Output)
    stack: str | None = None

    def problems(self) -> list[str]:
        """Everything missing or out of range, one sentence each."""
        raise NotImplementedError


@dataclass
class TrainConfig(Settings):
    """Everything ``train`` is told.

    Attributes:
        stack: name of the stack to use; null means the backend's best for this machine.
        seed: of the split, the first weights, the order of the pictures and the framework.
        expect: the result that the recipe promises, by data set.
    """

    model: dict[str, Any] = field(default_factory=dict)
    data: DataSettings = field(default_factory=DataSettings)
    trainer: Trainer = field(default_factory=Trainer)
    preset: str = "full"
    seed: int = 1
    expect: dict[str, Any] = field(default_factory=dict)

    def problems(self) -> list[str]:
        """Everything out of range, one sentence each."""
        trainer, data = self.trainer, self.data
        found = [
            within("trainer.epochs", trainer.epochs, 1, 100_000),
            within("trainer.batch_size", trainer.batch_size, 1, 65_536),
            within("trainer.learning_rate", trainer.learning_rate, 1e-9, 10.0),
            within("trainer.warmup", trainer.warmup, 0.0, 0.9),
            one_of("trainer.optimizer", trainer.optimizer, OPTIMIZERS),
            one_of("trainer.schedule", trainer.schedule, SCHEDULES),
            within("data.validation", data.validation, 0.0, 0.9),
            within("seed", self.seed, 0, 2**31 - 1),
        ]
        for key in ("train_limit", "test_limit"):
            limit = getattr(data, key)
            found.append(None if limit is None else within(f"data.{key}", limit, 1, 10**9))
        found += [model_argument(key, value) for key, value in self.model.items()]
        return [problem for problem in found if problem]


@dataclass
class InferConfig(Settings):
    """Everything ``infer`` is told.

    Attributes:
        run: folder of a training run, or ``last``: the newest one under output.root.
        input: picture, folder of pictures, .npy array, or ``test``: the test set that the run was made with.
        stack: name of the stack to use; null means the run's own where the backend has it.
        batch_size: pictures at a time.
    """

    run: str | None = None
    input: str | None = None
    batch_size: int = 128

    def problems(self) -> list[str]:
        """Everything missing or out of range, one sentence each."""
        found = [within("batch_size", self.batch_size, 1, 65_536)]
        found.append(None if self.run else "run is missing: give run=RUN_FOLDER, or run=last")
        found.append(
            None if self.input else "input is missing: give input=PICTURE, a folder, a .npy array, or input=test"
        )
        return [problem for problem in found if problem]


# Builders take keywords of these names; the same name has the same range in every model.
_MODEL_RANGES: dict[str, tuple[float, float]] = {
    "dropout": (0.0, 0.99),
    "l2": (0.0, 1.0),
    "units": (1, 65_536),
    "alpha": (0.05, 4.0),
    "depth_multiplier": (1, 8),
    "input_size": (32, 1024),
}


def within(key: str, value: float, low: float, high: float) -> str | None:
    """What is wrong with a number, or None."""
    if low <= value <= high:
        return None
    return f"{key} must be from {low:g} to {high:g}, got {value!r}"


def one_of(key: str, value: str, valid: tuple[str, ...]) -> str | None:
    """What is wrong with a word, or None."""
    if value in valid:
        return None
    return f"{key} must be one of {', '.join(valid)}, got {value!r}{nearest(value, list(valid))}"


def model_argument(key: str, value: Any) -> str | None:
    """What is wrong with an argument of a builder, or None."""
    if key not in _MODEL_RANGES or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return within(f"model.{key}", value, *_MODEL_RANGES[key])
