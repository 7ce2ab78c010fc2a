"""Parts that the settings of several tasks share."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from zoo.config import exporters
from zoo.config.ranges import (
    OPTIMIZERS,
    SCHEDULES,
    TRAINING_PRECISIONS,
    one_of,
    within,
    within_or_null,
)
from zoo.config.schemas.fields import literal as literal
from zoo.config.schemas.launching import LauncherSettings

# Of the builder of a network, by name.
Arguments = dict[str, Any]

BEST_BY = ("accuracy", "loss")
ON_NAN = ("stop", "rollback")
ON_OOM = ("stop", "halve")
ON_HANGUP = ("stop", "continue")


@dataclass
class FaultTolerance:
    """How a training survives faults and what it may use; nothing of it changes what is trained.

    Attributes:
        checkpoint_minutes: time between two checkpoints within an epoch; an epoch ends with one as well, unless the
            last is so recent that it would take more than 2 % of the time.
        keep_checkpoints: how many of the last checkpoints stay on the disk.
        disk_reserve_gb: free disk space that checkpoints leave alone.
        max_minutes: stop after this time and keep what was learnt; resume=RUN continues.
        max_memory_gb: memory that the worker may use; on_oom says what happens when it needs more.
        on_nan: stop; or rollback: return to the last checkpoint with half the learning rate, at most five times.
        on_oom: stop; or halve: continue from the last checkpoint with half the batch size.
        on_hangup: stop when the terminal is closed; or continue: `python -m zoo attach RUN` shows the rest.
        hang_minutes: kill a worker that sends nothing for this long; 0 never does.
        restarts: how often a worker that was killed or hung is restarted from its last checkpoint.
    """

    checkpoint_minutes: float = 10.0
    keep_checkpoints: int = 2
    disk_reserve_gb: float = 0.1
    max_minutes: float | None = None
    max_memory_gb: float | None = None
    on_nan: str = "stop"
    on_oom: str = "stop"
    on_hangup: str = "stop"
    hang_minutes: float = 30.0
    restarts: int = 0

    def fault_tolerance_checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        return [
            within("trainer.checkpoint_minutes", self.checkpoint_minutes, 0.0, 10_000.0),
            within("trainer.keep_checkpoints", self.keep_checkpoints, 1, 1000),
            within("trainer.disk_reserve_gb", self.disk_reserve_gb, 0.0, 1e6),
            within("trainer.hang_minutes", self.hang_minutes, 0.0, 1e6),
            within("trainer.restarts", self.restarts, 0, 1000),
            one_of("trainer.on_nan", self.on_nan, ON_NAN),
            one_of("trainer.on_oom", self.on_oom, ON_OOM),
            one_of("trainer.on_hangup", self.on_hangup, ON_HANGUP),
            within_or_null("trainer.max_minutes", self.max_minutes, 1e-3, 1e6),
            within_or_null("trainer.max_memory_gb", self.max_memory_gb, 1e-3, 1e6),
        ]


@dataclass
class Trainer(FaultTolerance):
    """How to train.

    Attributes:
        epochs: passes over the training images.
        batch_size: images per optimizer step at most; all steps of an epoch take as many, and leave none out.
        optimizer: adam, momentum (SGD with Nesterov momentum 0.9), rmsprop or sgd.
        learning_rate: the highest learning rate.
        schedule: constant; cosine: falls to a hundredth; one_cycle: begins at a 25th and ends at a 10,000th.
        warmup: share of all steps in which the learning rate rises; 0 means 0.3 for one_cycle.
        label_smoothing: share of every label that is spread over all classes.
        best_by: validation figure that chooses the best epoch: accuracy, and of equal ones the loss; or loss.
        patience: stop after this many epochs without improvement; null trains all of them.
        beta_2: decay of Adam's average of squared gradients.
        ema: decay of a moving average of the weights, such as 0.999, which is what is validated and kept then; 0 for
            none.
        precision: float32; mixed_bfloat16 or mixed_float16 where the stack supports them; auto takes mixed_bfloat16
            where it is known to be faster, else float32. float64, on processors with Keras 3, tells rounding from
            mistakes where two trainings are compared.
        jit: compile with XLA where Keras 3 can. Slower for small networks on a CPU, impossible on Metal.
        export: formats that the training stack itself saves the model in besides weights.npz and the file of its
            Keras; output.export=[onnx] is for other runtimes.
    """

    epochs: int = 12
    batch_size: int = 128
    optimizer: str = "adam"
    learning_rate: float = 0.001
    schedule: str = "constant"
    warmup: float = 0.0
    label_smoothing: float = 0.0
    best_by: str = "accuracy"
    patience: int | None = None
    beta_2: float = 0.999
    ema: float = 0.0
    precision: str = "float32"
    jit: bool = False
    export: list[str] = field(default_factory=list)

    def checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        return [
            within("trainer.epochs", self.epochs, 0, 100_000),
            within("trainer.batch_size", self.batch_size, 1, 65_536),
            within("trainer.learning_rate", self.learning_rate, 1e-9, 10.0),
            within("trainer.warmup", self.warmup, 0.0, 0.9),
            within("trainer.label_smoothing", self.label_smoothing, 0.0, 0.9),
            within_or_null("trainer.patience", self.patience, 1, 100_000),
            within("trainer.beta_2", self.beta_2, 0.5, 0.99999),
            within("trainer.ema", self.ema, 0.0, 0.99999),
            one_of("trainer.optimizer", self.optimizer, OPTIMIZERS),
            one_of("trainer.schedule", self.schedule, SCHEDULES),
            one_of("trainer.best_by", self.best_by, BEST_BY),
            one_of("trainer.precision", self.precision, TRAINING_PRECISIONS),
            *exporters.training_problems(self.export),
            *self.fault_tolerance_checks(),
        ]


@dataclass
class BackendSettings:
    """What can be set of a backend; the rest of its row is fixed.

    Attributes:
        python: interpreter of your own environment, used instead of the zoo's.
        device: name of one device, where the backend has several.
        probes: compare small operations with numpy before the first step; false skips that.
    """

    name: str = "cpu"
    python: str | None = literal()
    device: str | None = None
    probes: bool = True


@dataclass
class Output:
    """Where the run folder goes.

    Attributes:
        root: folder of all run folders.
        name: name of this run's folder; null means date, time, model and backend.
    """

    root: str = literal("runs")
    name: str | None = literal()


@dataclass
class TrainingOutput(Output):
    """Where the run folder of a training goes, and what is made of the trained model.

    Attributes:
        export: formats that the trained model is exported to at the end, in folder export of the run.
    """

    export: list[str] = field(default_factory=list)

    def checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        return exporters.problems("output.export", self.export)


@dataclass
class Tracking:
    """Where a training is reported besides its run folder.

    Attributes:
        tensorboard: write event files into the run's folder tensorboard with the stack's own writer.
        mlflow: MLflow store that is updated when the run has ended, such as file:mlruns or sqlite:///mlflow.db.
    """

    tensorboard: bool = False
    mlflow: str | None = literal()


# ``weights`` is a value of its own, so nothing can stand below it.
CHECKSUM = {"weights.checksum": "weights_checksum"}


@dataclass
class Settings:
    """What every task and verb has.

    Attributes:
        shorthands: what a key may be called besides, such as ``output`` for ``output.folder``.
        listed: keys of lists whose entries may be given with commas, without brackets.
    """

    shorthands: ClassVar[dict[str, str]] = {}
    listed: ClassVar[tuple[str, ...]] = ()

    backend: BackendSettings = field(default_factory=BackendSettings)
    output: Output = field(default_factory=Output)
    stack: str | None = None
    launcher: LauncherSettings = field(default_factory=LauncherSettings)

    def problems(self) -> list[str]:
        """Return everything missing or out of range, one sentence each."""
        raise NotImplementedError

    @property
    def tracking(self) -> Tracking:
        """Return where the run is reported; nowhere unless the schema has it."""
        return self if isinstance(self, Tracking) else Tracking()

    @property
    def fault_tolerance(self) -> FaultTolerance:
        """Return how the run survives faults; a run that is no training is never killed as hung."""
        trainer = getattr(self, "trainer", None)
        return trainer if isinstance(trainer, FaultTolerance) else FaultTolerance(hang_minutes=0.0)


@dataclass
class TestData:
    """Where the test set of ``input=test`` is, and how much of it is used.

    Attributes:
        root: its folder or file now; null means where it was in training.
        test_limit: use only this many items of it.
    """

    root: str | None = literal()
    test_limit: int | None = None

    def checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        return [within_or_null("data.test_limit", self.test_limit, 1, 10**9)]
