"""What can be set: typed parts with their ranges, and what training and using a classifier are told.

Other tasks have a module of their own beside this one and share its parts.
"""

from dataclasses import dataclass, field
from typing import Any

from zoo.core.errors import nearest

OPTIMIZERS = ("adam", "momentum", "rmsprop", "sgd")
SCHEDULES = ("constant", "cosine", "one_cycle")
INFERENCE_PRECISIONS = ("float32", "bfloat16", "float16")
PRECISIONS = ("auto", "float32", "mixed_bfloat16", "mixed_float16")
RESIZES = ("stretch", "crop", "nearest")
NORMALISATIONS = ("model", "unit", "symmetric", "standard")


ON_NAN = ("stop", "rollback")
ON_OOM = ("stop", "halve")
ON_HANGUP = ("stop", "continue")


@dataclass
class Endurance:
    """How a training survives, and what it may take; no part of what is trained.

    Attributes:
        checkpoint_minutes: time between two checkpoints within an epoch; each epoch ends with one as well.
        keep_checkpoints: how many of the last checkpoints stay on the disk.
        disk_reserve_gb: room on the disk that checkpoints leave alone.
        max_minutes: stop after so long, with what was learnt; resume=RUN goes on.
        max_memory_gb: memory that the worker may take; what happens then, on_oom says.
        on_nan: stop; or rollback: go back to the last checkpoint with half the learning rate, five times at most.
        on_oom: stop; or halve: where memory runs out, go on from the last checkpoint with batches of half the size.
        on_hangup: stop when the terminal is closed; or continue: `python -m zoo attach RUN` shows the rest.
        hang_minutes: end a worker that shows no sign of life for so long; 0 never does.
        restarts: how often a worker that was killed or hung is started again from its last checkpoint.
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

    def endurance_problems(self) -> list[str | None]:
        """What is out of range, and None for what is not."""
        most = {key: getattr(self, key) for key in ("max_minutes", "max_memory_gb")}
        return [
            within("trainer.checkpoint_minutes", self.checkpoint_minutes, 0.0, 10_000.0),
            within("trainer.keep_checkpoints", self.keep_checkpoints, 1, 1000),
            within("trainer.disk_reserve_gb", self.disk_reserve_gb, 0.0, 1e6),
            within("trainer.hang_minutes", self.hang_minutes, 0.0, 1e6),
            within("trainer.restarts", self.restarts, 0, 1000),
            one_of("trainer.on_nan", self.on_nan, ON_NAN),
            one_of("trainer.on_oom", self.on_oom, ON_OOM),
            one_of("trainer.on_hangup", self.on_hangup, ON_HANGUP),
            *(None if value is None else within(f"trainer.{key}", value, 1e-3, 1e6) for key, value in most.items()),
        ]


@dataclass
class Trainer(Endurance):
    """How to train.

    Attributes:
        epochs: passes over the training pictures.
        batch_size: pictures per optimizer step.
        optimizer: adam, momentum (SGD with Nesterov momentum 0.9), rmsprop or sgd.
        learning_rate: the highest learning rate.
        schedule: constant; cosine: falls to a hundredth; one_cycle: begins at a 25th and ends at a 10,000th.
        warmup: share of all steps that climb to the learning rate; 0 means 0.3 for one_cycle.
        label_smoothing: share of every label that is spread over all classes.
        patience: stop after so many epochs without a better one; null trains all of them.
        beta_2: how long Adam remembers squared gradients.
        precision: float32; mixed_bfloat16 or mixed_float16 compute with half as many bits where the stack can; auto
            takes mixed_bfloat16 where it is known to be faster, else float32.
        jit: compile with XLA where Keras 3 can. Slower for small networks on a CPU, impossible on Metal.
    """

    epochs: int = 12
    batch_size: int = 128
    optimizer: str = "adam"
    learning_rate: float = 0.001
    schedule: str = "constant"
    warmup: float = 0.0
    label_smoothing: float = 0.0
    patience: int | None = None
    beta_2: float = 0.999
    precision: str = "float32"
    jit: bool = False

    def problems(self) -> list[str | None]:
        """What is out of range, and None for what is not."""
        return [
            within("trainer.epochs", self.epochs, 0, 100_000),
            within("trainer.batch_size", self.batch_size, 1, 65_536),
            within("trainer.learning_rate", self.learning_rate, 1e-9, 10.0),
            within("trainer.warmup", self.warmup, 0.0, 0.9),
            within("trainer.label_smoothing", self.label_smoothing, 0.0, 0.9),
            None if self.patience is None else within("trainer.patience", self.patience, 1, 100_000),
            within("trainer.beta_2", self.beta_2, 0.5, 0.99999),
            one_of("trainer.optimizer", self.optimizer, OPTIMIZERS),
            one_of("trainer.schedule", self.schedule, SCHEDULES),
            one_of("trainer.precision", self.precision, PRECISIONS),
            *self.endurance_problems(),
        ]


@dataclass
class FineTune:
    """How to train a network that knows something already; used where there are weights to start from.

    Attributes:
        head_epochs: passes over the training pictures, unaltered, in which only the last layer learns; 0 for none.
        head_learning_rate: the highest learning rate of these.
        unfreeze_from: the first layer that learns in the epochs after them, trainer.epochs; null means all layers.
        freeze_normalisation: keep the normalisation, its statistics included, as it is in these too.
    """

    head_epochs: int = 0
    head_learning_rate: float = 0.003
    unfreeze_from: str | None = None
    freeze_normalisation: bool = True

    def problems(self) -> list[str | None]:
        """What is out of range, and None for what is not."""
        return [
            within("fine_tune.head_epochs", self.head_epochs, 0, 100_000),
            within("fine_tune.head_learning_rate", self.head_learning_rate, 1e-9, 10.0),
        ]


@dataclass
class Freeze:
    """How to leave off training the first layers before the others, for speed (Brock et al. 2017, FreezeOut).

    Attributes:
        before: the layers before this one leave off learning; null means that all learn to the end.
        after: the share of the steps of trainer.epochs after which they do.
    """

    before: str | None = None
    after: float = 0.25

    def problems(self) -> list[str | None]:
        """What is out of range, and None for what is not."""
        return [within("freeze.after", self.after, 0.0, 1.0)]


@dataclass
class Augment:
    """How to alter pictures while training on them, differently each time.

    Attributes:
        flip: mirror every other picture, left to right.
        crop: share of the edge by which pictures are moved at most; what comes in is mirrored.
        colour: share by which brightness, contrast and saturation change at most.
    """

    flip: bool = False
    crop: float = 0.0
    colour: float = 0.0

    def problems(self) -> list[str | None]:
        """What is out of range, and None for what is not."""
        return [within("augment.crop", self.crop, 0.0, 0.5), within("augment.colour", self.colour, 0.0, 0.9)]


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
        test: share of all pictures set aside to test on, of a folder without a part for that.
        size: edge of your own pictures in pixels; null means what the model asks for.
        resize: how they get it: stretch; crop, which keeps the middle and the proportions; nearest.
        normalise: model, as it was made for; unit, 0 to 1; symmetric, -1 to 1; standard, mean 0 and deviation 1.
        strict: refuse a folder with pictures that cannot be read, instead of leaving them out.
        balance: weigh the training pictures so that every class counts the same.
    """

    name: str = "auto"
    root: str | None = None
    train_limit: int | None = None
    test_limit: int | None = None
    validation: float = 0.1
    test: float = 0.1
    size: int | None = None
    resize: str = "stretch"
    normalise: str = "model"
    strict: bool = False
    balance: bool = False

    def problems(self) -> list[str | None]:
        """What is out of range, and None for what is not."""
        limits = {key: getattr(self, key) for key in ("train_limit", "test_limit")}
        return [
            within("data.validation", self.validation, 0.0, 0.9),
            within("data.test", self.test, 0.0, 0.9),
            None if self.size is None else within("data.size", self.size, 4, 1024),
            one_of("data.resize", self.resize, RESIZES),
            one_of("data.normalise", self.normalise, NORMALISATIONS),
            *(None if most is None else within(f"data.{key}", most, 1, 10**9) for key, most in limits.items()),
        ]


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
class Tracking:
    """Where a training is told besides its run folder.

    Attributes:
        tensorboard: write event files into the run's folder tensorboard, by the stack's own writer.
        mlflow: store of MLflow that is told when the run has ended, such as file:mlruns or sqlite:///mlflow.db.
    """

    tensorboard: bool = False
    mlflow: str | None = None


@dataclass
class TrainConfig(Tracking, Settings):
    """Everything ``train`` is told.

    Attributes:
        stack: name of the stack to use; null means the backend's best for this machine.
        weights: to start from: imagenet, the published ones; a file; none, which draws them at random.
        seed: of the split, the first weights, the order of the pictures and the framework.
        expect: the result that the recipe promises, by data set.
    """

    model: dict[str, Any] = field(default_factory=dict)
    data: DataSettings = field(default_factory=DataSettings)
    trainer: Trainer = field(default_factory=Trainer)
    fine_tune: FineTune = field(default_factory=FineTune)
    freeze: Freeze = field(default_factory=Freeze)
    augment: Augment = field(default_factory=Augment)
    weights: str = "none"
    preset: str = "full"
    seed: int = 1
    expect: dict[str, Any] = field(default_factory=dict)

    def problems(self) -> list[str]:
        """Everything out of range, one sentence each."""
        parts = (self.trainer, self.fine_tune, self.freeze, self.augment, self.data)
        found = [problem for part in parts for problem in part.problems()]
        found.append(within("seed", self.seed, 0, 2**31 - 1))
        found += [self._of_size(), self._of_epochs()]
        found += [model_argument(key, value) for key, value in self.model.items()]
        return [problem for problem in found if problem]

    def _of_epochs(self) -> str | None:
        if self.trainer.epochs or (self.fine_tune.head_epochs and self.weights != "none"):
            return None
        return "trainer.epochs must be at least 1 where no epochs of the last layer alone come before them, got 0"

    def _of_size(self) -> str | None:
        asked = self.model.get("input_size")
        if asked is None or self.data.size in (None, asked):
            return None
        return f"data.size is {self.data.size}, but model.input_size is {asked}: leave data.size out"


@dataclass
class InferConfig(Settings):
    """Everything ``infer`` is told.

    Attributes:
        run: folder of a training run, or ``last``: the newest one under output.root.
        weights: without a run: imagenet, the published ones; or a file.
        input: picture, folder of pictures, ``-`` for paths on standard input, .npy array, or ``test``, the run's.
        stack: name of the stack to use; null means the fastest here, or the run's own where the backend has it.
        batch_size: pictures at a time; null means 32 of colours, 128 others.
        resize: how pictures get the network's size: stretch; crop, which keeps the middle; nearest, as Keras does.
        precision: float32; float16 or bfloat16, faster and coarser, where the processor multiplies them by itself.
        sheets: contact sheets are made of so many pages of pictures at most.
        probabilities: keep all of them, in probabilities.npy, and not only the best five.
    """

    model: dict[str, Any] = field(default_factory=dict)
    run: str | None = None
    weights: str = "none"
    input: str | None = None
    batch_size: int | None = None
    resize: str = "stretch"
    precision: str = "float32"
    sheets: int = 10
    probabilities: bool = False

    def problems(self) -> list[str]:
        """Everything missing or out of range, one sentence each."""
        found = [
            None if self.batch_size is None else within("batch_size", self.batch_size, 1, 65_536),
            within("sheets", self.sheets, 0, 10_000),
            one_of("resize", self.resize, RESIZES),
            one_of("precision", self.precision, INFERENCE_PRECISIONS),
            self._subject(),
            None if self.input else "input is missing: give input=PICTURE, a folder, -, a .npy array, or input=test",
            *(model_argument(key, value) for key, value in self.model.items()),
        ]
        return [problem for problem in found if problem]

    def _subject(self) -> str | None:
        if not self.run and not self.model:
            return (
                "run is missing: give run=RUN_FOLDER, run=last, or model=NAME with weights=imagenet or weights=PATH"
            )
        if self.run and (self.model or self.weights != "none"):
            return f"run={self.run} has its model and weights: leave model= and weights= out, or run="
        if self.model and self.weights == "none":
            return "weights is missing: give weights=imagenet, or weights=PATH"
        return None


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
