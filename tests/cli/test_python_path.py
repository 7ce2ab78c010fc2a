"""Libraries of other projects in PYTHONPATH break no command; a library that only they hold is still there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import CHECKOUT

LIBRARIES = ("numpy", "yaml", "omegaconf", "hydra", "PIL", "filelock", "platformdirs", "h5py", "matplotlib")


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *command], env=variables, cwd=CHECKOUT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "command",
    [
        ["-m", "zoo", "train", "model=mnist", "data=digits", "backend=cpu", "--dry-run"],
        ["-m", "zoo", "doctor", "--json"],
        ["scripts/run.py", "zoo", "list", "stacks"],
    ],
)
def test_broken_libraries_in_pythonpath_break_nothing(tmp_path: Path, command: list[str]) -> None:
    for name in LIBRARIES:
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('broken {name}')", encoding="utf-8")
    done = _run(tmp_path, *command)
    assert (done.returncode, "broken" in done.stderr) == (0, False), done.stderr[-2000:]


def test_files_of_the_current_folder_replace_no_library(tmp_path: Path) -> None:
    for name in ("random", "queue", *LIBRARIES):
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('broken {name}')", encoding="utf-8")
    command = [sys.executable, "-m", "zoo", "train", "model=mnist", "data=digits", "backend=cpu", "--dry-run"]
    variables = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "broken" in done.stderr) == (0, False), done.stderr[-2000:]


def test_folders_of_pythonpath_stay_on_the_path_behind_the_others(tmp_path: Path) -> None:
    shown = "sys.path[-1], 'PYTHONPATH' in os.environ"
    code = f"import sys, os\nfrom zoo.cli import python_path as p\np.put_last()\nprint({shown})"
    assert _run(tmp_path, "-c", code).stdout.split() == [str(tmp_path), "False"]


def test_a_zoo_that_is_only_in_pythonpath_is_still_there_for_child_processes() -> None:
    code = "import os\nfrom zoo.cli import python_path as p\np.put_last()\nprint(os.environ['PYTHONPATH'])"
    assert _run(CHECKOUT, "-c", code).stdout.strip() == str(CHECKOUT)
