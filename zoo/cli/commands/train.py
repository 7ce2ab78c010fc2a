"""`zoo train`: train a model and write a run folder."""

import argparse
from typing import TYPE_CHECKING

from zoo.cli import execution
from zoo.cli.parser import add_verb

if TYPE_CHECKING:
    from zoo.cli.parser import Verbs


def add_parser(verbs: "Verbs") -> None:
    """Declare the verb."""
    parser = add_verb(verbs, "train", run, "train a model and write a run folder")
    execution.add_overrides(parser, ("model", "backend", "data", "preset"))
    execution.add_options(parser)


def run(parsed: argparse.Namespace) -> int:
    """Run the verb."""
    from zoo.tasks import registry

    return execution.run("train", registry.train, parsed)
