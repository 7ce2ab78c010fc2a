"""List and remove run folders and caches, with their sizes."""

from dataclasses import dataclass
from pathlib import Path

from zoo.core import paths, uses
from zoo.core.errors import ZooError, require_known
from zoo.core.files import folder_size, remove
from zoo.core.paths import user_path
from zoo.runs import folder as run_folder
from zoo.runs import lock, records


@dataclass(frozen=True)
class StoredItem:
    """A run folder, or a part of the cache.

    Attributes:
        about: description and state.
        started: start of a run; empty for the cache.
    """

    name: str
    about: str
    started: str
    size_bytes: int
    folder: Path


def folders(root: Path) -> list[Path]:
    root = run_folder.refuse_file(user_path(root)).resolve()
    files = sorted(path for name in (records.RECORD, run_folder.SWEEP) for path in root.glob(f"*/{name}"))
    own = dict.fromkeys(path.parent for path in files if not path.parent.is_symlink())
    return run_folder.newest_first(own)[::-1]


def run(folder: Path) -> StoredItem:
    size = folder_size(folder)
    if (folder / run_folder.SWEEP).is_file():
        count = len(list(folder.glob(f"*/{records.RECORD}")))
        return StoredItem(folder.name, f"a sweep, {count} runs", "", size, folder)
    try:
        record = records.read(folder)
    except ZooError as error:
        return StoredItem(folder.name, f"damaged: {error.message}", "", size, folder)
    about = f"{record.get('verb')} {record.get('model')} on {record.get('backend')}, {record['exit']}"
    return StoredItem(folder.name, about, str(record.get("started", "")), size, folder)


def remove_runs(root: Path, names: list[str]) -> list[Path]:
    present = {folder.name: folder for folder in folders(root)}
    require_known("run", names, present)
    for name in names:
        if lock.is_held(present[name]):
            raise ZooError(f"{present[name]} is being written", "Stop that run first, or let it end.")
    for name in names:
        remove(present[name])
    return [present[name] for name in names]


def cache() -> list[StoredItem]:
    """Return all parts of the cache except environments, which have their own command."""
    root = paths.cache_dir()
    items = []
    for group in sorted(path for path in _inside(root) if path.is_dir() and path.name != "envs"):
        for part in _inside(group):
            size = folder_size(part) if part.is_dir() else part.lstat().st_size
            items.append(StoredItem(f"{group.name}/{part.name}", group.name, "", size, part))
    return items


def _inside(folder: Path) -> list[Path]:
    visible = [path for path in folder.iterdir() if not path.name.startswith(".")] if folder.is_dir() else []
    return sorted(path for path in visible if not path.is_symlink())


def remove_cached(names: list[str] | None) -> list[Path]:
    """Delete parts of the cache by name, or (None) all except environments; they are recreated when needed."""
    present = {row.name: row.folder for row in cache()}
    require_known("part of the cache", names or [], present)
    gone = [folder for name, folder in present.items() if names is None or name in names]
    with uses.unused(paths.cache_in_use(), "The cache"):
        for path in gone:
            remove(path)
    return gone
