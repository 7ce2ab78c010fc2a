"""Define the events that the worker writes to standard output, one line of JSON each."""

from typing import Any, Dict, List, Optional, Type

from zoo.protocol.part import Json, Part, ProtocolError

# Types of the worker's errors, the values of the field ``type`` of an ``error`` event.
USER_ERROR, OUT_OF_MEMORY, WRONG_NUMBERS = "UserError", "OutOfMemoryError", "ProbeError"
# One of the processes of a training run has ended or hangs.
GROUP_BROKEN = "GroupError"
# Errors with a message for the user, which is shown without the end of the log.
ERROR_KINDS = (USER_ERROR, OUT_OF_MEMORY, WRONG_NUMBERS, GROUP_BROKEN, "FloatingPointError")


class Event(Part):
    """An event.

    Attributes:
        t: time of writing, in seconds since 1970.
        slot: slot of the answered command.
    """

    t: float = 0.0
    slot: Optional[int] = None

    def to_json(self) -> Json:
        """Return the fields that are set, and the name of the event."""
        return dict(super().to_json(), event=NAMES[type(self)])


class DeviceProof(Part):
    """The device that computed, and the operation that proved it."""

    name: str
    device_kind: str
    proof: Optional[str]
    description: str = ""


def short_device(name: str) -> str:
    """Return a device's name without the job and task that TensorFlow writes before it, such as ``CPU:0``."""
    return name.rpartition("device:")[2]


class StartEvent(Event):
    """The framework runs on its device.

    Attributes:
        probes: rows of :func:`zoo.worker.probes.run.run`.
        variables: environment variables that chose the device.
        processes: for several processes, the engine and a row for each.
    """

    versions: Dict[str, str]
    device: DeviceProof
    python: str = ""
    probes: Optional[List[Json]] = None
    variables: Optional[Dict[str, str]] = None
    processes: Optional[Json] = None


class ReadyEvent(Event):
    """The worker waits for commands; a benchmark names its cases and the fastest matrix product."""

    rows: Optional[List[Json]] = None
    peak_gflop_per_s: Optional[float] = None


class StepEvent(Event):
    """Progress: ``step`` of ``steps``, whose name is ``unit``; items and mean losses of the epoch so far."""

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
    """A calibration point is being timed; ``seconds`` is set once it was timed or the ``problem`` occurred."""

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
    """An epoch ended; for an optimized image this is a ``size``, and for a style network a report.

    Attributes:
        epochs: number of the last one.
        best: its weights are the best so far.
        steps: its number of optimizer steps.
        all_steps: the number that it would have had, if training was stopped within it.
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
    style: Optional[float] = None
    content: Optional[float] = None
    roughness: Optional[float] = None


class ArtifactEvent(Event):
    """A file was written, the ``index``-th of its ``kind`` or the one of a ``step``."""

    kind: str
    path: str
    index: Optional[int] = None
    step: Optional[int] = None


class TextEvent(Event):
    text: str


class ResumeEvent(Event):
    """Training continues within an epoch, after one of its steps; ``done`` counts all previous steps."""

    epoch: int
    step: int = 0
    done: int = 0


class WarningEvent(Event):
    message: str


class ErrorEvent(Event):
    """The worker failed; ``type`` is the class of the error."""

    message: str
    type: str


class DoneEvent(Event):
    """The job ended.

    Attributes:
        phases: seconds by name.
        stopped: why it ended early: ``interrupted`` or the name of a limit.
        processes: for several processes, memory and exchanged bytes.
        rows: one per format of an export.
        text: text of a language model.
        features: ``layer`` and ``shape`` of written features.
    """

    metrics: Json
    phases: Dict[str, float]
    peak_memory_bytes: Optional[int] = None
    stopped: Optional[str] = None
    processes: Optional[Json] = None
    rows: Optional[List[Json]] = None
    text: str = ""
    features: Optional[Json] = None


EVENTS: Dict[str, Type[Event]] = {
    "start": StartEvent, "ready": ReadyEvent, "step": StepEvent, "batch": BatchEvent, "point": PointEvent,
    "stage": StageEvent, "epoch": EpochEvent, "artifact": ArtifactEvent, "text": TextEvent, "resume": ResumeEvent,
    "warning": WarningEvent, "error": ErrorEvent, "done": DoneEvent,
}  # fmt: skip
NAMES = {kind: name for name, kind in EVENTS.items()}


def event_of(json: Any) -> Event:
    """Build an event from parsed JSON; ProtocolError lists all problems."""
    name = json.get("event") if isinstance(json, dict) else None
    if not isinstance(name, str) or name not in EVENTS:
        raise ProtocolError(["an event should be one of %s, got %r" % (", ".join(EVENTS), name)])
    return EVENTS[name].of({key: value for key, value in json.items() if key != "event"})
