"""Time the command line: median and quartiles of whole processes, against its limits.

python scripts/benchmarks/startup.py [RUNS]
"""

import argparse
import statistics
import subprocess
import sys
import time

LIMITS_S = {"--help": 0.4, "list": 1.0}
COMMANDS = ("--help", "help", "list", "train --cfg job", "env list")


def seconds(arguments: list[str]) -> float:
    """Return the wall time of one process in seconds.

    Raises:
        subprocess.CalledProcessError: the command failed.
    """
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "zoo", *arguments], capture_output=True, check=True)
    return time.perf_counter() - began


def main() -> int:
    """Time every command, print a table, return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="?", type=int, default=5)
    runs = parser.parse_args().runs
    broken = 0
    print(f"{'command':<18} {'median s':>9} {'quartiles':>15}  limit")
    for command in COMMANDS:
        seconds(command.split())
        times = [seconds(command.split()) for _ in range(runs)]
        low, middle, high = statistics.quantiles(times, n=4)
        limit = LIMITS_S.get(command)
        broken += limit is not None and middle > limit
        print(f"{command:<18} {middle:9.3f} {low:7.3f}-{high:.3f}  {limit or ''}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
