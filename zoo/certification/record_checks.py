"""Whether the record of a run in an archive of evidence can be true, and fits what the certification says of it."""

import dataclasses
import datetime
import json
import math
import re
from collections.abc import Iterator
from typing import Any, TypeGuard

from zoo.certification import session, steps
from zoo.certification.intake import Evidence
from zoo.certification.results import PASSED, StepResult
from zoo.core.files import file_sha256
from zoo.environments import gpus, machine, stacks
from zoo.runs.records import Json

# The fastest device that anybody has makes fewer; a product of matrices that is faster was not computed.
MOST_GFLOP_PER_S = 5e6
# Other work may slow the machine while the peak is taken, so that a share of it can come out above 1.
BUSY_SHARE = 1.5
# What goes into pages as it is must not be markup, nor anything but a line of text.
PLAIN = re.compile(r"[\w .,:;/()@+'&#=%~\[\]-]{0,400}")
_WORD = re.compile(r"[\w.=/,:+\[\]'-]{1,200}", re.ASCII)
FRACTIONS = ("accuracy", "val_accuracy", "test_accuracy", "test_top5_accuracy", "train_accuracy", "token_accuracy")


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
    yield from _machine_problems(record, evidence)
    yield from _text_problems(record, evidence)
    yield from _number_problems(record["metrics"], "metrics")
    yield from _number_problems(record["phases"], "phases")
    yield from _time_problems(row, record)
    yield from _version_problems(record)
    yield from _figure_problems(row, record)
    yield from _row_problems(record["rows"], row.busy)
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


def _machine_problems(record: Json, evidence: Evidence) -> Iterator[str]:
    try:
        recorded = machine_of(record)
    except (TypeError, KeyError, AttributeError, ValueError):
        yield "its record does not describe a machine"
        return
    if machine.describe(recorded) != evidence.state.machine:
        yield "its record is of another machine than the certification"
    if session.hardware(recorded) != evidence.state.hardware:
        yield f"the hardware is called {evidence.state.hardware!r}, its record is of {session.hardware(recorded)!r}"
    stack = stacks.load(record["stack"]["name"])
    stand_in = stack.platforms[evidence.state.platform].stand_in_for
    said = record["stack"].get("stand_in_for")
    if said != stand_in:
        yield f"its record says that the stack stands in for {said!r}, not for {stand_in!r}"


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


def _number_problems(values: Json, name: str) -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if not math.isfinite(value):
            yield f"{name}.{key} is {value}"
        elif value < 0 and (name == "phases" or key.endswith(("_s", "_ms", "loss", "accuracy", "_bytes"))):
            yield f"{name}.{key} is {value}, below zero"
        elif key in FRACTIONS and value > 1:
            yield f"{name}.{key} is {value}, more than all"


def _time_problems(row: StepResult, record: Json) -> Iterator[str]:
    day, state_days = date_of(record["finished"]), (row.seconds, record["seconds"])
    if day is None:
        yield f"its record ended on {record['finished']!r}"
    if not record["seconds"] >= 0 or (row.step != "resume" and record["seconds"] > row.seconds * 1.05 + 1):
        yield f"its record says {state_days[1]} seconds, the step took {state_days[0]}"
    times = [row["epoch_s"] for row in record["epochs"] if is_number(row.get("epoch_s"))]
    if any(value < 0 for value in times) or sum(times) > record["seconds"] * 1.05 + 1:
        yield "its epochs took longer than the run, or less than no time"


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
        recorded = record["metrics"].get(name)
        if is_number(recorded) and not math.isclose(value, recorded, rel_tol=1e-6, abs_tol=1e-9):
            yield f"{name} is {value} in the step and {recorded} in its record"
    data, accuracy = record.get("data"), record["metrics"].get("test_accuracy")
    items = data.get("test_items") if isinstance(data, dict) else None
    if is_number(accuracy) and isinstance(items, int) and 0 < items < 10**6 and record["exit"] == "completed":
        right = accuracy * items
        if abs(right - round(right)) > 0.02:
            yield f"test_accuracy {accuracy} is no whole number of {items} test items"


def _row_problems(rows: list[Json], busy: bool) -> Iterator[str]:
    for number, row in enumerate(rows, 1):
        where = f"row {number} of its results"
        for name in ("median_ms", "q1_ms", "q3_ms", "median_s", "items_per_s", "gflop_per_s"):
            value = row.get(name)
            if value is not None and (not is_number(value) or value <= 0):
                yield f"{where}: {name} is {value!r}, at or below zero"
        share = row.get("share_of_peak")
        if is_number(share) and share > (BUSY_SHARE if busy else 1.0):
            yield f"{where}: {share:.3g} of the peak, more than all of it"
        speed = row.get("gflop_per_s")
        if is_number(speed) and speed > MOST_GFLOP_PER_S:
            yield f"{where}: {speed:.3g} GFLOP/s, more than any device has"
        if row.get("operation") == "square" and is_number(row.get("median_ms")) and is_number(row.get("size")):
            expected = 2 * row["size"] ** 3 / row["median_ms"] / 1e6 if row["median_ms"] > 0 else 0.0
            if is_number(speed) and expected and not math.isclose(speed, expected, rel_tol=0.01):
                yield f"{where}: {speed:.4g} GFLOP/s do not fit {row['median_ms']:.4g} ms"


def _passed_problems(row: StepResult, record: Json) -> Iterator[str]:
    if record["exit"] != "completed":
        yield f"it is said to have passed, but its run is {record['exit']}"
    device = record.get("device")
    kind = device.get("kind") if isinstance(device, dict) else None
    if record["promise"] == "gpu" and kind != "gpu":
        yield f"it is said to have passed on a GPU, but its record proves {kind!r}"
    probes = record.get("probes") or []
    if not isinstance(probes, list) or not all(isinstance(each, dict) and each.get("ok") is True for each in probes):
        yield "it is said to have passed, but a probe found wrong numbers"
    if row.step.startswith("first epoch of "):
        yield from _golden_problems(row.step.removeprefix("first epoch of "), record["epochs"])


def _golden_problems(model: str, epochs: list[Json]) -> Iterator[str]:
    golden = json.loads(steps.FIRST_EPOCHS.read_text(encoding="utf-8"))["losses"].get(model)
    first = epochs[0] if epochs else {}
    losses = {name: first.get(name) for name in ("loss", "val_loss")}
    if golden is None or not all(is_number(value) for value in losses.values()):
        yield "it is said to have passed, but its record has no losses of a first epoch"
        return
    off = max(abs(float(value or 0) - golden[name]) / golden[name] for name, value in losses.items())
    if off > golden["tolerance"]:
        yield f"it is said to have passed, but its losses are off by {off:.2g}"


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value of JSON is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def date_of(text: str) -> datetime.date | None:
    """Return the day that a text begins with, None where it begins with none."""
    try:
        return datetime.date.fromisoformat(text[:10])
    except ValueError:
        return None
