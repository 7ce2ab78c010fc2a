"""Every script says how it is used."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import CHECKOUT

# What runs inside a stack, and what other scripts import, has no command line.
PARTS = {
    "workers", "linking", "common.py", "conversions.py", "environment.py", "large_inputs.py", "comparison.py",
    "entering.py", "intake.py", "machines.py", "plausibility.py", "peer_rows.py", "turns.py",
}  # fmt: skip
SCRIPTS = sorted(
    path for path in (CHECKOUT / "scripts").rglob("*.py") if not PARTS & set(path.relative_to(CHECKOUT).parts)
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(CHECKOUT / "scripts")))
def test_help_is_printed(script: Path) -> None:
    command = [sys.executable, str(script), "--help"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert process.returncode == 0, process.stderr[-2000:]
    assert script.name in process.stdout
