"""Settings that several tasks share."""

import os
import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

from zoo.config import arguments, exporters
from zoo.config import setting as declaration
from zoo.config.schemas.launching import LauncherSettings
from zoo.config.setting import CHANCE, OUTWARD, PLACE, SPEED, setting
from zoo.environments.backends import PRECISIONS as LAYER_PRECISIONS

# Arguments of a model's builder by name.
Arguments = dict[str, Any]

OPTIMIZERS = ("adam", "momentum", "rmsprop", "sgd")
TRAINING_PRECISIONS = ("auto", *LAYER_PRECISIONS)
PRECISIONS = ("float32", "bfloat16", "float16")
FEATURE_NETWORKS = ("auto", "vgg19", "vgg16", "squeezenet", "distilled", "random")
FEATURE_PRECISIONS = ("auto", "float32", "bfloat16")
RESIZES = ("stretch", "crop", "nearest")
MODES = ("inference", "training")
PLACEMENTS = ("auto", "host", "device")
LARGEST_LIMIT = 10**9


@dataclass
class FaultTolerance:
    """How a training run survives faults, and its resource limits; these do not affect the result."""

    checkpoint_minutes: float = setting(
        10.0, "minutes between two checkpoints; training by epochs also saves one after each epoch, unless that "
        "takes more than 2 % of the time", at_least=0, at_most=10_000, affects=SPEED)  # fmt: skip
    keep_checkpoints: int = setting(2, "number of checkpoints to keep", at_least=1, at_most=1000, affects=SPEED)
    disk_reserve_gb: float = setting(
        0.1, "free disk space in GB that checkpoints must leave", at_least=0, at_most=1e6, affects=SPEED
    )
    max_minutes: float | None = setting(
        None, "stop after this time and keep the result so far; resume=RUN continues; null sets no limit",
        at_least=1e-3, at_most=1e6, affects=SPEED)  # fmt: skip
    max_memory_gb: float | None = setting(
        None, "memory limit of the worker in GB, see on_oom; null sets no limit", at_least=1e-3, at_most=1e6,
        affects=SPEED)  # fmt: skip
    on_nan: str = setting(
        "stop", "if the loss is not a number: stop; or rollback: continue from the last checkpoint with half the "
        "learning rate, at most five times", choices=("stop", "rollback"), affects=SPEED)  # fmt: skip
    on_oom: str = setting(
        "stop", "if memory runs out: stop; or halve: continue from the last checkpoint with half the batch size",
        choices=("stop", "halve"), affects=SPEED)  # fmt: skip
    on_hangup: str = setting(
        "stop", "if the terminal is closed: stop; or continue: `python -m zoo attach RUN` shows the progress",
        choices=("stop", "continue"), affects=SPEED)  # fmt: skip
    hang_minutes: float = setting(
        30.0, "end a worker that reports nothing for this long; 0 disables it", at_least=0, at_most=1e6, affects=SPEED
    )
    restarts: int = setting(
        0, "how often a worker that was killed or hung is restarted from its last checkpoint", at_least=0,
        at_most=1000, affects=SPEED)  # fmt: skip


@dataclass
class Trainer(FaultTolerance):
    epochs: int = setting(12, "passes over the training data", at_least=0, at_most=100_000, adjustable=True)
    batch_size: int = setting(
        128, "largest number of items per optimizer step; an epoch uses every item, in batches of equal size",
        at_least=1, at_most=65_536, adjustable=True)  # fmt: skip
    optimizer: str = setting("adam", "optimizer; momentum is SGD with Nesterov momentum 0.9", choices=OPTIMIZERS)
    learning_rate: float = setting(0.001, "highest learning rate", at_least=1e-9, at_most=10)
    schedule: str = setting(
        "constant", "learning rate schedule; cosine falls to 1/100; one_cycle begins at 1/25 and ends at "
        "1/10,000 (not for style networks)", choices=("constant", "cosine", "one_cycle"))  # fmt: skip
    warmup: float = setting(
        0.0, "share of all steps in which the learning rate rises; 0 means 0.3 for one_cycle", at_least=0, at_most=0.9
    )
    label_smoothing: float = setting(
        0.0, "share of each label that is spread over all classes", at_least=0, at_most=0.9
    )
    loss: str = setting(
        "mse", "loss of a number: mse (mean squared error) or mae (mean absolute error; outliers count less)",
        choices=("mse", "mae"), needs="data.target=number and data.name!=text_file")  # fmt: skip
    best_by: str = setting(
        "accuracy", "validation metric that selects the best epoch: accuracy (for labels mean average precision, for "
        "numbers R2) or loss; with equal accuracy, the lower loss wins",
        choices=("accuracy", "loss"))  # fmt: skip
    patience: int | None = setting(
        None, "stop after this many epochs without improvement; null trains all epochs", at_least=1, at_most=100_000
    )
    beta_2: float = setting(
        0.999, "decay of Adam's average of squared gradients", at_least=0.5, at_most=0.99999,
        needs="trainer.optimizer=adam")  # fmt: skip
    ema: float = setting(
        0.0, "decay of a moving average of the weights, such as 0.999; the average is validated and kept; 0 is off",
        at_least=0, at_most=0.99999)  # fmt: skip
    precision: str = setting(
        "float32", "floating-point format of the layers; mixed formats need a stack that supports them. auto is "
        "mixed_bfloat16 if it is known to be faster; float64 is for comparisons on processors with Keras 3",
        choices=TRAINING_PRECISIONS)  # fmt: skip
    calibrate: bool | None = setting(
        None, "before training, time the batch sizes and precisions of the recipe's range, and use the fastest; "
        "null means true on GPUs with preset=full", affects=SPEED)  # fmt: skip
    jit: bool = setting(
        False, "compile with XLA (Keras 3); slower for small networks on a CPU, impossible on Metal", affects=SPEED,
        names_stack=True)  # fmt: skip
    export: list[str] = setting(
        [], "additional formats that the training stack saves; for other runtimes use output.export",
        affects=SPEED, names_stack=True)  # fmt: skip

    def checks(self) -> list[str | None]:
        return exporters.training_problems(self.export)


@dataclass
class BackendSettings:
    """The fields of a backend that users can set."""

    name: str = setting("cpu", affects=SPEED)
    python: str | None = setting(
        None, "interpreter of your own environment, used instead of the zoo's", literal=True, affects=OUTWARD,
        placeholder="PYTHON", names_stack=True)  # fmt: skip
    device: str | None = setting(None, "name of one device, if the backend has several", affects=SPEED)
    probes: bool = setting(True, "compare small operations with numpy before the first step", affects=SPEED)


@dataclass
class Output:
    root: str = setting("runs", "folder of all run folders", literal=True, affects=PLACE)
    name: str | None = setting(
        None, "name of this run's folder; null means date, time, model and backend", literal=True, affects=PLACE
    )

    def checks(self) -> list[str | None]:
        size = len(os.fsencode(self.name or ""))  # a folder name has at most 255 bytes, and may get an ending
        return [f"output.name must have at most 200 bytes, got {size:,}" if size > 200 else None]


@dataclass
class TrainingOutput(Output):
    """The run folder of a training run, and exports of the trained model."""

    export: list[str] = setting(
        [], "formats to export the trained model to, in folder export of the run", affects=SPEED
    )

    def checks(self) -> list[str | None]:
        return [*super().checks(), *exporters.problems("output.export", self.export)]


@dataclass
class Tracking:
    """Where a training run is reported in addition to its run folder."""

    tensorboard: bool = setting(
        False, "write event files for TensorBoard into folder tensorboard of the run", affects=SPEED
    )
    tensorboard_histograms: bool = setting(False, "add histograms of weights", affects=SPEED, needs="tensorboard")
    mlflow: str | None = setting(
        None, "MLflow store to report the run to, such as sqlite:///mlflow.db", literal=True, affects=OUTWARD
    )


@dataclass
class Seeded:
    seed: int = setting(
        1, "random seed of splits, initial weights, order and samples", at_least=0, at_most=2**31 - 1,
        affects=CHANCE)  # fmt: skip


# ``weights`` is a plain value, so it cannot have nested keys.
CHECKSUM = {"weights.checksum": "weights_checksum"}


@dataclass
class Settings:
    """Settings of every task and verb.

    Attributes:
        shorthands: short names of keys, such as ``output`` for ``output.folder``.
        listed: keys of lists that accept comma-separated entries without brackets.
    """

    shorthands: ClassVar[dict[str, str]] = {}
    listed: ClassVar[tuple[str, ...]] = ()

    backend: BackendSettings = field(default_factory=BackendSettings)
    output: Output = field(default_factory=Output)
    stack: str | None = setting(
        None, "name of the stack to use; null means the run's own or the fastest known for this machine",
        affects=SPEED, names_stack=True)  # fmt: skip
    launcher: LauncherSettings = field(default_factory=LauncherSettings)

    def problems(self) -> list[str]:
        """Return everything that is missing, out of range or incompatible, one sentence each."""
        return declaration.problems(self) + arguments.problems(getattr(self, "model", {}))

    @property
    def tracking(self) -> Tracking:
        return self if isinstance(self, Tracking) else Tracking()

    @property
    def fault_tolerance(self) -> FaultTolerance:
        """Return the fault-tolerance settings; only training runs are killed if they hang."""
        trainer = getattr(self, "trainer", None)
        return trainer if isinstance(trainer, FaultTolerance) else FaultTolerance(hang_minutes=0.0)


@dataclass
class TestData:
    """Location of the data, and the number of items to use."""

    root: str | None = setting(
        None, "folder, file or archive of the data; null means the run's own data, or the zoo's cache, which "
        "downloads missing data", literal=True, affects=PLACE, adjustable=True, placeholder="DATA")  # fmt: skip
    test_limit: int | None = setting(
        None, "number of test items to use; null uses all", at_least=1, at_most=LARGEST_LIMIT
    )


@dataclass
class TrainingData(TestData):
    """Location of the training data, and the number of items to use."""

    name: str = setting("")
    train_limit: int | None = setting(
        None, "number of training items to use; null uses all", at_least=1, at_most=LARGEST_LIMIT
    )
    validation: float = setting(
        0.1, "share of the training data set aside to select the best epoch", at_least=0, at_most=0.9
    )
    placement: str = setting(
        "auto", "memory for the training data: device (PyTorch, JAX, MLX; no augmentation) or host. auto is device "
        "on a GPU if the data need at most a quarter of its memory", choices=PLACEMENTS, affects=SPEED)  # fmt: skip


def run_setting() -> Any:
    return setting(None, "folder of a training run, or last: the newest one under output.root", literal=True)


def checksum_setting() -> Any:
    return setting(None, "expected sha256 of the file of weights; short form: weights.checksum=", literal=True)


def checksum_problem(value: str | None, weights: str) -> str | None:
    if value is None:
        return None
    if not re.fullmatch(r"[0-9a-f]{64}", value):
        return f"weights_checksum must be a sha256, 64 hexadecimal digits in lower case, got {value!r}"
    named = weights not in ("none", "zoo") and not weights.startswith("zoo/")
    return None if named else f"weights_checksum has no effect with weights={weights}"
