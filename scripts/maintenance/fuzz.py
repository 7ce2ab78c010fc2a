"""Feed damaged files to every parser, and check that each yields a result or a ZooError.

    python scripts/maintenance/fuzz.py [--cases 10000] [--seed 1] [PARSER ...]

Limits: a second of processor time for a case (more where a parser says so), twenty times that of wall time, 4 GB of
address space in all. Printed: cases accepted and refused, wall time of the slowest, peak memory; the first file that
escaped is kept.
"""

import argparse
import json
import random
import resource
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

ADDRESS_SPACE = 4 << 30


class SlowError(Exception):
    """A case took longer than its limit."""


def main() -> int:
    """Fuzz; return 0 if nothing escaped."""
    from tests.support import parsers

    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("parser", nargs="*", default=list(parsers.PARSERS))
    command.add_argument("--cases", type=int, default=10_000)
    command.add_argument("--seed", type=int, default=1)
    options = command.parse_args()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    signal.signal(signal.SIGALRM, _on_alarm)
    signal.signal(signal.SIGPROF, _on_alarm)
    results = [_fuzz(name, options.cases, options.seed) for name in options.parser]
    return 1 if any(result["escaped"] for result in results) else 0


def _on_alarm(_number: int, _frame: FrameType | None) -> None:
    raise SlowError


def _limit(seconds: float) -> None:
    """Start the limits of a case; 0 ends them. Processor time counts, since the machine may be busy."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 20 * seconds)


def _fuzz(name: str, cases: int, seed: int) -> dict[str, Any]:
    from tests.support import parsers

    parser, draw = parsers.PARSERS[name], random.Random(f"{name} {seed}")  # noqa: S311
    counts, slowest, escaped = {"taken": 0, "refused": 0}, 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(cases):
            content = parsers.damaged(draw.choice(parser.seeds), draw, parser.binary)
            began = time.monotonic()
            _limit(parser.seconds)
            try:
                counts[parsers.survives(parser, content, Path(folder))] += 1
            except Exception as error:
                escaped += 1
                if escaped == 1:
                    kept = Path(tempfile.gettempdir(), f"zoo-escaped-{name}")
                    kept.write_bytes(content)
                    print(f"{name}: {type(error).__name__}: {error}; {kept}", file=sys.stderr)
            finally:
                _limit(0)
            slowest = max(slowest, time.monotonic() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = {"parser": name, "cases": cases, **counts, "escaped": escaped, "slowest_ms": round(slowest * 1000, 1),
              "peak_mb": peak // (1 << 20 if sys.platform == "darwin" else 1 << 10)}  # fmt: skip
    if name == "hdf5":  # read in processes of their own
        result |= {"hung": parsers.HDF5_SEEN["hung"], "peak_mb": parsers.HDF5_SEEN["peak_bytes"] >> 20}
    print(json.dumps(result), flush=True)
    return result


if __name__ == "__main__":
    sys.exit(main())
