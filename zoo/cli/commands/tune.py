"""`zoo tune`: search for the settings that reach a target fastest."""

import argparse

from zoo.cli.parser import Verbs, add_json, add_verb
from zoo.core import console
from zoo.core.errors import INTERRUPTED


def add_parser(verbs: "Verbs") -> None:
    parser = add_verb(verbs, "tune", run, "search for the settings that reach a target soonest")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings of the search and of its trials")
    parser.add_argument("--dry-run", action="store_true", help="print the plan of a trial, and exit")
    add_json(parser)


def run(parsed: argparse.Namespace) -> int:
    from zoo.config import hydra_words
    from zoo.config.overrides import Overrides
    from zoo.tasks import search_settings, tune

    overrides = Overrides.parse(map(hydra_words.translated, parsed.overrides), literal=search_settings.OWN)
    search, keep = search_settings.read(overrides)
    if parsed.dry_run:
        from zoo.cli import dry_run

        aim = "the fewest " * (search.limit_s is None) + search.aim
        console.output(f"{search.trials} trials in {search.folder}, for {aim}, vary:")
        ranges = {name: row.choices or f"{row.low} to {row.high}" for name, row in search.space.values.items()}
        console.output(*(f"  {name:<26} {text}" for name, text in ranges.items()))
        console.output("A trial with the recipe's own values:", *dry_run.lines("train", search.fixed))
        return 0
    console.say(f"Searching in {search.folder} with {search.jobs} at a time on {search.launcher.name}")
    try:
        result = tune.run(search)
    except KeyboardInterrupt:
        console.say("Stopped. Run the same command to continue this search.")
        return INTERRUPTED
    winner = result["winner"]
    if winner is not None and keep is not None:
        tune.keep(keep, winner)
    if parsed.json:
        console.output_json(result)
    else:
        console.output(*search_settings.summary(search, result))
    if winner is not None and keep is not None:
        console.say(f"Added to {keep}")
    return 0 if winner is not None else 1
