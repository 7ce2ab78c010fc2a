"""`zoo explain`: look up the causes and remedies of an error."""

import argparse
import os
import sys
from pathlib import Path
from typing import BinaryIO

from zoo.cli.parser import Verbs, add_json, add_verb
from zoo.core import console
from zoo.core.errors import ZooError, unknown
from zoo.core.paths import existing_input

# Only the end of a longer log is read, because the cause of an error is there.
MOST_BYTES = 1 << 26
CAUTION = "Causes are found by the text of lines. If one contradicts what you know of your system, ignore its remedy."
REMEDY = "Name a log file, or use - and paste the log."


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
    if not text.strip():
        raise ZooError(f"{'Standard input' if parsed.log == '-' else parsed.log} is empty", REMEDY)
    findings = known_issues.explain(text, parsed.backend)
    if parsed.json:
        console.output_json(findings, indent=2)
    else:
        console.output(known_issues.render(findings, text))
        if not all(finding.harmless for finding in findings):
            console.output(f"\n{CAUTION}")
    return 0 if findings else 1


def _end(stream: BinaryIO) -> str:
    data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ZooError(f"The log is longer than {MOST_BYTES >> 20} MB", "Give its end: tail -n 10000 LOG > end.log")
    return data.decode("utf-8", "replace")


def _read(name: str) -> str:
    """Read a log, or only the end if it is longer than ``MOST_BYTES``."""
    try:
        if name == "-":
            return _end(sys.stdin.buffer)
        is_pipe = name.startswith("/dev/fd/")  # from the shell's `<(command)`
        with (Path(name) if is_pipe else existing_input(name, REMEDY)).open("rb") as stream:
            if (size := os.fstat(stream.fileno()).st_size) > MOST_BYTES:
                stream.seek(size - MOST_BYTES)
                console.warn(f"{name} is longer than {MOST_BYTES >> 20} MB; only its end is searched")
            return _end(stream)
    except OSError as error:
        raise ZooError(f"Cannot read {name}: {error.strerror}", REMEDY) from error
