"""`zoo run` in this test environment's own Python instead of a stack: what the command does around a script."""

import sys
from collections.abc import Sequence
from pathlib import Path

from zoo.cli.main import main
from zoo.environments import machine, selection
from zoo.environments.store import Environment
from zoo.execution import proven_stack


def prepare(
    backend: str | None, stack: str | None, added: Sequence[object], probes: bool = True
) -> proven_stack.ProvenStack:
    """Return a stack whose Python is this one; print what was asked for."""
    print(f"asked for {backend} {stack} {[str(row) for row in added]} {probes}", file=sys.stderr)
    choice = selection.select(backend, machine.probe(), stack)
    version = ".".join(map(str, sys.version_info[:3]))
    environment = Environment(Path(sys.executable), Path(sys.prefix), Path(), "", {}, 0.0, version)
    return proven_stack.ProvenStack(choice, environment, {"CUDA_VISIBLE_DEVICES": "-1"}, choice.stack.name)


if __name__ == "__main__":
    proven_stack.prepare = prepare
    sys.exit(main(["run", *sys.argv[1:]]))
