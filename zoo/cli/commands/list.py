"""`zoo list`: list models, backends, stacks, recipes, references and trained weights."""

import argparse
import textwrap

from zoo.cli.parser import Verbs, add_json, add_verb
from zoo.core import console
from zoo.core.errors import listed


def add_parser(verbs: "Verbs") -> None:
    parser = add_verb(
        verbs, "list", run, "list models, backends, stacks, recipes, references and trained weights, with evidence"
    )
    parser.add_argument("what", nargs="?", choices=["models", "backends", "stacks", "recipes", "references", "weights"])
    add_json(parser)


def run(parsed: argparse.Namespace) -> int:
    from zoo.cli import catalogue

    if parsed.what is None and not parsed.json:
        for name in catalogue.TABLES:
            names = catalogue.names(name)
            shown = f"{name} ({len(names)}): {listed(names, most=12)}"
            console.output(*textwrap.wrap(shown, 80, subsequent_indent="  "))
        console.output("`python -m zoo list models`, or any other of these names, shows the whole table.")
        return 0
    tables = {name: rows() for name, rows in catalogue.TABLES.items() if parsed.what in (None, name)}
    if parsed.json:
        console.output_json(tables, indent=2)
        return 0
    for name, rows in tables.items():
        # The settings of a reference are too wide for the table; its file and the JSON output have them.
        hidden = {"settings"} if name == "references" else set()
        console.table_of(name, [{key: value for key, value in row.items() if key not in hidden} for row in rows])
    return 0
