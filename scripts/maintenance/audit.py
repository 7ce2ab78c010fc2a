"""Ask the public databases of holes about every package that requirements.lock pins.

    python scripts/maintenance/audit.py [LOCK]

Exit 0: all packages were asked about, and nothing is known of them. 1: something is, and told. 2: the databases do
not answer here, so nothing is known either way. A package that a database has never heard of counts as not asked.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
SERVICES = ("pypi", "osv")
CLEAN, HOLES, SILENT = 0, 1, 2
PATIENCE_S = 300


class SilentError(Exception):
    """A database could not be asked."""


def main(argv: list[str]) -> int:
    """Ask the first database that answers about one package of all of them."""
    text = Path(argv[0] if argv else ROOT / "requirements.lock").read_text(encoding="utf-8")
    for service in SERVICES:
        try:
            ask(service, next(pins(text)))  # most machines that cannot ask cannot ask about this one either
            return told(service, ask(service, text))
        except SilentError as error:
            print(f"{service} cannot be asked: {error}")
    return SILENT


def pins(text: str) -> Iterator[str]:
    """The packages of a lock, each with its hashes."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        lines.append(line)
        if not line.endswith("\\"):
            yield "\n".join(lines) + "\n"
            lines = []


def ask(service: str, text: str) -> list[dict[str, Any]]:
    """What pip-audit says of each package.

    Raises:
        SilentError: the database does not answer, or knows nothing of a package.
    """
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder, "asked.lock")
        lock.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(lock), "--require-hashes", "--disable-pip",
                   "--vulnerability-service", service, "--format", "json", "--progress-spinner", "off"]  # fmt: skip
        try:
            answer = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise SilentError(f"it took longer than {PATIENCE_S} s") from error
    return judged(answer.stdout, answer.stderr)


def judged(out: str, words: str) -> list[dict[str, Any]]:
    """The packages that were asked about; raises as :func:`ask`."""
    try:
        found: list[dict[str, Any]] = json.loads(out)["dependencies"]
    except (ValueError, KeyError, TypeError) as error:
        last = (words.strip().splitlines() or ["it said nothing"])[-1]
        raise SilentError(last[:200]) from error
    passed_over = [row for row in found if "skip_reason" in row]
    if passed_over:
        raise SilentError(f"{len(passed_over)} of {len(found)} packages, first: {passed_over[0]['skip_reason']}")
    return found


def told(service: str, found: list[dict[str, Any]]) -> int:
    """Print what is known; the exit status."""
    holes = [(row, hole) for row in found for hole in row["vulns"]]
    for row, hole in holes:
        better = ", ".join(hole.get("fix_versions") or []) or "none yet"
        print(f"{row['name']} {row['version']}: {hole['id']}; mended in {better}")
    print(f"{service}: {len(found)} packages, {len(holes)} known holes")
    return HOLES if holes else CLEAN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
