"""`zoo doctor`: examine this machine."""

import argparse
from pathlib import Path

from zoo.cli.parser import Verbs, add_json, add_verb
from zoo.core import console


def add_parser(verbs: "Verbs") -> None:
    parser = add_verb(verbs, "doctor", run, "examine this machine: interpreters, usable stacks, disk space, network")
    parser.add_argument("--machine", metavar="FILE", help="show the choice on a machine captured in a file instead")
    add_json(parser)


def run(parsed: argparse.Namespace) -> int:
    from zoo.cli import doctor

    report = doctor.examine_capture(Path(parsed.machine)) if parsed.machine else doctor.examine()
    if parsed.json:
        console.output_json(report.to_json(), indent=2)
    else:
        console.output(doctor.render(report))
    return 0
