"""Run the rehearsals of Macs and write what happened on each into docs/background/macs.md.

python scripts/maintenance/rehearsal_page.py            run the tests (minutes) and write the table
python scripts/maintenance/rehearsal_page.py --print    run them and print the table only
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from zoo.environments import machine
from zoo.explain import known_issues

PAGE = ROOT / "docs" / "background" / "macs.md"
MARKS = ("<!-- rehearsal -->", "<!-- end of rehearsal -->")
TESTS = ("tests/environments/test_rehearsal.py", "tests/certification/test_rehearsal.py")
# What the worker that pretends does (tests/support/fake_worker.py), and what else is planted, in words.
PLANTED = {
    "ok": "", "plugin": "the plug-in cannot be loaded", "wrong": "wrong numbers of a fused layer",
    "oom": "no memory for 64 items", "starved": "no memory for any training", "sleep": "asleep for 9 s (SIGSTOP)",
}  # fmt: skip
# Lines that tell how a command ended; the first that is found counts, of all lines from the last on.
ENDS = (
    r"^\S+: \d+ passed.*", r"^[Ee]rror: .*", r"^\S+ on \S+ \(.*", r"^Interrupted: .*",
    r"^ *3 backend +.*",
)  # fmt: skip
SAID = r"Rosetta translates|command-line tools: none|was downloaded by|Update macOS|is on battery|^[a-z0-9-]+: "


def main() -> int:
    """Run the tests, and print or write the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print", action="store_true", dest="prints", help="print the table only")
    prints = parser.parse_args().prints
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "told.jsonl"
        command = [sys.executable, "-m", "pytest", "-q", "--all-stacks", *TESTS]
        done = subprocess.run(command, cwd=ROOT, env=os.environ | {"ZOO_REHEARSAL": str(log)}, check=False)
        if done.returncode:
            return done.returncode
        rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    text = table(rows)
    if prints:
        sys.stdout.write(text)
        return 0
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(MARKS[0])
    _, mark, tail = rest.partition(MARKS[1])
    if not mark:
        sys.stderr.write(f"{PAGE} has lost the marks {' and '.join(MARKS)}\n")
        return 1
    PAGE.write_text(f"{head}{MARKS[0]}\n{text}{mark}{tail}", encoding="utf-8")
    return 0


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table: a Mac, what was planted, the command, how it ended and what it said."""
    lines = ["| Mac | planted | command | exit | what happened |", "|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: (row["mac"], row["command"][0] != "doctor", row["planted"] != "ok")):
        here = machine.from_capture(ROOT / "tests" / "machines" / f"{row['mac']}.txt")
        chip = re.sub(r"\((?:R|TM)\)|\bCPU\b|@.*", "", here.chip).replace("  ", " ").strip()
        graphics = " and ".join(gpu.name for gpu in here.gpus if gpu.name != here.chip)
        mac = f"{chip}{', ' + graphics if graphics else ''}, macOS {here.os_version}"
        words = " ".join(word for word in row["command"] if not word.startswith(("resume=", "content=")))
        cells = [mac, PLANTED.get(row["planted"], row["planted"]), f"`{words}`", str(row["code"]), _happened(row)]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(dict.fromkeys(lines)) + "\n"


def _happened(row: dict[str, Any]) -> str:
    """Return what a command printed that tells how it ended."""
    if "--json" in row["command"]:
        return f"advises `{json.loads(row['shown'])['advice']}`"
    lines = [line.strip() for line in row["shown"].splitlines() if line.strip()]
    if "--list" in row["command"]:
        return "plans " + "; ".join(line for line in lines if ", about " in line)
    if row["command"][0] == "doctor":
        said = [line for line in lines if re.search(SAID, line) and "no: " not in line]
        return _short("; ".join(dict.fromkeys(said)) or lines[-1])
    ending = next((line for pattern in ENDS for line in reversed(lines) if re.match(pattern, line)), lines[-1])
    issues = [f"`{issue.id}`" for issue in known_issues.issues() if issue.id in row["shown"]]
    return _short(ending) + (f"; explained by {', '.join(issues)}" if issues else "")


def _short(text: str) -> str:
    text = re.sub(r"/\S*/(?=\S)", "", re.sub(r"\s+", " ", text))
    return text if len(text) <= 220 else text[:217] + "..."


if __name__ == "__main__":
    sys.exit(main())
