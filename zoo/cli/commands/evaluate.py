"""`zoo evaluate`: hold a classifier of images against labelled images."""

import argparse
from typing import TYPE_CHECKING

from zoo.cli import execution
from zoo.cli.parser import add_verb

if TYPE_CHECKING:
    from zoo.cli.parser import Verbs


def add_parser(verbs: "Verbs") -> None:
    """Declare the verb."""
    words = "hold a classifier against labelled images: top-1, top-5, figures by class, confusion matrix"
    parser = add_verb(verbs, "evaluate", run, words)
    execution.add_overrides(parser, ("model", "backend", "data"))
    execution.add_options(parser)


def run(parsed: argparse.Namespace) -> int:
    """Run the verb."""
    from zoo.tasks import registry

    return execution.run("evaluate", registry.evaluate, parsed)
