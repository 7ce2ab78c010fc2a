"""The command line of the zoo with another file as the worker: `with_worker.py WORKER ARGUMENT...`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from zoo.__main__ import leave
from zoo.cli.main import main
from zoo.core import paths

if __name__ == "__main__":
    paths.WORKER = Path(sys.argv[1])
    leave(main(sys.argv[2:]))
