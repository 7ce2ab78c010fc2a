"""Define the events that the worker writes to standard output, one line of JSON each."""

from typing import Any, Dict, List, Optional, Type

from zoo.protocol.part import Json, Part, ProtocolError

# Values of the field ``type`` of an ``error`` event.
USER_ERROR, OUT_OF_MEMORY, WRONG_NUMBERS = "UserError", "OutOfMemoryError", "ProbeError"
# A process of a distributed training run ended or hangs.
GROUP_BROKEN = "GroupError"
# Errors with a message for the user, which is shown without the end of the log.
ERROR_KINDS = (USER_ERROR, OUT_OF_MEMORY, WRONG_NUMBERS, GROUP_BROKEN, "FloatingPointError")


class Event(Part):
    """An event, written ``t`` seconds after 1970; ``slot`` is the slot of the command that it answers."""

    t: float = 0.0
    slot: Optional[int] = None

    def to_json(self) -> Json:
        """Return the fields that are set, and the name of the event."""
        return dict(super().to_json(), event=NAMES[type(self)])


class DeviceProof(Part):
    """The device in use, and the operation that proved it."""

    name: str
    device_kind: str
    proof: Optional[str]
    description: str = ""


def short_device(name: str) -> str:
    """Return a device name such as ``CPU:0``, without TensorFlow's prefix for job and task."""
    return name.rpartition("device:")[2]


class StartEvent(Event):
    """The framework has started on its device.

    Attributes:
        probes: rows of :func:`zoo.worker.probes.run.run`.
        variables: environment variables that chose the device.
        processes: for distributed training, the engine and a row for each process.
    """

    versions: Dict[str, str]
    device: DeviceProof
    python: str = ""
    probes: Optional[List[Json]] = None
    variables: Optional[Dict[str, str]] = None
    processes: Optional[Json] = None


class ReadyEvent(Event):
    """The worker waits for commands; a benchmark reports its cases and the speed of the fastest matrix product."""

    rows: Optional[List[Json]] = None
    peak_gflop_per_s: Optional[float] = None


class StepEvent(Event):
    """Progress: ``step`` of ``steps``, counted in ``unit``; items and mean losses of the epoch so far."""

    step: float
    steps: Optional[int] = None
    epoch: Optional[int] = None
    epochs: Optional[int] = None
    unit: str = ""
    items: Optional[int] = None
    items_per_s: Optional[float] = None
    loss: Optional[float] = None
    accuracy: Optional[float] = None
    style: Optional[float] = None
    content: Optional[float] = None
    roughness: Optional[float] = None


class BatchEvent(Event):
    """A command is done: a slot is filled, or a case is timed. ``problem`` is set for an invalid command."""

    count: Optional[int] = None
    seconds: Optional[float] = None
    problem: Optional[str] = None
    case: Optional[int] = None
    taken_s: Optional[List[float]] = None
    error: Optional[str] = None
    peak_memory_bytes: Optional[int] = None


class PointEvent(Event):
    """The start of a calibration point or, with ``seconds`` set, its result or ``problem``."""

    batch_size: int
    precision: str
    items_per_s: Optional[float] = None
    problem: Optional[str] = None
    seconds: Optional[float] = None


class StageEvent(Event):
    """A stage of a training run begins: what it trains, its first epoch, and the last epoch of the run."""

    what: str
    stage: int
    epoch: int
    epochs: int
    learning_rate: float


class EpochEvent(Event):
    """The end of an epoch, of a ``size`` of an optimized image, or of a report interval of a style network.

    Attributes:
        epochs: number of the last epoch.
        best: whether its weights are the best so far.
        steps: number of its optimizer steps.
        all_steps: number of steps in the complete epoch, if training stopped within it.
    """

    epoch: int
    epochs: Optional[int] = None
    stage: Optional[int] = None
    size: Optional[str] = None
    best: Optional[bool] = None
    step: Optional[int] = None
    steps: Optional[int] = None
    all_steps: Optional[int] = None
    learning_rate: Optional[float] = None
    epoch_s: Optional[float] = None
    items_per_s: Optional[float] = None
    peak_memory_bytes: Optional[int] = None
    loss: Optional[float] = None
    accuracy: Optional[float] = None
    val_loss: Optional[float] = None
    val_accuracy: Optional[float] = None
    val_top5: Optional[float] = None
    val_token_accuracy: Optional[float] = None
    val_map: Optional[float] = None
    val_f1: Optional[float] = None
    val_micro_f1: Optional[float] = None
    val_r2: Optional[float] = None
    val_mae: Optional[float] = None
    style: Optional[float] = None
    content: Optional[float] = None
    roughness: Optional[float] = None


class ArtifactEvent(Event):
    """A file was written: number ``index`` of its ``kind``, or the file of a ``step``."""

    kind: str
    path: str
    index: Optional[int] = None
    step: Optional[int] = None


class TextEvent(Event):
    text: str


class ResumeEvent(Event):
    """Training resumes in an epoch, after ``step`` of its steps; ``done`` counts all previous steps of the run."""

    epoch: int
    step: int = 0
    done: int = 0


class WarningEvent(Event):
    message: str


class ErrorEvent(Event):
    """The worker failed; ``type`` is the name of the exception class."""

    message: str
    type: str


class DoneEvent(Event):
    """The job ended.

    Attributes:
        phases: seconds spent in each phase.
        stopped: why it ended early: ``interrupted`` or the name of a limit.
        processes: for distributed training, the peak memory of each process and the bytes exchanged per step.
        rows: one per format of an export.
        text: text that a language model generated.
        features: ``layer`` and ``shape`` of written features.
        linear_probe: validation figures of a linear probe and of the best ``trained`` network.
    """

    metrics: Json
    phases: Dict[str, float]
    peak_memory_bytes: Optional[int] = None
    stopped: Optional[str] = None
    processes: Optional[Json] = None
    rows: Optional[List[Json]] = None
    text: str = ""
    features: Optional[Json] = None
    linear_probe: Optional[Json] = None


class NetworkEvent(Event):
    """The layers of a network, see :func:`zoo.models.compat.connected_layers`."""

    layers: List[Json]


class HistogramEvent(Event):
    """A weight after an epoch: minimum, maximum, size, sum and sum of squares; counts in buckets of equal width."""

    epoch: int
    weight: str
    figures: List[float]
    counts: List[int]


# By the name on the wire.
EVENTS: Dict[str, Type[Event]] = {kind.__name__[: -len("Event")].lower(): kind for kind in Event.__subclasses__()}
NAMES = {kind: name for name, kind in EVENTS.items()}


def event_of(json: Any) -> Event:
    """Build an event from parsed JSON; ProtocolError lists all problems."""
    name = json.get("event") if isinstance(json, dict) else None
    if not isinstance(name, str) or name not in EVENTS:
        raise ProtocolError(["an event should be one of %s, got %r" % (", ".join(EVENTS), name)])
    return EVENTS[name].of({key: value for key, value in json.items() if key != "event"})
