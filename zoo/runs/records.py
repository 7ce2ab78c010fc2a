"""The run folder: what a run leaves behind, and reading it again.

``run.json`` tells the whole story; it is there from the first second (``"exit": "running"``) and is only ever
replaced as a whole, so that a reader never sees half of it.
"""

import csv
import datetime
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from zoo.config.renamed_keys import rename_settings
from zoo.core import csv_files, paths
from zoo.core.errors import ZooError
from zoo.core.files import file_sha256

RECORD = "run.json"
# No record is a tenth as long.
MOST_BYTES = 64 << 20
EXITS = ("running", "completed", "interrupted", "failed")


def new_folder(root: Path, name: str | None, words: list[str]) -> Path:
    """Make the folder of a new run: ``name``, else time and words; a number is added where that is taken.

    Raises:
        ZooError: a named folder exists already, or the place cannot be written.
    """
    if name is not None and (not name.strip(" .") or Path(name).name != name):
        raise ZooError(
            f"output.name must be the plain name of a folder, got {name!r}", "Set output.root for its place."
        )
    stamp = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    base = name or "_".join([stamp, *(word.replace("/", "-") for word in words)])
    if name is not None and (root / base).exists():
        raise ZooError(f"The run folder {root / base} is there already", "Choose another output.name, or remove it.")
    try:
        root.mkdir(parents=True, exist_ok=True)
        return _first_free(root, base)
    except OSError as error:
        raise ZooError(
            f"Cannot make a run folder in {root.absolute()}: {error.strerror or error}",
            "Choose a place you can write: output.root=FOLDER",
        ) from error


def _first_free(root: Path, base: str) -> Path:
    for number in range(1, 1000):
        folder = root / (base if number == 1 else f"{base}_{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder.resolve()
    raise ZooError(f"There are 999 run folders called {base} in {root}", "Choose another output.root.")


def refuse_traps(folder: Path) -> None:
    """Stop where a folder that is to be written into holds anything but files and folders.

    A stranger's link could lead to any file of the user, and a pipe is waited on for ever.

    Raises:
        ZooError: the first of them.
    """
    for path in folder.rglob("*"):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            what = "a link, and what it leads to would be written to" if path.is_symlink() else "no file"
            raise ZooError(
                f"{path} is {what}", "No run makes such things. Put a copy of the file there, or remove it."
            )


def read(folder: Path) -> dict[str, Any]:
    """Read a run folder's record.

    Raises:
        ZooError: there is no such folder, it is no run folder, or its record is damaged.
    """
    record = as_written(folder)
    if not _is_sound(record):
        raise _no_record(folder / RECORD)
    settings = record.get("config")
    return record | {"config": rename_settings(settings, announce=False)} if isinstance(settings, dict) else record


def _no_record(path: Path) -> ZooError:
    return ZooError(f"{path} is not the record of a run", "Give another run, or train again.")


def as_written(folder: Path) -> dict[str, Any]:
    """A run folder's record, of which nothing but its ``exit`` is known to be right; raises as :func:`read`."""
    path = folder / RECORD
    if not folder.is_dir():
        raise ZooError(f"There is no run folder {folder}", "`run=last` takes the newest run under output.root.")
    try:
        record = json.loads(_text(path))
    except FileNotFoundError as error:
        raise ZooError(
            f"{folder} is no run folder: it has no {RECORD}", "Give the folder that `train` made."
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise ZooError(f"{path} cannot be read: {error}", "Give another run, or train again.") from error
    if not isinstance(record, dict) or record.get("exit") not in EXITS:
        raise _no_record(path)
    return record


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise ValueError("it is no file")
    with path.open("rb") as source:
        content = source.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it is longer than {MOST_BYTES:,} bytes")
    return content.decode("utf-8")


# What others rely on, where it is there.
_KINDS: dict[str, type | tuple[type, ...]] = {
    "verb": str, "model": (str, type(None)), "backend": str, "started": str, "config": dict, "data": dict,
    "stack": dict, "metrics": dict, "phases": dict, "seconds": (int, float), "command": list, "machine": dict,
    "interruptions": list, "attempts": list, "went_on_with": dict, "artifacts": list,
}  # fmt: skip


def _is_sound(record: dict[str, Any]) -> bool:
    """Whether a record, which may be a stranger's, holds values of the right types."""
    sound = all(isinstance(record[key], kind) for key, kind in _KINDS.items() if key in record)
    return sound and all(isinstance(seconds, int | float) for seconds in record.get("phases", {}).values())


def require(folder: Path, record: dict[str, Any], needed: Mapping[str, type]) -> None:
    """Stop where a record, which may be a stranger's, lacks what is needed of it.

    Args:
        folder: its run folder.
        record: its content.
        needed: dotted keys and the type of each value.

    Raises:
        ZooError: with every key that is missing or of another type.
    """
    wrong = [key for key, kind in needed.items() if not isinstance(_within(record, key), kind)]
    if wrong:
        raise ZooError(f"{folder / RECORD} tells no {', no '.join(wrong)}", "Give another run, or train again.")


def _within(record: Any, key: str) -> Any:
    for part in key.split("."):
        record = record.get(part) if isinstance(record, dict) else None
    return record


def latest(root: Path, verb: str, trained: bool = True) -> Path:
    """The newest run folder of a verb under a root.

    Args:
        root: folder of all run folders.
        verb: such as ``train``.
        trained: only those that hold weights.

    Raises:
        ZooError: there is none.
    """
    found = []
    for path in root.expanduser().resolve().glob(f"*/{RECORD}"):
        try:
            record = read(path.parent)
        except ZooError:  # a damaged record is not the newest good run; naming its folder still tells what is wrong
            continue
        if record.get("verb") == verb and ((path.parent / "weights.npz").is_file() or not trained):
            # Two runs may have begun in the same second; then the one that ended last is the newer.
            found.append((str(record.get("started", "")), path.stat().st_mtime, path.parent))
    if not found:
        raise ZooError(f"There is no finished {verb} run under {root.absolute()}", "Train one, or give run=FOLDER.")
    return max(found)[-1]


def describe_file(folder: Path, path: Path) -> dict[str, Any]:
    """Name, size and checksum of an artifact, its path relative to the run folder."""
    return {"path": path.relative_to(folder).as_posix(), "bytes": path.stat().st_size, "sha256": file_sha256(path)}


def write_history(path: Path, epochs: list[dict[str, Any]]) -> None:
    """Write one row an epoch as CSV; the columns are those that any epoch has."""
    columns = [
        "epoch",
        "loss",
        "accuracy",
        "val_loss",
        "val_accuracy",
        "val_token_accuracy",
        "val_top5",
        "content",
        "style",
        "roughness",
        "learning_rate",
        "epoch_s",
        "items_per_s",
        "peak_memory_bytes",
        "best",
    ]
    present = [name for name in columns if any(name in row for row in epochs)]
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, present, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(epochs)


def read_history(folder: Path) -> list[dict[str, float]]:
    """Read ``history.csv`` back as numbers; an empty list where the run made no whole epoch."""
    path = folder / "history.csv"
    if not path.is_file():
        return []
    try:
        with path.open(newline="", encoding="utf-8") as source:
            rows = list(csv.DictReader(source, restkey="rest", strict=True))
            return [{str(key): _number(value) for key, value in row.items() if key != "rest"} for row in rows]
    except (OSError, ValueError, csv.Error) as error:
        raise ZooError(f"{path} cannot be read: {error}", "Remove it, or train again.") from error


def _number(text: str) -> float:
    if text in ("True", "False"):
        return float(text == "True")
    return float(text or "nan")


def likeliest(names: list[str], classes: list[str], probabilities: Any) -> Iterator[dict[str, Any]]:
    """What each row of probabilities says: ``input``, ``class`` and ``probability``.

    Args:
        names: what each row is about, n of them.
        classes: class names.
        probabilities: (n, classes) float32.
    """
    for name, values in zip(names, probabilities, strict=True):
        best = int(values.argmax())
        yield {"input": name, "class": classes[best], "probability": float(values[best])}


def write_predictions(path: Path, names: list[str], classes: list[str], probabilities: Any) -> None:
    """Write ``predictions.csv``: input, class, probability, then the probability of every class.

    Args:
        names: what each row is about, n of them.
        classes: class names.
        probabilities: (n, classes) float32.
    """
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv_files.Writer(out)
        writer.writerow(["input", "class", "probability", *(f"p_{name}" for name in classes)])
        for row, values in zip(likeliest(names, classes, probabilities), probabilities, strict=True):
            writer.writerow([*row.values(), *(f"{value:.9g}" for value in values)])


def git_commit() -> str | None:
    """Commit of the checkout the zoo runs from, with ``-dirty`` where it was changed; None outside a checkout."""
    if not (paths.ROOT / ".git").exists() or shutil.which("git") is None:
        return None
    command = ["git", "-C", str(paths.ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    found = answer.stdout.strip()
    return found if re.fullmatch(r"[0-9a-f]{40}(-dirty)?", found) else None


def now() -> str:
    """The time with its zone, to the second."""
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")
