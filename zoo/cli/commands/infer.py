"""`zoo infer`: predict with a trained run or with published weights, on any stack."""

import argparse
from typing import TYPE_CHECKING

from zoo.cli import execution
from zoo.cli.parser import add_verb

if TYPE_CHECKING:
    from zoo.cli.parser import Verbs


def add_parser(verbs: "Verbs") -> None:
    """Declare the verb."""
    parser = add_verb(verbs, "infer", run, "predict with a trained run or with published weights, on any stack")
    execution.add_overrides(parser, ("model", "backend"))
    execution.add_options(parser)


def run(parsed: argparse.Namespace) -> int:
    """Run the verb."""
    from zoo.tasks import registry

    return execution.run("infer", registry.infer, parsed)
