"""Query public vulnerability databases for every package that requirements-dev.lock pins.

    python scripts/maintenance/audit.py [LOCK]

Exit status 0: no package has a known vulnerability. 1: some have, and they are printed. 2: the databases cannot be
queried from here, so nothing is known either way. A package that a database does not know counts as not queried.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
SERVICES = ("pypi", "osv")
CLEAN, VULNERABLE, UNREACHABLE = 0, 1, 2
TIMEOUT_S = 300


class UnreachableError(Exception):
    """A database could not be queried."""


def main(argv: list[str]) -> int:
    """Query the first database that answers for one package about all packages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lock", nargs="?", type=Path, default=ROOT / "requirements-dev.lock")
    text = parser.parse_args(argv).lock.read_text(encoding="utf-8")
    for service in SERVICES:
        try:
            query(service, next(pins(text)))  # fails fast where the database cannot be reached
            return report(service, query(service, text))
        except UnreachableError as error:
            print(f"{service} cannot be queried: {error}")
    return UNREACHABLE


def pins(text: str) -> Iterator[str]:
    """Yield the packages of a lock, each with its hashes."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        lines.append(line)
        if not line.endswith("\\"):
            yield "\n".join(lines) + "\n"
            lines = []


def query(service: str, text: str) -> list[dict[str, Any]]:
    """Return what pip-audit reports of each package.

    Raises:
        UnreachableError: the database does not answer, or does not know a package.
    """
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder, "query.lock")
        lock.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(lock), "--require-hashes", "--disable-pip",
                   "--vulnerability-service", service, "--format", "json", "--progress-spinner", "off"]  # fmt: skip
        try:
            answer = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise UnreachableError(f"it took longer than {TIMEOUT_S} s") from error
    return parse(answer.stdout, answer.stderr)


def parse(out: str, errors: str) -> list[dict[str, Any]]:
    """Parse the output of pip-audit; raises as :func:`query`."""
    try:
        rows: list[dict[str, Any]] = json.loads(out)["dependencies"]
    except (ValueError, KeyError, TypeError) as error:
        last = (errors.strip().splitlines() or ["it printed nothing"])[-1]
        raise UnreachableError(last[:200]) from error
    skipped = [row for row in rows if "skip_reason" in row]
    if skipped:
        raise UnreachableError(f"{len(skipped)} of {len(rows)} packages, first: {skipped[0]['skip_reason']}")
    return rows


def report(service: str, rows: list[dict[str, Any]]) -> int:
    """Print the known vulnerabilities and return the exit status."""
    entries = [(row, entry) for row in rows for entry in row["vulns"]]
    for row, entry in entries:
        fixed = ", ".join(entry.get("fix_versions") or []) or "no version yet"
        print(f"{row['name']} {row['version']}: {entry['id']}; fixed in {fixed}")
    print(f"{service}: {len(rows)} packages, {len(entries)} known vulnerabilities")
    return VULNERABLE if entries else CLEAN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
