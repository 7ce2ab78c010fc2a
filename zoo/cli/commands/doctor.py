"""`zoo doctor`: examine this machine."""

import argparse

from zoo.cli.parser import Verbs, add_json, add_verb
from zoo.core import console


def add_parser(verbs: "Verbs") -> None:
    add_json(add_verb(verbs, "doctor", run, "examine this machine: interpreters, usable stacks, disk space, network"))


def run(parsed: argparse.Namespace) -> int:
    from zoo.cli import doctor

    report = doctor.examine()
    if parsed.json:
        console.output_json(report.to_json(), indent=2)
    else:
        console.output(doctor.render(report))
    return 0
