"""List and remove stored items: runs, parts of the cache, environments and kernels."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from zoo.core import console
from zoo.core.errors import ZooError

if TYPE_CHECKING:
    from zoo.runs.storage import StoredItem

T = TypeVar("T")
# Largest number of rows in a table of runs, because reading thousands takes seconds.
NEWEST = 100


def show(title: str, rows: "list[T]", as_json: bool, cells: "Callable[[T], dict[str, str]]", nothing: str) -> None:
    """Print rows as JSON, or as a table of their cells; without rows, print ``nothing`` instead of a table."""
    if as_json:
        console.output_json(rows, indent=2)
    elif not rows:
        console.output(nothing)
    else:
        console.table_of(title, [cells(row) for row in rows])


def show_stored(title: str, rows: "list[StoredItem]", as_json: bool) -> None:
    def cells(row: "StoredItem") -> dict[str, str]:
        size = f"{row.size_bytes / 1e6:,.1f} MB"
        return {"name": row.name, "what": row.about, "size": size, "started": row.started}

    show(title, rows, as_json, cells, "Nothing is stored")


def remove(names: list[str], remover: Callable[[Any], Iterable[Path]], unnamed: ZooError, every: bool = False) -> int:
    """Remove the named items, or all of them, and print each; raise ``unnamed`` without a name."""
    if every and names:
        raise ZooError(f"--all removes more than {names[0]!r}", "Give either names or --all.")
    if not every and not names:
        raise unnamed
    gone = list(remover(None if every else names))
    console.say("\n".join(f"Removed {folder}" for folder in gone) or "There is nothing to remove")
    return 0


def say_not_shown(total: int, shown: int) -> None:
    if shown < total:
        console.say(f"{total - shown:,} of {total:,} runs are not shown; --all shows them")
