"""Build the documentation as a site with a search, offline: every broken link or anchor is an error.

    python3 scripts/run.py python scripts/maintenance/site.py FOLDER

The pages are the README, docs/ and the files that they link to, at their paths in the checkout, and those of
reference.py. Open FOLDER/index.html.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from scripts.maintenance import reference

CONFIG = ROOT / "scripts" / "maintenance" / "site.toml"
PAGES, STYLE = "pages", "site.css"
LINK = re.compile(r"\]\(([^)#:\s]+)")


def linked() -> set[Path]:
    """Return the README, docs/ and all files that these pages link to, relative to the checkout."""
    waiting = [ROOT / "README.md", *(path for path in (ROOT / "docs").rglob("*") if path.is_file())]
    reached = set[Path]()
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        if path.suffix == ".md":
            targets = (path.parent / target for target in LINK.findall(path.read_text(encoding="utf-8")))
            waiting += [target.resolve() for target in targets if target.is_file()]
    return {path.relative_to(ROOT) for path in reached}


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site into an empty or missing folder and return the finished process of the generator."""
    with tempfile.TemporaryDirectory() as name:
        room = Path(name).resolve()
        for path in linked():
            target = room / PAGES / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, target)
        reference.write(room / PAGES / "docs" / "reference")
        shutil.copyfile(CONFIG, room / "zensical.toml")
        shutil.copyfile(CONFIG.with_name(STYLE), room / PAGES / STYLE)
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        done = subprocess.run(command, cwd=room, capture_output=True, text=True)
        if done.returncode == 0:
            shutil.copytree(room / "site", folder, dirs_exist_ok=True)
        return done


def main() -> int:
    """Build the site and print what is wrong with it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.folder.exists() and any(options.folder.iterdir()):
        parser.error(f"{options.folder} is not empty")
    done = build(options.folder)
    sys.stdout.write(done.stdout + done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
