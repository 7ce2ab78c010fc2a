"""What a training step gains by memory that glibc keeps, in huge pages: with and without, in turns.

python scripts/benchmarks/allocator.py [--stacks tf-2.21 torch jax] [--networks mobilenet mnist] [--rounds 5]

MobileNet is v1 at alpha 1 and 224 pixels in batches of 32, mnist takes batches of 64, both in float32 by Adam, on
random inputs; the least step of a round counts.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common

STEPS = {"mobilenet": 3, "mnist": 30}  # of a round


def main() -> int:
    """Time both; print medians and ratios."""
    parser = common.parser(__doc__)
    parser.add_argument("--stacks", nargs="+", default=["tf-2.21", "torch", "jax"])
    parser.add_argument("--networks", nargs="+", choices=tuple(STEPS), default=list(STEPS))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows = []
    for stack in options.stacks:
        for name in options.networks:
            settings = (stack, "training_step.py", name, "zoo", "float32", 0)
            processes = {
                "kept": common.WorkerProcess(*settings),
                "given back": common.WorkerProcess(*settings, variables={"GLIBC_TUNABLES": None}),
            }
            times = common.in_turns(processes, options.rounds, STEPS[name])
            ratios, words = common.times_as_fast(times["kept"], times["given back"])
            print(f"{stack}, {name}: {words}", flush=True)
            rows.append((f"{name}, training step", f"{stack}, float32", "memory given back to the system", ratios))
    common.write_ratios(options.output, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
