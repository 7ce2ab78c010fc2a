"""The project's scripts as modules, for their tests."""

import importlib.util
import shlex
import sys
from pathlib import Path
from typing import Any

from tests.support import CHECKOUT

FOLDER = CHECKOUT / "scripts"


def load(name: str) -> Any:
    """The module of a script, such as ``benchmarks/ratios``."""
    spec = importlib.util.spec_from_file_location(f"script_{Path(name).name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def table_written(text: str) -> dict[str, str]:
    """Execute the printed command of scripts/table_of.py in a message; return the settings that follow it."""
    command, _, rest = text.partition("python scripts/table_of.py ")[2].partition("\nThen give ")
    assert load("table_of").main(shlex.split(command)) == 0
    words = [word.rstrip(".,") for word in shlex.split(rest.partition("\n")[0]) if word.startswith("data.")]
    return dict(word.removeprefix("data.").split("=", 1) for word in reversed(words))  # the first counts
