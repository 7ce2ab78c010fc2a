"""Run folders: create one, check one that is written into again, find the latest."""

import contextlib
import datetime
from collections.abc import Iterable
from pathlib import Path

from zoo.core.errors import ZooError
from zoo.core.files import file_sha256, try_folder
from zoo.core.paths import user_path
from zoo.runs import records
from zoo.runs.records import Json

# The record of a sweep, in whose folder run folders lie.
SWEEP = "sweep.json"


def new_folder(root: Path, name: str | None, words: list[str]) -> Path:
    """Create the folder of a new run: ``name``, else time and words; a number is added where that is taken."""
    _check_name(root, name)
    stamp = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    base = name or "_".join([stamp, *(word.replace("/", "-") for word in words)])
    try:
        root.mkdir(parents=True, exist_ok=True)
        return first_free(root, base)
    except OSError as error:
        raise _root_error(root, error) from error


def _check_name(root: Path, name: str | None) -> None:
    if name is None:
        return
    if not name.strip(" .") or Path(name).name != name:
        raise ZooError(
            f"output.name must be the plain name of a folder, got {name!r}", "Set output.root for its place."
        )
    if (root / name).exists():
        raise ZooError(f"The run folder {root / name} is there already", "Choose another output.name, or remove it.")


def check_new(root: Path, name: str | None) -> None:
    """Refuse what :func:`new_folder` would refuse, and make nothing."""
    _check_name(root, name)
    check_root(root)


def check_root(root: Path) -> None:
    """Refuse a folder of run folders in which none could be made, before any work is done."""
    try:
        try_folder(root)
    except OSError as error:
        raise _root_error(root, error) from error


def _root_error(root: Path, error: OSError) -> ZooError:
    return ZooError(
        f"Cannot make a run folder in {root.absolute()}: {error.strerror or error}",
        "Choose a place you can write: output.root=FOLDER",
    )


def first_free(root: Path, base: str) -> Path:
    """Create a folder called ``base``, with a number after it where that is taken; return where it is.

    Raises:
        OSError: the place cannot be written.
    """
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
    """
    for path in folder.rglob("*"):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            what = "a link, and what it leads to would be written to" if path.is_symlink() else "no file"
            raise ZooError(
                f"{path} is {what}", "No run makes such things. Put a copy of the file there, or remove it."
            )


def run_folders(root: Path) -> list[Path]:
    """Return all run folders under a root, those of sweeps included, in the order of their names."""
    sweeps = [path.parent.name for path in root.glob(f"*/{SWEEP}")]
    return sorted(path.parent for folder in (".", *sweeps) for path in (root / folder).glob(f"*/{records.RECORD}"))


def latest(root: Path, verb: str, trained: bool = True) -> Path:
    """Return the newest run folder of a verb under a root.

    Args:
        root: folder of all run folders.
        verb: such as ``train``.
        trained: only those that hold weights.
    """
    for path in newest_first(run_folders(user_path(root).resolve())):
        try:
            record = records.read(path)
        except ZooError:  # a damaged record is not the newest good run; naming its folder still tells what is wrong
            continue
        if record.get("verb") == verb and ((path / "weights.npz").is_file() or not trained):
            return path
    raise ZooError(f"There is no finished {verb} run under {root.absolute()}", "Train one, or give run=FOLDER.")


def newest_first(folders: Iterable[Path]) -> list[Path]:
    """Sort run folders by when they were begun, and then by name, the newest first."""
    return sorted(folders, key=lambda folder: (begun_ns(folder), folder), reverse=True)


def begun_ns(folder: Path) -> int:
    """Return when a run began by the clock of the file system, in nanoseconds since 1970, to order runs by.

    That is when its ``config.yaml`` was written, which resuming leaves alone; ``run.json`` stands in where there is
    none. What the record says depends on time zones, and on who wrote it. A file from an archive may bear any time:
    it counts as no later than it came to this disk. A copy that lost the times of its files counts as begun then.
    """
    for name in ("config.yaml", records.RECORD):
        with contextlib.suppress(OSError):
            status = (folder / name).lstat()
            return min(status.st_mtime_ns, status.st_ctime_ns)
    return 0


def describe_file(folder: Path, path: Path) -> Json:
    """Return name, size and checksum of an artifact, its path relative to the run folder."""
    return {"path": path.relative_to(folder).as_posix(), "bytes": path.stat().st_size, "sha256": file_sha256(path)}
