"""`zoo runs`: list and remove run folders."""

import argparse
from functools import partial
from pathlib import Path

from zoo.cli import storage_table
from zoo.cli.parser import Verbs, add_actions, add_json, add_verb
from zoo.core.errors import ZooError
from zoo.core.paths import existing_input


def add_parser(verbs: "Verbs") -> None:
    actions = add_actions(add_verb(verbs, "runs", None, "list and remove run folders"))
    listing = add_verb(actions, "list", run, "list run folders and their sizes")
    add_json(listing)
    listing.add_argument(
        "--all", action="store_true", help=f"not only the newest {storage_table.NEWEST}; --json always lists all runs"
    )
    remove = add_verb(actions, "remove", _remove, "remove the named run folders, with all files in them")
    remove.add_argument("name", nargs="*", help="as `python -m zoo runs list` shows it")
    for parser in (listing, remove):
        parser.add_argument("--root", metavar="FOLDER", default="runs", help="the folder with all run folders")


def run(parsed: argparse.Namespace) -> int:
    from zoo.runs import storage

    if parsed.root != "runs":
        existing_input(parsed.root, "Give the folder with the run folders.")
    folders = storage.folders(Path(parsed.root))
    shown = folders if parsed.all or parsed.json else folders[-storage_table.NEWEST :]
    storage_table.show_stored("runs", [storage.run(folder) for folder in shown], parsed.json)
    storage_table.say_not_shown(len(folders), len(shown))
    return 0


def _remove(parsed: argparse.Namespace) -> int:
    from zoo.runs import storage

    unnamed = ZooError("No run is named", "`python -m zoo runs list` lists them.")
    return storage_table.remove(parsed.name, partial(storage.remove_runs, Path(parsed.root)), unnamed)
