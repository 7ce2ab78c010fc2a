"""Going on with a run that was cut off: its own command, its own folder, and an account of the interruptions."""

import copy
import dataclasses
import re
from pathlib import Path
from typing import Any

from zoo.config.overrides import value_of
from zoo.config.schemas.common import Output, Settings
from zoo.core import console
from zoo.core.errors import ZooError
from zoo.runs import folder as run_folder
from zoo.runs import records
from zoo.runs.records import RunRecord

KEY = "resume"
# What a run may have been changed to on its way.
SMALLER = "trainer.batch_size"
# What may differ from the command that began the run. Everything else would make it another run.
FREE = (
    "backend.", "output.", "stack", "trainer.epochs", "trainer.batch_size", "trainer.max_minutes",
    "trainer.max_memory_gb", "trainer.disk_reserve_gb", "trainer.checkpoint_minutes", "trainer.keep_checkpoints",
    "trainer.on_nan", "trainer.on_oom", "trainer.on_hangup", "trainer.hang_minutes", "trainer.restarts",
    "tensorboard", "mlflow",
    "checkpoint_minutes", "every",
)  # fmt: skip
NEEDED = {"config": dict, "phases": dict, "backend": str, "stack.name": str, "command": list}


def requested(overrides: list[str]) -> str | None:
    """The run that ``resume=`` names, if it is there."""
    return value_of(KEY, overrides)


def folder_of(overrides: list[str]) -> Path:
    """The folder of the run that ``resume=`` names: a path, or ``last``."""
    named = requested(overrides)
    assert named is not None  # noqa: S101  (asked before)
    if named != "last":
        return Path(named).expanduser().resolve()
    root = Path(value_of("output.root", overrides) or Output().root)
    return run_folder.latest(root, "train", trained=False)


def expand(overrides: list[str]) -> list[str]:
    """The overrides that began the run, with new ones laid over, and ``resume=`` as its folder.

    Raises:
        ZooError: there is no such run, it is no training, or it came to its end.
    """
    folder = folder_of(overrides)
    run_folder.refuse_traps(folder)
    record = records.read(folder)
    if record.get("verb") != "train":
        raise ZooError(f"{folder} is no training: nothing to resume", "Give the folder that `train` made.")
    records.require(folder, record, NEEDED)
    if record["exit"] == "completed" and not record.get("stopped") and not _more_epochs(record, overrides):
        more = "More epochs than it had: add trainer.epochs=NUMBER." if _epochs(record) else "Train anew."
        raise ZooError(f"{folder} is complete: nothing to resume", more)
    fresh = [text for text in overrides if text.partition("=")[0] != KEY]
    keys = {text.partition("=")[0] for text in fresh}
    begun = [text for text in _command(record, folder) if text.partition("=")[0] not in keys | {"stack"}]
    if any(text.startswith("backend.python=") for text in begun):
        # The folder may come from a stranger, who could name any program as the interpreter.
        console.warn("backend.python is not taken from the run's record; give it again if it shall be used")
        begun = [text for text in begun if not text.startswith("backend.python=")]
    stack = record.get("stack", {}).get("name")
    if stack and not {"stack", "backend"} & keys:
        begun.append(f"stack={stack}")
    if SMALLER not in keys and isinstance(smaller := record.get("adjusted", {}).get(SMALLER), int):
        begun.append(f"{SMALLER}={smaller}")
    return [*begun, *fresh, f"{KEY}={folder}"]


def _command(record: dict[str, Any], folder: Path) -> list[str]:
    command = record.get("command")
    if not isinstance(command, list) or not all(isinstance(word, str) and "=" in word for word in command[4:]):
        raise ZooError(f"{folder / records.RECORD} tells no command to go on with", "Train again.")
    return command[4:]


def _more_epochs(record: dict[str, Any], overrides: list[str]) -> bool:
    asked, before = value_of("trainer.epochs", overrides), _epochs(record)
    told = bool(asked) and re.fullmatch(r"\d{1,9}", str(asked), re.ASCII)
    return bool(told) and before is not None and int(str(asked)) > before


def _epochs(record: dict[str, Any]) -> int | None:
    """How many epochs a run was to have; None where it is counted in other things."""
    trainer = record["config"].get("trainer")
    found = trainer.get("epochs") if isinstance(trainer, dict) else None
    return found if isinstance(found, int) else None


def refuse_changes(settings: Settings, record: dict[str, Any]) -> None:
    """Stop where the settings would make another run of it.

    Raises:
        ZooError: which settings differ, and how.
    """
    before, now = _flat(record.get("config", {})), _flat(dataclasses.asdict(settings))
    changed = [
        f"{key} was {before[key]!r} and is {now[key]!r}"
        for key in sorted(before.keys() & now.keys())
        if before[key] != now[key] and not key.startswith(FREE)
    ]
    if changed:
        raise ZooError(f"This would be another run: {'; '.join(changed)}", "Leave these out, or train anew.")


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in tree.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def reopened(previous: RunRecord) -> RunRecord:
    """Return the record of a run that is resumed: running again, with the interruption added.

    The exit of a run whose host had no time to record one is ``killed``.
    """
    record = copy.deepcopy(previous)
    interruption = {
        "exit": "killed" if previous.exit == "running" else previous.exit,
        **{name: previous.get(name) for name in ("finished", "error", "stopped")},
        "resumed": records.now(),
    }
    record.discard("error", "finished", "stopped")
    record.exit, record.interruptions = "running", [*previous.get("interruptions", []), interruption]
    return record


def refuse_other_data(previous: RunRecord, record: RunRecord) -> None:
    """Stop where the data are no longer those that the run was begun with.

    Raises:
        ZooError: with both checksums.
    """
    was, is_now = (each.get("data", {}).get("sha256") for each in (previous, record))
    if was and is_now and was != is_now:
        raise ZooError(
            f"The data are no longer those that the run was begun with: sha256 was {was}, is {is_now}",
            "Restore the files under data.root, or train anew.",
        )
