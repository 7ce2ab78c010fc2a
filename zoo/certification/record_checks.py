"""Whether the record of a run in an archive of evidence can be true, and fits what the certification says of it."""

import dataclasses
import datetime
import json
import math
import re
from collections.abc import Iterator
from typing import Any

from zoo.certification import figures, plan, steps
from zoo.certification.intake import Evidence
from zoo.certification.results import PASSED, StepResult
from zoo.core.errors import ZooError
from zoo.core.files import file_sha256
from zoo.environments import gpus, machine, selection, stacks
from zoo.runs.records import Json

# Other work or heat may slow the machine while the peak is taken, so that a share of it can come out above 1.
BUSY_SHARE = 1.5
FIRST_EPOCH = "first epoch of "
# What goes into pages as it is must not be markup, nor anything but a line of text.
PLAIN = re.compile(r"[\w .,:;/()@+'&#=%~\[\]-]{0,400}")
_WORD = re.compile(r"[\w.=/,:+\[\]'-]{1,200}", re.ASCII)
# What the record of a passed step is of: verb, and model or benchmark; of a training the name of the step says it.
WORK = {
    "device": ("bench", ("matmul", "networks")), "device again": ("bench", ("matmul", "networks")),
    "golden": ("bench", ("networks",)), "networks": ("bench", ("networks",)), "matmul": ("bench", ("matmul",)),
    "encoder": ("bench", ("transformer",)), "memory": ("train", ("mnist_dense",)),
    "resume": ("train", ("mnist_dense",)),
}  # fmt: skip


def record_problems(row: StepResult, record: Json, evidence: Evidence) -> Iterator[str]:
    """Yield what cannot be true of the record of a step, or does not fit the step, one sentence each."""
    shape = _shape_problem(record)
    if shape:
        yield shape
        return
    stack = record["stack"]
    if (record["backend"], stack["name"], stack["platform"]) != (row.backend, row.stack, evidence.state.platform):
        yield f"its record is of {record['backend']} with {stack['name']} on {stack['platform']}"
        return
    yield from _machine_problems(row, record, evidence)
    yield from _text_problems(record, evidence)
    yield from _number_problems(record)
    yield from _time_problems(row, record)
    yield from _version_problems(record)
    yield from _figure_problems(row, record)
    yield from _row_problems(record["rows"], BUSY_SHARE if row.busy else _steadiness(evidence))
    if row.state == PASSED:
        yield from _passed_problems(row, record)


def _shape_problem(record: Json) -> str:
    """Say what of a record is missing or of the wrong kind; an empty text where the rest can rely on it."""
    kinds: dict[str, type] = {"backend": str, "stack": dict, "machine": dict, "phases": dict, "seconds": float,
                              "exit": str, "epochs": list, "rows": list, "finished": str, "promise": str}  # fmt: skip
    for name, kind in kinds.items():
        value = record.get(name)
        if not isinstance(value, (int, float) if kind is float else kind) or isinstance(value, bool):
            return f"its record has no sound {name}"
    record.setdefault("metrics", {})
    record.setdefault("versions", {})
    parts = {"metrics": record["metrics"], "versions": record["versions"]}
    for name, value in parts.items():
        if not isinstance(value, dict):
            return f"its record has no sound {name}"
    if not all(isinstance(record["stack"].get(name), str) for name in ("name", "platform")):
        return "its record names no stack"
    if not all(isinstance(each, dict) for each in [*record["epochs"], *record["rows"]]):
        return "its epochs or rows are no objects"
    return ""


def _machine_problems(row: StepResult, record: Json, evidence: Evidence) -> Iterator[str]:
    try:
        recorded = machine_of(record)
    except (TypeError, KeyError, AttributeError, ValueError):
        yield "its record does not describe a machine"
        return
    if machine.describe(recorded) != evidence.state.machine:
        yield "its record is of another machine than the certification"
    if machine.hardware(recorded) != evidence.state.hardware:
        yield f"the hardware is called {evidence.state.hardware!r}, its record is of {machine.hardware(recorded)!r}"
        return
    yield from _place_problems(row, record, recorded, evidence)
    stack = stacks.load(record["stack"]["name"])
    stand_in = stack.platforms[evidence.state.platform].stand_in_for
    said = record["stack"].get("stand_in_for")
    if said != stand_in:
        yield f"its record says that the stack stands in for {said!r}, not for {stand_in!r}"


def _place_problems(row: StepResult, record: Json, here: machine.Machine, evidence: Evidence) -> Iterator[str]:
    """Select the backend again, for the machine of the record."""
    said = evidence.state.place_of(row)
    try:
        works = plan.place(selection.select(row.backend, here, row.stack))
    except ZooError as error:
        yield f"{row.backend} does not work on its machine: {error.message.splitlines()[0]}"
        return
    if said is not None and said != works:
        yield f"{works.name} computes on a {works.kind} there, the certification says on a {said.kind}"
    if record["promise"] != works.kind:
        yield f"its record promises a {record['promise']}, {works.name} promises a {works.kind} there"


def _text_problems(record: Json, evidence: Evidence) -> Iterator[str]:
    """Yield what of a record must not go into a page or a command."""
    command, device, data = (record.get(name) for name in ("command", "device", "data"))
    texts = list(device.values()) if isinstance(device, dict) else []
    texts += [data.get("name"), data.get("sha256")] if isinstance(data, dict) else []
    texts += [*record["metrics"], *record["phases"], *record["versions"], *record["versions"].values()]
    if not all(text is None or (isinstance(text, str) and PLAIN.fullmatch(text)) for text in texts):
        yield "its record holds names that are no plain text"
    if not isinstance(command, list) or not all(isinstance(word, str) and _WORD.fullmatch(word) for word in command):
        yield "its command holds words that are none of the zoo's"
    if (record.get("git_commit") or f"version {record.get('zoo_version')}") != evidence.state.commit:
        yield "its record is of another commit than the certification"


def machine_of(record: Json) -> machine.Machine:
    """Return the machine of a record.

    Raises:
        TypeError: the record describes none; so does a KeyError.
    """
    recorded = record["machine"]
    fields = {part.name: recorded[part.name] for part in dataclasses.fields(machine.Machine) if part.name in recorded}
    graphics = [gpus.Gpu(**gpu) for gpu in recorded.get("gpus", [])]
    whole = machine.Machine(**{**fields, "gpus": graphics, "notes": []})
    numbers = [whole.cores, whole.memory_bytes]
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise TypeError("cores and memory are numbers")
    return whole


def _number_problems(record: Json) -> Iterator[str]:
    parts = {"metrics": record["metrics"], "phases": record["phases"]}
    for name in ("epochs", "rows"):
        parts |= {f"{name}.{number}": row for number, row in enumerate(record[name], 1)}
    for where, values in parts.items():
        yield from (f"{where}.{text}" for text in figures.problems(values))


def _time_problems(row: StepResult, record: Json) -> Iterator[str]:
    day, state_days = date_of(record["finished"]), (row.seconds, record["seconds"])
    if day is None:
        yield f"its record ended on {record['finished']!r}"
    if not record["seconds"] >= 0 or (row.step != "resume" and record["seconds"] > row.seconds * 1.05 + 1):
        yield f"its record says {state_days[1]} seconds, the step took {state_days[0]}"
    times = [row["epoch_s"] for row in record["epochs"] if figures.is_number(row.get("epoch_s"))]
    if row.step != "resume" and sum(times) > record["seconds"] * 1.05 + 1:
        yield "its epochs took longer than the run"


def _version_problems(record: Json) -> Iterator[str]:
    """Compare the recorded versions with the lock of the stack."""
    stack = stacks.load(record["stack"]["name"])
    lock = stacks.lock_file(stack, record["stack"]["platform"])
    sha256 = record["stack"].get("lock_sha256")
    if sha256 is not None and sha256 != file_sha256(lock):
        yield f"its record has another lock of stack {stack.name}"
        return
    pins = stacks.pins(lock)
    for name, version in record["versions"].items():
        pinned = pins.get(stacks.normalize_name(str(name)))
        if pinned and str(version).split("+")[0] != pinned.split("+")[0]:
            yield f"{name} {version} is impossible: the lock pins {pinned}"
    python = record["stack"].get("python") or record["versions"].get("python")
    if python and record["versions"] and not f"{python}.".startswith(f"{stack.python}."):
        yield f"Python {python} is impossible: the stack has {stack.python}"


def _figure_problems(row: StepResult, record: Json) -> Iterator[str]:
    """Compare what is said twice: in the step and in its record, and by the epochs."""
    for name, value in row.figures.items():
        recorded = _recorded(name, row, record)
        if not any(math.isclose(value, each, rel_tol=1e-6, abs_tol=1e-9) for each in recorded):
            said = ", ".join(map(str, recorded[:3])) or "nothing of that kind"
            yield f"{name} is {value} in the step and {said} in its record"
    data, accuracy = record.get("data"), record["metrics"].get("test_accuracy")
    items = data.get("test_items") if isinstance(data, dict) else None
    if figures.is_number(accuracy) and isinstance(items, int) and 0 < items < 10**6 and record["exit"] == "completed":
        right = accuracy * items
        if abs(right - round(right)) > 0.02:
            yield f"test_accuracy {accuracy} is no whole number of {items} test items"


def _recorded(name: str, row: StepResult, record: Json) -> list[float]:
    """Return the figures of a record that a figure of its step may be."""
    epochs, peaks = record["epochs"], _numbers(record["epochs"], "peak_memory_bytes")
    own: dict[str, list[float]] = {
        "probes": [float(len(record.get("probes") or []))],
        "killed_after": [float(number) for number in range(1, len(epochs))],
        "peak_bytes": peaks[-1:], "grown_bytes": [peaks[-1] - peaks[2]] if len(peaks) > 2 else [],
        "off": _off(row.step.removeprefix(FIRST_EPOCH), epochs),
    }  # fmt: skip
    if name in own:
        return own[name]
    said = _numbers([record["metrics"], record["phases"], *epochs], name)
    if said:
        return said
    kinds = [kind for kind in (*figures.TIMED, "largest_error") if name.endswith(kind)]
    kinds += ["median_s"] if name.endswith("_s") else []  # of the encoder: mode_precision_s
    return [each for kind in kinds for each in _numbers(record["rows"], kind)] or [0.0] * (name == "largest_error")


def _numbers(rows: list[Json], name: str) -> list[float]:
    return [float(row[name]) for row in rows if figures.is_number(row.get(name))]


def _steadiness(evidence: Evidence) -> float:
    """How many times as fast the reference product was at its fastest as at its slowest."""
    state = evidence.state
    speeds = [state.reference_gflop_per_s, *(step.reference_gflop_per_s for step in state.steps)]
    known = [speed for speed in speeds if speed > 0]
    return min(BUSY_SHARE, max(known) / min(known)) if known else 1.0


def _row_problems(rows: list[Json], most: float) -> Iterator[str]:
    for number, row in enumerate(rows, 1):
        where = f"row {number} of its results"
        share, speed, size = (row.get(name) for name in ("share_of_peak", "gflop_per_s", "size"))
        if figures.is_number(share) and share > most:
            yield f"{where}: {share:.3g} of the peak, more than all of it"
        if row.get("operation") == "square" and figures.is_number(row.get("median_ms")) and figures.is_number(size):
            expected = 2 * size**3 / row["median_ms"] / 1e6 if row["median_ms"] > 0 else 0.0
            if figures.is_number(speed) and expected and not math.isclose(speed, expected, rel_tol=0.01):
                yield f"{where}: {speed:.4g} GFLOP/s do not fit {row['median_ms']:.4g} ms"


def _passed_problems(row: StepResult, record: Json) -> Iterator[str]:
    if record["exit"] != "completed":
        yield f"it is said to have passed, but its run is {record['exit']}"
    work = _work(record)
    if work not in _work_of(row.step):
        yield f"it is said to have passed, but its record is of {' '.join(map(str, work))}"
    if record.get("verb") == "train" and _model_of_settings(record) != record.get("model"):
        yield f"it is said to have passed, but its run of {record.get('model')} has the settings of another model"
    device = record.get("device")
    kind = device.get("kind") if isinstance(device, dict) else None
    if record["promise"] == "gpu" and kind != "gpu":
        yield f"it is said to have passed on a GPU, but its record proves {kind!r}"
    probes = record.get("probes") or []
    if not isinstance(probes, list) or not all(isinstance(each, dict) and each.get("ok") is True for each in probes):
        yield "it is said to have passed, but a probe found wrong numbers"
    if row.step == "device" and not probes:
        yield "it is said to have passed, but nothing was probed"
    if row.step.startswith(FIRST_EPOCH):
        yield from _golden_problems(row.step.removeprefix(FIRST_EPOCH), record["epochs"])


def _model_of_settings(record: Json) -> Any:
    settings = record.get("config")
    model = settings.get("model") if isinstance(settings, dict) else None
    return model.get("name") if isinstance(model, dict) else None


def _work(record: Json) -> tuple[Any, Any]:
    return record.get("verb"), record.get("bench") or record.get("model")


def _work_of(step: str) -> list[tuple[str, str]]:
    """Return what the record of a step may be of: verb, and model or benchmark."""
    for beginning in ("train ", FIRST_EPOCH):
        if step.startswith(beginning):
            return [("train", step.removeprefix(beginning))]
    verb, names = WORK.get(step, ("", ()))
    return [(verb, name) for name in names]


def _golden_problems(model: str, epochs: list[Json]) -> Iterator[str]:
    off = _off(model, epochs)
    if not off:
        yield "it is said to have passed, but its record has no losses of a first epoch"
    elif off[0] > _golden(model)["tolerance"]:
        yield f"it is said to have passed, but its losses are off by {off[0]:.2g} of the golden ones of this zoo"


def _off(model: str, epochs: list[Json]) -> list[float]:
    """Return how far the losses of a first epoch are from the golden ones, as a share; nothing where it has none."""
    golden, losses = _golden(model), {name: _numbers(epochs[:1], name) for name in ("loss", "val_loss")}
    if not golden or not all(losses.values()):
        return []
    return [max(abs(loss - golden[name]) / golden[name] for name, (loss,) in losses.items())]


def _golden(model: str) -> dict[str, float]:
    golden: dict[str, dict[str, float]] = json.loads(steps.FIRST_EPOCHS.read_text(encoding="utf-8"))["losses"]
    return golden.get(model, {})


def date_of(text: str) -> datetime.date | None:
    """Return the day that a text begins with, None where it begins with none."""
    try:
        return datetime.date.fromisoformat(text[:10])
    except ValueError:
        return None
