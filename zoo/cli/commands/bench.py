"""`zoo bench`: time a model on one or several stacks, single operations, all networks, or start-up."""

import argparse
from typing import TYPE_CHECKING

from zoo.cli import execution
from zoo.cli.parser import add_verb

if TYPE_CHECKING:
    from zoo.cli.parser import Verbs


def add_parser(verbs: "Verbs") -> None:
    """Declare the verb."""
    parser = add_verb(
        verbs, "bench", run, "time a model on one or several stacks, single operations, all networks, or start-up"
    )
    execution.add_overrides(parser, ("model", "backend"))
    execution.add_options(parser)


def run(parsed: argparse.Namespace) -> int:
    """Run the verb."""
    from zoo.tasks import registry

    return execution.run("bench", registry.bench, parsed)
