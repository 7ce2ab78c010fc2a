"""What `train`, `infer` and `bench` have in common: their options, sweeps, and the printing of results."""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.cli import sweeping
from zoo.cli.parser import CommandParser, add_json
from zoo.core import console
from zoo.core.errors import INTERRUPTED, ZooError

if TYPE_CHECKING:
    from zoo.runs.result import Run

    Execute = Callable[[list[str]], Run]


def add_overrides(parser: CommandParser, groups: tuple[str, ...]) -> None:
    """Add the settings, whose groups are listed at the end of the help text, and --multirun."""
    parser.end_of_help = lambda: _groups(groups)
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings; `python -m zoo help` lists them")
    parser.add_argument("-m", "--multirun", action="store_true", help="run every combination of KEY=A,B,...")


def add_options(parser: CommandParser) -> None:
    """Add the options that show a run before it starts, and --json."""
    parser.add_argument("--cfg", choices=["job"], help="print the composed settings and exit")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="check all that the run checks, print each step, and exit",
    )
    parser.add_argument("--prepare", action="store_true", help="build the environment of the run, and exit")
    parser.add_argument("--machine", metavar="FILE", help="with --dry-run: plan for a machine captured in a file")
    add_json(parser, "print the record of the run as JSON on standard output")


def _groups(groups: tuple[str, ...]) -> str:
    from zoo.config import config_files

    lines = [f"  {group}={'|'.join(config_files.options(group))}" for group in groups]
    return "\n".join(["groups:", *lines, "", "`python -m zoo help GROUP` describes the options of a group"])


def run(verb: str, execute: "Execute", parsed: argparse.Namespace) -> int:
    """Run a verb as its options say, and return the exit code."""
    if parsed.machine and not parsed.dry_run:
        raise ZooError("--machine describes another machine, where nothing can be run", "Add --dry-run.")
    from zoo.config import hydra_words

    parsed.overrides = hydra_words.translated(parsed.overrides)
    if parsed.prepare:
        return _prepare(verb, parsed.overrides)
    if parsed.cfg:
        return _print_settings(verb, parsed.overrides)
    if parsed.dry_run:
        return _print_plan(verb, parsed.overrides, parsed.machine)
    if parsed.multirun or sweeping.is_meant(parsed.overrides):
        return sweeping.run(verb, execute, parsed.overrides, lambda run: _print_result(run, parsed.json), parsed.json)
    return _print_result(execute(parsed.overrides), parsed.json)


def _prepare(verb: str, overrides: list[str]) -> int:
    from zoo.tasks import registry

    registry.prepare(verb, overrides)
    return 0


def _print_settings(verb: str, overrides: list[str]) -> int:
    from zoo.tasks import registry

    console.output(registry.composed_text(verb, overrides).rstrip("\n"))
    return 0


def _print_plan(verb: str, overrides: list[str], machine: str | None) -> int:
    from zoo.cli import dry_run

    console.output(*dry_run.lines(verb, overrides, Path(machine) if machine else None))
    return 0


def announced(overrides: list[str]) -> Iterator[list[str]]:
    """Yield every combination of KEY=A,B,..., after saying which one it is."""
    from zoo.config.overrides import expand_sweep

    combinations = expand_sweep(overrides)
    for number, combination in enumerate(combinations, 1):
        console.say(f"\n[{number}/{len(combinations)}] {' '.join(combination)}")
        yield combination


def _print_result(result: "Run", as_json: bool) -> int:
    from zoo.cli import summary

    if as_json:
        console.output_json(result.record)
    else:
        for title, headings, rows in summary.tables(result):
            console.table(title, headings, rows)
        console.output(*summary.lines(result))
    return INTERRUPTED if result.exit == "interrupted" else 0
