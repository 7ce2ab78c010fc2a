"""`zoo serve` with a worker that pretends, in this test environment's own Python instead of a stack's."""

import contextlib
import sys
from pathlib import Path
from typing import Any

from tests.support import SUPPORT
from zoo.cli.main import main
from zoo.core import paths
from zoo.environments import store


def ensure(*_: Any, **__: Any) -> store.Environment:
    """Return this Python as the environment of every stack."""
    lock = Path("stand_in.lock")
    lock.touch()
    return store.Environment(Path(sys.executable), Path(sys.prefix), lock, "0" * 64, {}, 0.0, "3.11.0")


if __name__ == "__main__":
    store.ensure = ensure
    store.in_use = lambda _: contextlib.nullcontext()  # type: ignore[assignment,return-value]
    paths.WORKER = SUPPORT / "serving_worker.py"
    sys.exit(main(["serve", *sys.argv[1:]]))
