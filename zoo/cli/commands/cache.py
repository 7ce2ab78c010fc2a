"""`zoo cache`: list and remove cached files other than environments."""

import argparse

from zoo.cli import storage_table
from zoo.cli.parser import Verbs, add_actions, add_json, add_verb
from zoo.core.errors import ZooError


def add_parser(verbs: "Verbs") -> None:
    actions = add_actions(add_verb(verbs, "cache", None, "list and remove cached files other than environments"))
    add_json(add_verb(actions, "list", run, "list the parts of the cache and their sizes"))
    remove = add_verb(actions, "remove", _remove, "remove the named parts of the cache")
    remove.add_argument("name", nargs="*", help="as `python -m zoo cache list` shows it")
    remove.add_argument("--all", action="store_true", help="remove everything except environments")


def run(parsed: argparse.Namespace) -> int:
    from zoo.runs import storage

    storage_table.show_stored("cache", storage.cache(), parsed.json)
    return 0


def _remove(parsed: argparse.Namespace) -> int:
    from zoo.runs import storage

    unnamed = ZooError("Nothing is named", "`python -m zoo cache list` lists what can be removed.")
    return storage_table.remove(parsed.name, storage.remove_cached, unnamed, parsed.all)
