"""`zoo attach`: watch a run of another process."""

import argparse
from pathlib import Path

from zoo.cli.parser import Verbs, add_verb
from zoo.core import console


def add_parser(verbs: "Verbs") -> None:
    parser = add_verb(verbs, "attach", run, "watch a run that is in progress elsewhere")
    parser.add_argument("run_folder", metavar="RUN", help="a run folder, or last: the newest one under --root")
    parser.add_argument("--root", metavar="FOLDER", default="runs", help="the folder with all run folders")


def run(parsed: argparse.Namespace) -> int:
    from zoo.core.paths import user_path
    from zoo.execution import event_display
    from zoo.runs import folder as folders
    from zoo.runs import records
    from zoo.tasks import registry

    if parsed.run_folder == "last":
        folder = folders.latest(Path(parsed.root), "train", False, "attach ")
    else:
        folder = user_path(parsed.run_folder).resolve()
    console.output(f"{folder}: {event_display.follow(folder, registry.figures_of(records.read(folder)))}")
    return 0
