"""The verbs that create run folders: their table and options, sweeps, and the output of results."""

import argparse
import functools
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.cli.parser import CommandParser, Verbs, add_json, add_verb
from zoo.core import console
from zoo.core.errors import INTERRUPTED, ZooError, counted

if TYPE_CHECKING:
    from zoo.config.overrides import Overrides
    from zoo.config.tasks import Table
    from zoo.runs.result import Run

# The summary of each verb, and the groups of settings that its help lists.
VERBS = {
    "train": ("train a model and write a run folder", ("model", "backend", "data", "preset")),
    "infer": ("predict with a trained run or with published weights, on any stack", ("model", "backend")),
    "evaluate": (
        "evaluate a classifier on labeled images: top-1, top-5, figures by class, confusion matrix",
        ("model", "backend", "data"),
    ),
    "bench": (
        "time a model on one or several stacks, single operations, all networks, or the start-up",
        ("model", "backend"),
    ),
    "export": ("convert a trained model for other runtimes, and compare it with its source", ("model",)),
}
EXPERIMENTS = "folder of your own experiments: +GROUP=NAME applies DIR/GROUP/NAME.yaml to the defaults"


def add_parsers(verbs: "Verbs") -> None:
    for verb, (words, groups) in VERBS.items():
        parser = add_verb(verbs, verb, functools.partial(run, verb), words)
        add_overrides(parser, groups)
        parser.add_argument("-c", "--cfg", choices=["job"], help="print the composed settings and exit")
        parser.add_argument("--resolve", action="store_true", help="with --cfg: no effect; values have no references")
        parser.add_argument("--config-dir", metavar="DIR", help=EXPERIMENTS)
        parser.add_argument("--dry-run", action="store_true", help="check the run, print its steps, and exit")
        parser.add_argument("--prepare", action="store_true", help="build the environment of the run, and exit")
        parser.add_argument("--machine", metavar="FILE", help="with --dry-run: plan for a machine captured in a file")
        add_json(parser, "print the record of the run as JSON on standard output")


def add_overrides(parser: CommandParser, groups: tuple[str, ...]) -> None:
    """Add --multirun and the settings; the end of the help text lists their groups."""
    parser.end_of_help = lambda: _groups(groups)
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings; `python -m zoo help` lists them")
    parser.add_argument("-m", "--multirun", action="store_true", help="run every combination of KEY=A,B,...")


def _groups(groups: tuple[str, ...]) -> str:
    from zoo.config import config_files

    lines = [f"  {group}={'|'.join(config_files.options(group))}" for group in groups]
    return "\n".join(["groups:", *lines, "", "`python -m zoo help GROUP` describes the options of a group"])


def run(verb: str, parsed: argparse.Namespace) -> int:
    if parsed.machine and not parsed.dry_run:
        raise ZooError("--machine describes another machine, where nothing can be run", "Add --dry-run.")
    if parsed.resolve and not parsed.cfg:
        raise ZooError("--resolve has no effect without --cfg", "Add --cfg job, or remove it.")
    chosen = [name for name in ("cfg", "prepare", "dry_run", "json") if getattr(parsed, name, None)]
    if len(chosen) > 1:
        first, second = (f"--{name.replace('_', '-')}" for name in chosen[:2])
        raise ZooError(f"{second} has no effect with {first}", "Give one of them.")
    from zoo.config import hydra_words
    from zoo.config.overrides import Overrides
    from zoo.tasks import registry, sweeps

    own, words = hydra_words.experiments(parsed.overrides, parsed.config_dir)
    overrides = own | Overrides.parse(map(hydra_words.translated, words))
    texts = [each for each in overrides if isinstance(each.value, str) and not each.choices]
    joined = [each.text for each in texts if "," in each.value and not each.text.endswith(("'", '"'))]
    if parsed.multirun and joined:
        raise ZooError(f"-m does not sweep texts: {joined[0]}", "If the comma is part of the text: KEY='\"A,B\"'")
    if not parsed.machine:
        overrides = registry.with_gpu(overrides)
    if parsed.prepare:
        registry.prepare(verb, overrides)
    elif parsed.cfg:
        console.output(registry.composed_text(verb, overrides).rstrip("\n"))
    elif parsed.dry_run:
        _print_plan(verb, overrides, parsed.machine, parsed.multirun)
    elif parsed.multirun or sweeps.named(overrides) is not None or sweeps.is_elsewhere(overrides):
        return _sweep(verb, overrides, parsed.json)
    else:
        return _print_result(registry.dispatch(verb, overrides), parsed.json)
    return 0


def _print_plan(verb: str, overrides: "Overrides", machine: str | None, multirun: bool) -> None:
    from zoo.cli import dry_run
    from zoo.tasks import sweeps

    first, sweep = overrides, None
    if multirun:
        runs = sweeps.checked(verb, overrides)
        console.output(f"{counted(len(runs), 'run')}, one after the other; the plan of the first:")
        first, sweep = runs[0], overrides
    elif not sweeps.is_elsewhere(overrides):
        sweeps.refuse_needless(overrides)
    console.output(*dry_run.lines(verb, first, Path(machine) if machine else None, sweep))


def _sweep(verb: str, overrides: "Overrides", as_json: bool) -> int:
    """Start or resume a sweep, print its table, or the record of each run as JSON, and return the exit code."""
    from zoo.execution.sweeps import table
    from zoo.tasks import registry, sweeps

    folder = sweeps.named(overrides)
    planned = sweeps.reopen(verb, folder, overrides) if folder else sweeps.begin(verb, overrides)
    here: list[str] = []

    def show(result: "Run") -> None:
        here.append(str(result.folder))
        _print_result(result, as_json)

    code = sweeps.execute(planned, functools.partial(registry.dispatch, verb), show)
    sweep = planned.sweep
    if as_json:
        for record in map(sweep.run_of, sweep.elements):
            if record is not None and record.pop("folder") not in here:
                console.output_json(record)
    else:
        console.table(f"sweep {sweep.folder}", table.HEADINGS, table.rows(sweep))
        if means := table.over_seeds(sweep):
            console.table("over the seeds", table.MEANS, means)
        console.say(f"To compare: python -m zoo report {sweep.folder}")
    return code


def _print_result(result: "Run", as_json: bool) -> int:
    if as_json:
        console.output_json(result.record)
    else:
        for title, headings, rows in tables(result):
            console.table(title, headings, rows)
        console.output(*summary(result))
    return INTERRUPTED if result.exit == "interrupted" else 0


def summary(run: "Run") -> list[str]:
    from zoo.tasks import registry, summaries

    return [*(registry.command_of_run(run).summary or summaries.recorded)(run), f"Run folder: {run.folder}"]


def tables(run: "Run") -> "list[Table]":
    from zoo.tasks import registry

    declared = registry.command_of_run(run).tables
    return declared(run) if declared else []
