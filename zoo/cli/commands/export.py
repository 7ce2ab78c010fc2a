"""`zoo export`: convert a trained model for other runtimes, run it there, and compare it with its source."""

import argparse
from typing import TYPE_CHECKING

from zoo.cli import execution
from zoo.cli.parser import add_verb

if TYPE_CHECKING:
    from zoo.cli.parser import Verbs


def add_parser(verbs: "Verbs") -> None:
    """Declare the verb."""
    parser = add_verb(
        verbs, "export", run, "convert a trained model for other runtimes, and compare it with its source"
    )
    execution.add_overrides(parser, ("model",))
    execution.add_options(parser)


def run(parsed: argparse.Namespace) -> int:
    """Run the verb."""
    from zoo.tasks import registry

    return execution.run("export", registry.export, parsed)
