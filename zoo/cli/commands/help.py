"""`zoo help`: explain settings by command, group, model or word."""

import argparse
import shutil
import textwrap

from zoo.cli.parser import Verbs, add_verb
from zoo.core import console


def add_parser(verbs: "Verbs") -> None:
    parser = add_verb(verbs, "help", run, "explain settings: help train model=mnist, help trainer, help epochs")
    parser.add_argument(
        "topics",
        nargs="*",
        metavar="TOPIC",
        help="a command with its settings (train model=NAME); a group (trainer, data, ...); model=NAME; or a word",
    )


def run(parsed: argparse.Namespace) -> int:
    from zoo.cli import settings_help

    topics = parsed.topics or [None]
    if any("=" in word for word in topics[1:]):
        lines = settings_help.of_command(topics[0], topics[1:])
    else:
        lines = [line for topic in topics for line in settings_help.lines(topic)]
    width = min(100, shutil.get_terminal_size((100, 24)).columns)
    for line in lines:
        indent = " " * 38 if line.startswith("  ") else ""
        console.output(*textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False) or [""])
    return 0
