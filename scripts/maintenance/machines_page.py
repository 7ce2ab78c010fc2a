"""Write docs/reference/captured-machines.md: the backend that each captured machine gets, and why.

python scripts/maintenance/machines_page.py              write the page
python scripts/maintenance/machines_page.py --check      exit 1 with a message if the page is out of date
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests import machines
from zoo.core import console
from zoo.core.errors import ZooError
from zoo.environments import machine, selection

PAGE = ROOT / "docs" / "reference" / "captured-machines.md"
HEAD = """\
# Captured machines

Written by `python scripts/maintenance/machines_page.py` from the outputs of system tools in `tests/machines`, whose
README states their sources. `python -m zoo doctor --machine FILE` prints one of them with all backends,
`train ... --dry-run --machine FILE` the whole plan.

| capture | machine | backend, stack | reasons |
|---|---|---|---|
"""


def page() -> str:
    return HEAD + "".join(map(_row, machines.NAMES))


def _row(name: str) -> str:
    here = machines.load(name)
    try:
        choice = selection.select(None, here)
        chosen, reasons = f"{choice.backend.name}, {choice.stack.name}", [*choice.reasons, *here.notes]
    except ZooError as error:
        chosen, reasons = "none", [error.remedy]
    cells = [f"`{name}`", machine.describe(here), chosen, "; ".join(reasons)]
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only")
    if parser.parse_args().check:
        if PAGE.read_text(encoding="utf-8") != page():
            console.output(f"{PAGE} is out of date: run python scripts/maintenance/machines_page.py")
            return 1
        return 0
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
