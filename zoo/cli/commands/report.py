"""`zoo report`: write an HTML page about runs, or print a table of all runs."""

import argparse

from zoo.cli.parser import Verbs, add_json, add_verb
from zoo.cli.storage_table import NEWEST, say_not_shown
from zoo.core import console
from zoo.core.errors import ZooError


def add_parser(verbs: "Verbs") -> None:
    parser = add_verb(verbs, "report", run, "write an HTML page about one run, or a comparison of several")
    parser.add_argument("runs", nargs="*", metavar="RUN", help="a run folder, its name, or last (the default)")
    parser.add_argument("--output", metavar="FILE", help="the page to write (default: RUN/report.html)")
    parser.add_argument("--root", metavar="FOLDER", help="the folder with all run folders (default: runs)")
    parser.add_argument("--list", action="store_true", help="print a table of runs instead of writing a page")
    parser.add_argument("--sort", metavar="KEY", help="with --list: run, started (the default), model, value, ...")
    parser.add_argument("--reverse", action="store_true", help="with --list: largest first")
    parser.add_argument("--all", action="store_true", help=f"with --list: more than {NEWEST} rows")
    add_json(parser, "with --list: print as JSON")


def run(parsed: argparse.Namespace) -> int:
    from zoo.reports import run_table

    if parsed.output == "":
        raise ZooError("--output is empty", "Give the page to write: --output FILE")
    if parsed.list:
        return _print_table(parsed)
    if parsed.sort or parsed.reverse or parsed.all or parsed.json:
        raise ZooError("--sort, --reverse, --all and --json belong to the table of all runs", "Add --list.")
    console.output(run_table.write(parsed.runs, parsed.root, parsed.output))
    return 0


def _print_table(parsed: argparse.Namespace) -> int:
    from zoo.reports import run_table
    from zoo.runs import folder as run_folder

    if parsed.runs or parsed.output:
        raise ZooError("--list shows all runs and writes no page", "Remove the runs and --output.")
    root = run_table.root_folder(parsed.root)
    folders = run_folder.run_folders(root)
    limit = None if parsed.all or parsed.json else NEWEST
    # In a custom order, any run can come first, so all runs are read.
    chosen = folders if parsed.sort or parsed.reverse else run_folder.newest_first(folders)[:limit]
    rows = run_table.ordered(run_table.summaries(root, chosen), parsed.sort or "started", parsed.reverse)
    if parsed.json:
        console.output_json(rows, indent=2)
    elif not rows:
        console.output(f"There are no runs under {root.absolute()}")
    else:
        cells = [run_table.cells(row) for row in rows[:limit]]
        console.table(f"runs under {root}", run_table.HEADINGS, cells)
        say_not_shown(len(folders), len(rows[:limit]))
    return 0
