"""`zoo tune`: search for the settings that reach a target fastest."""

import argparse

from zoo.cli.parser import Verbs, add_json, add_verb
from zoo.core import console
from zoo.core.errors import INTERRUPTED

EXAMPLES = """\
settings of the search, among those of `train`, which hold for every trial:
  trials=50        trials in all; an interrupted search continues with the rest
  target=VALUE     of the metric, instead of what the search space declares for the data set
  confirm=3        new seeds that the winner is trained from before it is called one; 0 skips that
  seed=1           of the search and of its trials
  space=FILE       the search space, instead of configs/tune/MODEL/BACKEND.yaml
  study=FOLDER     where the search is kept, instead of tune/MODEL_BACKEND_DATA
  keep=FILE        a list of winners, to which this one is added

  python -m zoo tune model=mnist_dense data=digits trials=20
  python -m zoo tune model=mnist_dense data=digits launcher.jobs=2
  python -m zoo tune model=mnist data=mnist launcher=slurm launcher.jobs=8 launcher.partition=gpu
"""


def add_parser(verbs: "Verbs") -> None:
    parser = add_verb(verbs, "tune", run, "search for the settings that reach a target soonest", epilog=EXAMPLES)
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings of the search and of its trials")
    parser.add_argument("--dry-run", action="store_true", help="print the plan of a trial, and exit")
    add_json(parser)


def run(parsed: argparse.Namespace) -> int:
    from zoo.config import hydra_words
    from zoo.config.overrides import Overrides
    from zoo.tasks import search_settings, tune

    search, keep = search_settings.read(
        Overrides.parse(hydra_words.translated(parsed.overrides), literal=search_settings.OWN)
    )
    if parsed.dry_run:
        from zoo.cli import dry_run

        aim = f"{search.space.metric} {search.target:g}"
        console.output(f"{search.trials} trials in {search.folder}, to reach {aim} soonest, vary:")
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
