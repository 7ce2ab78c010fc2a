"""Training steps with the data on the device against batches made by the host, in turns, in one process.

python scripts/benchmarks/placement.py [--stack torch] [--model mnist] [--rounds 7]

On a processor both lie in the same memory: this shows what gathering by index costs. The images are random.
"""

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common

ITEMS, BATCH = 6_400, 128


def main() -> int:
    """Time a few steps of each in turns in the stack's interpreter; print milliseconds a step, and their ratios."""
    parser = common.parser(__doc__)
    parser.add_argument("--stack", default="torch")
    parser.add_argument("--model", default="mnist", choices=["mnist", "mnist_dense", "mnist_conv5"])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    stack, model = options.stack, options.model
    times = common.run_in_stack(stack, "placement.py", stack, model, ITEMS, BATCH, options.rounds)
    ratios = [host / device for host, device in zip(times["host"], times["device"], strict=True)]
    for name, seconds in times.items():
        print(f"{stack}, {model}, batch {BATCH}, {name:<6} {1000 * statistics.median(seconds):6.2f} ms a step")
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"steps with data on the device are {middle:.3f} times as fast ({low:.3f} to {high:.3f})")
    row = (f"{model}, data on the device, batch {BATCH}", stack, "data of the host", ratios)
    common.write_ratios(options.output, [row])
    return 0


if __name__ == "__main__":
    sys.exit(main())
