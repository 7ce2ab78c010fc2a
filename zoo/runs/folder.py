"""Create, check and find run folders."""

import contextlib
import datetime
import os
from collections.abc import Iterable
from pathlib import Path

from zoo.core.errors import ZooError
from zoo.core.files import try_folder
from zoo.core.paths import user_path
from zoo.runs import records

# The record of a sweep, whose folder contains run folders.
SWEEP = "sweep.json"


def new_folder(root: Path, name: str | None, words: list[str]) -> Path:
    """Create a new run folder, called ``name``, or the time and ``words``, with a number if it exists."""
    check_name(root, name)
    stamp = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    base = name or "_".join([stamp, *(word.replace("/", "-") for word in words)])
    try:
        root.mkdir(parents=True, exist_ok=True)
        return first_free(root, base)
    except OSError as error:
        raise _root_error(root, error) from error


def check_name(root: Path, name: str | None) -> None:
    """Raise an error for an existing run folder, or a name that is not a plain one."""
    if name is None:
        return
    if not name.strip(" .") or Path(name).name != name or not name.isprintable():
        raise ZooError(
            f"output.name must be a plain folder name, got {name!r}", "Set its parent folder with output.root."
        )
    if name in ("last", "auto"):
        raise ZooError(f"output.name={name} is reserved: resume={name} has another meaning", "Choose another name.")
    if (root / name).exists():
        raise ZooError(f"The run folder {root / name} already exists", "Choose another output.name, or remove it.")


def check_root(root: Path) -> None:
    """Raise an error for a folder in which no run folder can be created."""
    try:
        try_folder(root)
    except OSError as error:
        raise _root_error(root, error) from error


def _root_error(root: Path, error: OSError) -> ZooError:
    return ZooError(
        f"Cannot create a run folder in {root.absolute()}: {error.strerror or error}",
        "Choose a writable folder: output.root=FOLDER",
    )


def first_free(root: Path, base: str) -> Path:
    """Create and return the folder ``base``, with a number if it exists; raise OSError on failure."""
    for number in range(1, 1000):
        folder = root / (base if number == 1 else f"{base}_{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder.resolve()
    raise ZooError(f"There are 999 run folders called {base} in {root}", "Choose another output.root.")


def refuse_traps(folder: Path) -> None:
    """Raise an error if a folder to write into contains links or special files.

    A link from a third party could point to any file of the user, and a pipe could block forever.
    """
    for path in folder.rglob("*"):
        is_link = path.is_symlink() or (path.is_file() and path.stat().st_nlink > 1)  # the latter is a hard link
        if is_link or not (path.is_file() or path.is_dir()):
            what = "a link, through which another file would be changed" if is_link else "not a file"
            raise ZooError(f"{path} is {what}", "Replace it with a copy of the file, or remove it.")


def refuse_file(root: Path) -> Path:
    if os.path.isfile(root):  # False for a folder that cannot be opened
        raise ZooError(f"{root} is a file, not a folder", "Give the folder with the run folders: --root FOLDER")
    return root


def run_folders(root: Path) -> list[Path]:
    """Return all run folders under a root, including those of sweeps, sorted by name."""
    sweeps = [path.parent.name for path in root.glob(f"*/{SWEEP}")]
    return sorted(path.parent for folder in (".", *sweeps) for path in (root / folder).glob(f"*/{records.RECORD}"))


def find(name: str, root: Path) -> Path:
    """Return the folder of a run, from its path or its name under a root, as printed by `runs list`."""
    given, inside = user_path(name), user_path(root) / name
    return (inside if not given.is_dir() and inside.is_dir() else given).resolve()


def latest(root: Path, verb: str, trained: bool = True, key: str = "run=") -> Path:
    """Return the newest run folder of a verb under a root.

    ``trained`` requires weights. ``key`` is the setting that names a run, for the error.
    """
    for path in newest_first(run_folders(user_path(root).resolve())):
        try:
            record = records.read(path)
        except ZooError:  # skip a damaged record; it is reported if the user names its folder
            continue
        if record.get("verb") == verb and ((path / "weights.npz").is_file() or not trained):
            return path
    finished = "finished " * trained
    raise ZooError(f"There is no {finished}{verb} run under {root.absolute()}", f"Train one, or give {key}FOLDER.")


def newest_first(folders: Iterable[Path]) -> list[Path]:
    return sorted(folders, key=lambda folder: (begun_ns(folder), folder), reverse=True)


def begun_ns(folder: Path) -> int:
    """Return the start of a run by the clock of the file system, in nanoseconds since 1970, for sorting.

    It is the time of ``config.yaml``, which resuming does not change, or of ``run.json``. The time in the record is
    not used, because it depends on time zones and may come from a third party. A file from an archive can have any
    modification time, so the result is limited by the time of its last status change.
    """
    for name in ("config.yaml", records.RECORD):
        with contextlib.suppress(OSError):
            status = (folder / name).lstat()
            return min(status.st_mtime_ns, status.st_ctime_ns)
    return 0
