"""`zoo help`: list the settings, group by group."""

import argparse
from typing import TYPE_CHECKING

from zoo.cli.parser import add_verb
from zoo.core import console

if TYPE_CHECKING:
    from zoo.cli.parser import Verbs


def add_parser(verbs: "Verbs") -> None:
    parser = add_verb(verbs, "help", run, "list the settings, group by group")
    parser.add_argument(
        "topic", nargs="?", help="a group: model, backend, data, trainer, ...; or model=NAME, model=FILE.py"
    )


def run(parsed: argparse.Namespace) -> int:
    from zoo.cli import settings_help

    console.output(*settings_help.lines(parsed.topic))
    return 0
