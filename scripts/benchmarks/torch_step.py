"""A training step on PyTorch: the zoo's against plain PyTorch, in turns, step by step in one process.

python scripts/benchmarks/torch_step.py [--networks language mobilenet] [--threads 2] [--rounds 5]

The language model has the sizes and the optimizer of shakespeare.py (batches of 12 times 64 characters). MobileNet is
v1 at alpha 1 and 224 pixels in batches of 32, by Adam; plain PyTorch keeps its maps with channels last. Plain PyTorch
is as a good user writes it: fused attention and fused optimizer. Inputs are random, they do not change the time.
"""

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common

STEPS = {"language": 30, "mobilenet": 2}  # of a round


def main() -> int:
    """Time both; print medians and ratios."""
    parser = common.parser(__doc__)
    parser.add_argument("--networks", nargs="+", choices=tuple(STEPS), default=list(STEPS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    options = parser.parse_args()
    rows = []
    for name in options.networks:
        settings = (name, options.precision, options.threads, options.rounds, STEPS[name])
        times = common.run_in_stack("torch", "torch_step.py", *settings)
        ratios = [theirs / ours for ours, theirs in zip(times["zoo"], times["plain"], strict=True)]
        ours, theirs = (1000 * statistics.median(times[way]) for way in ("zoo", "plain"))
        speed = f"{statistics.median(ratios):.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"{name}, {options.precision}, {options.threads} threads: zoo {ours:.1f} ms a step, plain PyTorch "
              f"{theirs:.1f} ms; {speed}", flush=True)  # fmt: skip
        about = f"{name}, training step, {options.threads} threads"
        rows.append((about, f"torch, {options.precision}", "plain PyTorch", ratios))
    common.write_ratios(options.output, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
