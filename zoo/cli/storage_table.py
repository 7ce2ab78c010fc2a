"""Print stored items with their sizes."""

from typing import TYPE_CHECKING

from zoo.core import console

if TYPE_CHECKING:
    from zoo.runs.storage import StoredItem

# Largest number of rows in a table of runs, because reading thousands takes seconds.
NEWEST = 100


def show(title: str, rows: "list[StoredItem]", as_json: bool) -> None:
    if as_json:
        console.output_json(rows, indent=2)
    elif not rows:
        console.output("Nothing is stored")
    else:
        console.table_of(title, [
            {"name": row.name, "what": row.about, "size": f"{row.size_bytes / 1e6:,.1f} MB", "started": row.started}
            for row in rows
        ])  # fmt: skip


def say_not_shown(total: int, shown: int) -> None:
    if shown < total:
        console.say(f"{total - shown:,} of {total:,} runs are not shown; --all shows them")
