"""`zoo evidence`: take in what `certify` wrote on another machine, and compare machines."""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.cli.parser import add_actions, add_verb
from zoo.core import console
from zoo.core.errors import ZooError

if TYPE_CHECKING:
    from zoo.cli.parser import Verbs


def add_parser(verbs: "Verbs") -> None:
    """Declare the verb and its actions."""
    actions = add_actions(add_verb(verbs, "evidence", None, "take in evidence of other machines, compare machines"))
    adding = add_verb(actions, "add", add, "check a file of evidence and enter its rows into the recipes")
    adding.add_argument("file", metavar="FILE.zip", help="what `certify` wrote")
    adding.add_argument("--yes", action="store_true", help="write without asking")
    comparing = add_verb(actions, "diff", diff, "say how two machines differ")
    comparing.add_argument("files", nargs=2, metavar="FILE.zip", help="what `certify` wrote on each")


def add(parsed: argparse.Namespace) -> int:
    """Check a file, show what it would change, and write that once it is wanted."""
    from zoo.certification import entering, intake, plausibility
    from zoo.core import paths
    from zoo.core.paths import user_path

    if paths.ROOT == paths.PACKAGE:
        raise ZooError("Evidence is entered into a checkout, and this zoo is installed", "Clone the repository.")
    read = intake.read(user_path(parsed.file))
    plausibility.refuse(read)
    changes = entering.changes(read)
    console.output(*entering.lines(changes))
    if read.state.commit.endswith("-dirty"):
        console.warn("It was made with files that no commit holds: its commit alone does not say what ran.")
    if not parsed.yes and not _confirmed():
        console.say("Nothing was written; --yes writes it.")
        return 1
    written = entering.write(changes)
    _write_page(paths.ROOT / "scripts" / "maintenance" / "recipes_page.py")
    console.output(*(f"Wrote {path}" for path in written))
    return 0


def _confirmed() -> bool:
    return sys.stdin.isatty() and input("Write this? [y/N] ").strip().lower() in ("y", "yes")


def _write_page(script: Path) -> None:
    """Write the pages that show the evidence again."""
    answer = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    if answer.returncode:
        raise ZooError(f"The rows are written, their page is not: {answer.stderr.strip()}", f"Run {script.name}.")


def diff(parsed: argparse.Namespace) -> int:
    """Print a table of the differences."""
    from zoo.certification import comparison, intake
    from zoo.core.paths import user_path

    one, other = (intake.read(user_path(name)) for name in parsed.files)
    rows = comparison.differences(one, other)
    if not rows:
        console.output("No difference but for what timings always differ by.")
        return 0
    console.table(f"{one.state.hardware} and {other.state.hardware}", comparison.COLUMNS, rows)
    return 0
