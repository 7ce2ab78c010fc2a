"""`zoo explain`: look up the causes and remedies of an error."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.cli.parser import add_json, add_verb
from zoo.core import console
from zoo.core.errors import ZooError, unknown

if TYPE_CHECKING:
    from zoo.cli.parser import Verbs


def add_parser(verbs: "Verbs") -> None:
    parser = add_verb(verbs, "explain", run, "look up the cause of an error, its remedy and the source")
    parser.add_argument("log", help="a file with the error or the whole log, or - for standard input")
    parser.add_argument("--backend", help="the backend that the error comes from, if you know it")
    add_json(parser)


def run(parsed: argparse.Namespace) -> int:
    """Print known causes of the errors in a log; return 1 if there are none."""
    from zoo.environments import backends
    from zoo.explain import known_issues

    if parsed.backend is not None and parsed.backend not in backends.names():
        raise unknown("backend", parsed.backend, backends.names())
    text = _read(parsed.log)
    findings = known_issues.explain(text, parsed.backend)
    if parsed.json:
        console.output_json(findings, indent=2)
    else:
        console.output(known_issues.render(findings, text))
    return 0 if findings else 1


def _read(name: str) -> str:
    if name == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        return Path(name).read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise ZooError(
            f"Cannot read {name}: {error.strerror}", "Name a log file, or use - and paste the log."
        ) from error
