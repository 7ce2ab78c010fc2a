"""Enter evidence into the recipes, the stacks and the table of machines of a checkout."""

import dataclasses
import json
import re
from pathlib import Path

from scripts.maintenance.evidence import machines
from scripts.maintenance.evidence.intake import Evidence
from scripts.maintenance.evidence.machines import CertifiedMachine
from zoo.certification import results
from zoo.certification.results import FAILED, NOT_RUN, PASSED, SKIPPED, STATES, Place, StepResult
from zoo.config import config_files, search_space
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.core.files import atomic_write
from zoo.environments import backends, gpus, stacks
from zoo.environments.machine import Machine
from zoo.protocol.events import short_device
from zoo.runs import evidence as rows_of_recipes
from zoo.runs.evidence import Row
from zoo.runs.records import Json
from zoo.tasks import tune, validate

# What of a proposal is kept: what `tune` writes.
PROPOSED = (
    "model", "backend", "stack", "data", "target", "fixed", "values", "trial", "search_s", "confirmed_s",
    "times_as_fast", "trials", "pruned", "failed", "jobs", "launcher", "importances", "seed", "machine", "date",
    "commit", "grade", "note",
)  # fmt: skip
LIMIT = "trainer.max_minutes="
# Data that everybody has the same; on other data a training says nothing of what its recipe promises.
PUBLISHED = ("mnist", "fashion", "digits")
SHOWN = ("device_gflop_per_s", "test_accuracy", "train_s", "largest_error")


@dataclasses.dataclass(frozen=True)
class StackRow:
    """A row of evidence for ``recipes/stacks/NAME/stack.yaml``."""

    stack: str
    hardware: str
    row: stacks.Evidence


@dataclasses.dataclass(frozen=True)
class Changes:
    """What evidence would change.

    Attributes:
        trainings: (model, backend, row) for ``recipes/MODEL/BACKEND.validated.json``.
        stacks: rows of evidence of stacks.
        machines: rows of the table of machines.
        remarks: what is not entered, and why.
        proposals: file of winners of a recipe, and the settings that a search proposes.
    """

    trainings: list[tuple[str, str, Row]]
    stacks: list[StackRow]
    machines: list[CertifiedMachine]
    remarks: list[str]
    proposals: list[tuple[Path, Json]] = dataclasses.field(default_factory=list)


def changes(evidence: Evidence) -> Changes:
    """Return what evidence, which is known to be plausible, would change."""
    whole = Changes([], [], [], [])
    for step in evidence.state.steps:
        record = evidence.runs.get(step.record)
        if step.step.startswith("train ") and step.state == PASSED and record is not None:
            _add_training(whole, step, record, evidence)
        if step.proposal and step.state == PASSED:
            file = paths.RECIPES / str(step.proposal["model"]) / f"{step.backend}.tuned.json"
            whole.proposals.append((file, {name: step.proposal.get(name) for name in PROPOSED}))
    if results.tuning(evidence.state.mode):
        return whole
    for place in evidence.state.places:
        if all(row.state == NOT_RUN for row in evidence.state.taken(place) if row.step == "device"):
            whole.remarks.append(f"{place.name}: it was ended before the device was proven")
            continue
        row = _machine_row(place, evidence)
        whole.machines.append(row)
        if row.passed and row.device:
            whole.stacks.append(_stack_row(place, row))
        else:
            whole.remarks.append(f"{place.name}: no device was proven, so its stack gets no row")
    return whole


def _add_training(whole: Changes, step: StepResult, record: Json, evidence: Evidence) -> None:
    """Take in the row of a training by a recipe; say why where it makes none."""
    data = record.get("data")
    if not isinstance(data, dict) or data.get("name") not in PUBLISHED:
        whole.remarks.append(f"{step.step}: it trained on data of certify's own, so it gives the recipe no row")
        return
    model = record.get("model")
    if model not in config_files.options("model"):
        whole.remarks.append(f"{step.step}: there is no model {model!r}")
        return
    try:
        row = _row(record, step, evidence)
    except ZooError as error:
        whole.remarks.append(f"{step.step}: {error.message}")
        return
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        whole.remarks.append(f"{step.step}: its record lacks what a row needs: {type(error).__name__} {error}")
        return
    wrong = [*validate.problems_of(record), *rows_of_recipes.problems(row)]
    if wrong:
        whole.remarks.append(f"{step.step}: {'; '.join(wrong)}")
    else:
        whole.trainings.append((str(model), step.backend, row))


def _row(record: Json, step: StepResult, evidence: Evidence) -> Row:
    shaped = {**record, "machine": dataclasses.asdict(_machine_of(record))}
    shaped["data"] = dict.fromkeys(("train_items", "validation_items", "test_items")) | record["data"]
    if not record.get("stopped"):  # a limit that was not reached changed nothing
        shaped["command"] = [word for word in record["command"] if not word.startswith(LIMIT)]
        trainer = {**record["config"]["trainer"], LIMIT.partition(".")[2].rstrip("="): None}
        shaped["config"] = {**record["config"], "trainer": trainer}
    row = validate.row_of(shaped)
    notes = [row.get("note"), f"certified on {evidence.state.hardware}"]
    notes += [validate.BUSY] if step.busy else []
    row["note"] = "; ".join(text for text in notes if text)
    return row


def _machine_of(record: Json) -> Machine:
    recorded = record["machine"]
    fields = {part.name: recorded[part.name] for part in dataclasses.fields(Machine) if part.name in recorded}
    graphics = [gpus.Gpu(**gpu) for gpu in recorded.get("gpus", [])]
    whole = Machine(**{**fields, "gpus": graphics, "notes": []})
    if not all(isinstance(number, int) and number >= 0 for number in (whole.cores, whole.memory_bytes)):
        raise TypeError("cores and memory are numbers")
    return whole


def _machine_row(place: Place, evidence: Evidence) -> CertifiedMachine:
    state = evidence.state
    rows = state.taken(place)
    device, kind = _device(rows, evidence)
    count = {name: sum(row.state == name for row in rows) for name in STATES}
    figures = {f"{row.step}: {name}": row.figures[name] for row in rows if row.state == PASSED
               for name in SHOWN if name in row.figures}  # fmt: skip
    failures = [row.step + (f" ({', '.join(row.issues)})" if row.issues else "") for row in rows if row.state == FAILED]
    stand_in = stacks.load(place.stack).platforms[state.platform].stand_in_for
    return CertifiedMachine(
        hardware=state.hardware, machine=state.machine, platform=state.platform, backend=place.backend,
        stack=place.stack, device=device, device_kind=kind or place.device_kind,
        grade="stand-in" if stand_in else "measured",
        mode=state.mode, date=state.finished, commit=state.commit, passed=count[PASSED], failed=count[FAILED],
        skipped=count[SKIPPED], not_run=count[NOT_RUN], failures=failures, figures=figures,
        archive_sha256=evidence.sha256,
    )  # fmt: skip


def _device(rows: list[StepResult], evidence: Evidence) -> tuple[str, str]:
    """Return name and kind of the device that the first step proved."""
    for row in rows:
        record = evidence.runs.get(row.record, {})
        device = record.get("device")
        if row.step == "device" and row.state == PASSED and isinstance(device, dict):
            graphics = [str(gpu.get("name")) for gpu in record.get("machine", {}).get("gpus", [])]
            described = device.get("description") or (
                graphics[0] if device.get("device_kind") == "gpu" and graphics else ""
            )
            return short_device(str(described or device.get("name"))), str(device.get("device_kind"))
    return "", ""


def _stack_row(place: Place, row: CertifiedMachine) -> StackRow:
    whole = row.passed + row.failed + row.skipped + row.not_run
    said = [f"{row.passed} of {whole} steps of certify passed on {row.device}"]
    said += [f"{row.not_run} were not run"] if row.not_run else []
    said += [f"failed: {', '.join(row.failures)}"] if row.failures else []
    said += [f"{name} {value:.4g}" for name, value in row.figures.items() if "accuracy" in name]
    source = f"python -m zoo certify{' --quick' if row.mode == 'quick' else ''}, {row.date}, {row.hardware}"
    device = _device_of(place, row.platform)
    return StackRow(
        place.stack, row.hardware, stacks.Evidence(row.grade, row.platform, device, "; ".join(said), source)
    )


def _device_of(place: Place, platform: str) -> str:
    """Return what the stack calls the device of a place."""
    named = stacks.load(place.stack).platforms[platform].devices
    known = [entry.device for row in backends.load_all() if row.name == place.backend for entry in row.serves]
    return next((name for name in named if name in known and (name == "cpu") == (place.device_kind == "cpu")), named[0])


def lines(whole: Changes) -> list[str]:
    """Say what would change, one sentence each."""
    said = []
    for model, backend, row in whole.trainings:
        said.append(f"{_shown(rows_of_recipes.file(model, backend))}: {rows_of_recipes.words(row)}")
        known = [
            old for old in rows_of_recipes.read(model, backend) if rows_of_recipes.key(old) == rows_of_recipes.key(row)
        ]
        said += [f"  in place of that of {old['machine']}, {old['date']}" for old in known]
    for file, row in whole.proposals:
        times = f", {row['times_as_fast']} times as fast as the recipe" if row["times_as_fast"] else ""
        said.append(f"{_shown(file)}: proposed {search_space.words(row['values'])}{times}")
    said += [f"{_shown(_stack_file(each.stack))}: {each.row.grade}, {each.row.what}" for each in whole.stacks]
    certified = {row.key: row for row in machines.read()}
    for machine in whole.machines:
        place = f"{machine.backend} with {machine.stack}"
        said.append(f"{_shown(machines.file())}: {machine.machine}, {place}: {machine.steps} ({machine.mode})")
        before = certified.get(machine.key)
        said += [f"  in place of that of {before.date}: {before.steps} ({before.mode})"] if before else []
    return [*said, *(f"not entered: {text}" for text in whole.remarks)]


def _shown(path: Path) -> str:
    return path.relative_to(paths.ROOT).as_posix() if path.is_relative_to(paths.ROOT) else str(path)


def _stack_file(name: str) -> Path:
    return paths.STACKS / name / "stack.yaml"


def write(whole: Changes) -> list[Path]:
    """Write the changes; return the files."""
    texts = {each.stack: with_row(_stack_file(each.stack).read_text(encoding="utf-8"), each) for each in whole.stacks}
    for model, backend, row in whole.trainings:
        rows_of_recipes.add(rows_of_recipes.file(model, backend), row)
    for name, text in texts.items():
        atomic_write(_stack_file(name), text)
        stacks.load(name)  # raises where the row made it malformed
    for file, row in whole.proposals:
        tune.keep(file, row)
    if whole.machines:
        machines.add(whole.machines)
    recipes = [rows_of_recipes.file(model, backend) for model, backend, _ in whole.trainings]
    proposed = [file for file, _ in whole.proposals]
    return [
        *dict.fromkeys([*recipes, *proposed]),
        *map(_stack_file, texts),
        *([machines.file()] * bool(whole.machines)),
    ]


def with_row(text: str, added: StackRow) -> str:
    """Return the text of a ``stack.yaml`` with a row of evidence, in place of an older one of the same machine.

    Everything else stays as it is, comments included: ``evidence`` is the last key of the file, and a row is five
    lines in the style of the others.
    """
    text = re.sub(r"^evidence: \[\]\s*$", "evidence:\n", text, flags=re.MULTILINE)
    head, mark, rows = text.partition("\nevidence:\n")
    if not mark or re.search(r"^\S", rows, re.MULTILINE):
        raise ZooError(
            f"The file of stack {added.stack} does not end in its evidence", "Move the key evidence to its end."
        )
    parts = re.split(r"^(?=  - )", rows, flags=re.MULTILINE)
    kept = [part for part in parts if not _is_older(part, added)]
    values = dataclasses.asdict(added.row)
    quoted = {
        name: value if name in ("grade", "platform", "device") else json.dumps(value, ensure_ascii=False)
        for name, value in values.items()
    }
    lines = [
        f"{'  - ' if number == 0 else '    '}{name}: {value}" for number, (name, value) in enumerate(quoted.items())
    ]
    whole = "".join(kept)
    return f"{head}{mark}{whole}{'' if not whole or whole.endswith(chr(10)) else chr(10)}" + "\n".join(lines) + "\n"


def _is_older(part: str, added: StackRow) -> bool:
    """Whether a row is of the same hardware, platform and device, and was made by certify, too."""
    row = added.row
    same = (f"platform: {row.platform}\n", f"device: {row.device}\n", f', {added.hardware}"')
    return "python -m zoo certify" in part and all(text in part for text in same)
