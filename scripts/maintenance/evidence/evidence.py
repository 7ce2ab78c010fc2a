"""Enter evidence of other machines, which `zoo certify` wrote there, into this checkout; compare machines.

python scripts/maintenance/evidence/evidence.py add FILE.zip [--yes]      check, show, and enter it into recipes/
python scripts/maintenance/evidence/evidence.py diff FILE.zip FILE.zip    how two machines differ
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from scripts.maintenance.evidence import comparison, entering, intake, plausibility
from zoo.certification import page
from zoo.core import console
from zoo.core.errors import ZooError


def add(parsed: argparse.Namespace) -> int:
    """Check a file, show it and what it would change, and write that if the answer is yes."""
    evidence = intake.read(parsed.file)
    plausibility.refuse(evidence)
    changes = entering.changes(evidence)
    console.output(*entering.lines(changes))
    if evidence.state.commit.endswith("-dirty"):
        console.warn("It was made with files that are not in its commit: the commit alone does not say what ran.")
    console.output(f"Look at the page before you enter it: {_shown_page(evidence)}")
    if not parsed.yes and not _confirmed():
        console.say("Nothing was written; --yes writes it.")
        return 1
    written = entering.write(changes)
    subprocess.run([sys.executable, ROOT / "scripts" / "maintenance" / "recipes_page.py"], check=True)
    console.output(*(f"Wrote {path}" for path in written))
    return 0


def _shown_page(evidence: intake.Evidence) -> Path:
    """Write the page again from the figures of the archive: the one inside may hold anything."""
    path = Path(tempfile.mkdtemp(prefix="zoo-evidence-"), "page.html")
    path.write_text(page.page(evidence.state), encoding="utf-8")
    return path


def _confirmed() -> bool:
    return sys.stdin.isatty() and input("Write this? [y/N] ").strip().lower() in ("y", "yes")


def diff(parsed: argparse.Namespace) -> int:
    """Print a table of the differences."""
    one, other = (intake.read(path) for path in parsed.files)
    rows = comparison.differences(one, other)
    if rows:
        console.table(f"{one.state.hardware} and {other.state.hardware}", comparison.COLUMNS, rows)
    else:
        console.output("No difference but for the noise of timings.")
    return 0


def main(words: list[str] | None = None) -> int:
    """Run a subcommand."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    adding = actions.add_parser("add", help="check a file of evidence and enter its rows into the recipes")
    adding.add_argument("file", type=Path, metavar="FILE.zip", help="what `zoo certify` wrote")
    adding.add_argument("--yes", action="store_true", help="write without asking")
    adding.set_defaults(run=add)
    comparing = actions.add_parser("diff", help="print how two machines differ")
    comparing.add_argument("files", type=Path, nargs=2, metavar="FILE.zip", help="what `zoo certify` wrote on each")
    comparing.set_defaults(run=diff)
    parsed = parser.parse_args(words)
    try:
        return int(parsed.run(parsed))
    except ZooError as error:
        console.fail(error.message, error.remedy)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
