"""Resume an interrupted run in its folder with its own command, and record the interruption."""

import copy
import dataclasses
import re
import shlex
from pathlib import Path
from typing import Any

from zoo.config import config_files, declared, model_files, references, setting
from zoo.config.overrides import RESUME, USER, Override, Overrides, leaves
from zoo.config.schemas.common import TRAINING_PRECISIONS, Output, Settings
from zoo.core import console
from zoo.core.errors import ZooError, listed
from zoo.core.files import parts_of
from zoo.core.paths import user_path
from zoo.runs import folder as run_folder
from zoo.runs import lock, records
from zoo.runs.records import Json, RunRecord

KEY = RESUME
# Start the run in output.name, or resume it if it exists, for commands that are repeated.
AUTO = "auto"
PRECISION = "trainer.precision"
# Keys that are not compared, because the checksum and arguments of the model are compared.
NAMED = ("model.file", "model.about")
NEEDED = {"run_id": str, "config": dict, "phases": dict, "backend": str, "stack.name": str, "command": list}


def folder_of(overrides: Overrides) -> Path:
    """Return the folder of the run in ``resume=``: a path, or ``last``."""
    named = overrides.get(KEY)
    assert named is not None  # noqa: S101  (checked by the caller)
    root = Path(overrides.get("output.root") or Output().root)
    return run_folder.latest(root, "train", False, f"{KEY}=") if named == "last" else run_folder.find(named, root)


def settle(overrides: Overrides) -> Overrides:
    """Replace ``resume=auto`` with ``resume=FOLDER`` if the run exists, or remove it."""
    if overrides.get(KEY) != AUTO:
        return overrides
    folder = named_folder(overrides)
    if (folder / records.RECORD).is_file():
        return overrides.with_(USER, {KEY: str(folder)})
    # Remove a folder whose host was killed before it wrote a record, but no other folder.
    left = set(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else None
    begun = {folder / lock.NAME, folder / "config.yaml", *parts_of(folder / records.RECORD)}
    if left is not None and left <= begun and not lock.is_held(folder):
        for path in left:
            path.unlink()
        folder.rmdir()
    return overrides.without(KEY)


def named_folder(overrides: Overrides) -> Path:
    root, name = overrides.get("output.root") or Output().root, overrides.get("output.name")
    if name is None:
        raise ZooError(f"{KEY}={AUTO} needs the name of a run", "Add output.name=NAME.")
    return (user_path(root) / name).absolute()


def expand(overrides: Overrides) -> Overrides:
    """Return the overrides that started the run, with the new overrides and ``resume=FOLDER`` on top."""
    folder = folder_of(overrides)
    run_folder.refuse_traps(folder)
    name, root = overrides.get("output.name"), overrides.get("output.root")
    if name not in (None, folder.name) or (root and not folder.absolute().is_relative_to(user_path(root).absolute())):
        message = f"The resumed run stays in {folder}: output.name and output.root have no effect"
        raise ZooError(message, "Remove them.")
    content = records.read(folder)
    if content.get("verb") != "train":
        raise ZooError(f"{folder} is not a training run and cannot be resumed", "Give a folder that `train` created.")
    records.require(folder, content, NEEDED)
    record = RunRecord.from_json(content)
    if record.exit == "completed" and not record.get("stopped") and not _more_epochs(record, overrides):
        more = "To train more epochs, add trainer.epochs=NUMBER." if _epochs(record) else "Start a new run."
        raise ZooError(f"{folder} is complete: nothing to resume", more)
    given = overrides.get("model")
    model_files.require_same(record.config.get("model"), given, folder, f"train {shlex.quote(f'{KEY}={folder}')}")
    return _first_overrides(record, folder, overrides) | overrides.with_(USER, {KEY: str(folder)})


def _first_overrides(record: RunRecord, folder: Path, given: Overrides) -> Overrides:
    """Return the overrides that started the run, with its recipe's settings and later adjustments."""
    arguments = record.command[4:]
    if not all(isinstance(argument, str) and "=" in argument for argument in arguments):
        raise ZooError(f"{folder / records.RECORD} has no command to resume with", "Train again.")
    first = Overrides.parse(arguments, KEY).without("stack", *given.layers)
    # A launcher started the run; it is resumed here.
    first = Overrides(entry for entry in first if entry.key.partition(".")[0] != "launcher")
    outward = [entry for entry in first if reaches_out(entry)]
    if outward:
        shown = " ".join(entry.text for entry in outward)
        console.warn(f"Ignored settings in the run's record: {shown}. Repeat them if you need them")
        first = first.without(*(entry.key for entry in outward))
    if not (given.is_given("stack") or given.is_given("backend")):
        first = first.with_(KEY, {"stack": record.stack["name"]})
    kept = {key: value for key, value in _of_recipe(record).items() if first.get(key) is None}
    # Changes from earlier resumptions: numbers, and the location of the data.
    adjusted, places = record.get("adjusted", {}), declared.keys_with("literal")
    kinds = {key: str if key in places else int for key in declared.keys_with("adjustable")}
    changes = {key: adjusted[key] for key, kind in kinds.items() if isinstance(adjusted.get(key), kind)}
    return first.with_(KEY, kept | changes)


def _of_recipe(record: RunRecord) -> Json:
    """Return a run's settings from its recipe, which may have changed since."""
    content, model = dict(leaves(record.config)), record.config.get("model")
    name = str(model.get("name")) if isinstance(model, dict) else ""
    recorded = {key: content[key] for key in sorted(config_files.recipe_keys(name)) if key in content}
    plain = {key: value for key, value in recorded.items() if _is_plain(value)}
    precision = content.get(PRECISION)
    return plain | ({PRECISION: precision} if precision in TRAINING_PRECISIONS else {})


def _is_plain(value: Any) -> bool:
    """Return True if a value of a record, which may come from a third party, is a number, a word or None."""
    word = isinstance(value, str) and re.fullmatch(r"\w{1,40}", value, re.ASCII)
    return value is None or isinstance(value, bool | int | float) or bool(word)


def reaches_out(entry: Override) -> bool:
    """Return True if an override runs a program, writes outside of the run folder or contacts an address.

    Such overrides are not taken from the record, because the folder may come from a third party.
    """
    key, value = entry.key.strip(" +~"), str(entry.value)
    if key == references.KEY:  # a file could contain such settings
        return value not in references.names()
    if key == "model":  # a file would be executed
        return value not in config_files.options("model") and not model_files.is_application(value)
    return declared.is_outward(key) or (key == "backend" and "{" in value)


def _more_epochs(record: RunRecord, overrides: Overrides) -> bool:
    asked, before = overrides.get("trainer.epochs"), _epochs(record)
    number = re.fullmatch(r"\d{1,9}", str(asked), re.ASCII)
    return number is not None and before is not None and int(number[0]) > before


def _epochs(record: RunRecord) -> int | None:
    """Return the planned number of epochs, or None for a run without epochs."""
    trainer = record.config.get("trainer")
    epochs = trainer.get("epochs") if isinstance(trainer, dict) else None
    adjusted = record.get("adjusted", {}).get("trainer.epochs")
    if isinstance(epochs, int) and isinstance(adjusted, int):
        return adjusted
    return epochs if isinstance(epochs, int) else None


def adjustments(settings: Settings, record: RunRecord) -> Json:
    """Return the settings that change with this resumption and are kept for later ones."""
    before = dict(leaves(record.config)) | record.get("adjusted", {})
    now = dict(leaves(dataclasses.asdict(settings)))
    known = [key for key in declared.keys_with("adjustable") if key in before and key in now]
    return {key: now[key] for key in known if now[key] != before[key]}


def refuse_changes(settings: Settings, record: RunRecord) -> None:
    before, now = dict(leaves(record.config)), dict(leaves(dataclasses.asdict(settings)))
    changed = [
        key
        for key in sorted(before.keys() & now.keys())
        if before[key] != now[key] and not setting.of(type(settings), key).is_resumable and key not in NAMED
    ]
    if changed:
        asked, had = (
            listed([f"{key}={'null' if row[key] is None else row[key]}" for key in changed], " ")
            for row in (now, before)
        )
        raise ZooError(f"Cannot resume with {asked}; the run used {had}", "Remove the setting, or start a new run.")


def reopened(previous: RunRecord) -> RunRecord:
    """Return the record of a resumed run, which is running again, with the interruption added.

    If the host did not record an exit, the exit in the interruption is ``killed``.
    """
    record = copy.deepcopy(previous)
    interruption = {
        "exit": records.KILLED if previous.exit == "running" else previous.exit,
        **{name: vars(record).pop(name, None) for name in ("finished", "error", "stopped")},
        "resumed": records.now(),
    }
    record.exit, record.interruptions = "running", [*previous.get("interruptions", []), interruption]
    return record


def refuse_other_data(previous: RunRecord, data: Json) -> None:
    was, is_now = previous.get("data", {}).get("sha256"), data.get("sha256")
    if was and is_now and was != is_now:
        raise ZooError(
            f"The data differ from the data of the run: its sha256 was {was}, now it is {is_now}",
            "Restore the files, give their location with data.root=PATH, or start a new run.",
        )
