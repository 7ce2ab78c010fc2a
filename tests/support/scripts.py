"""The project's scripts as modules, for their tests."""

import importlib.util
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
