"""Attention on PyTorch, fused against by products, in turns: what the zoo chooses by where it is trained.

python scripts/benchmarks/attention.py [--precision bfloat16] [--rounds 7]

Cases are texts x heads of a width, and a length: those of film reviews, of larger networks and of the zoo's language
model; forwards alone and with the gradients, on all cores. Prints medians in milliseconds.
"""

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common

CASES = [(64, 2, 16, 512), (64, 1, 32, 1024), (8, 8, 64, 1024), (12, 4, 32, 64)]


def main() -> int:
    """Time all cases, print a line each, write rows for ratios.py."""
    parser = common.parser(__doc__)
    parser.add_argument("--precision", choices=("bfloat16", "float32"), default="bfloat16")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    process, rows = common.WorkerProcess("torch", "attention.py"), []
    for texts, heads, width, length in CASES:
        for backward in (True, False):
            shape = [texts, heads, width, length]
            taken = process.ask(shape=shape, precision=options.precision, backward=backward, rounds=options.rounds)
            what = f"attention, {texts} x {heads} heads of {width}, length {length}"
            what += ", with gradients" if backward else ""
            ratios, words = common.times_as_fast(taken["products"], taken["fused"])
            fused, products = (statistics.median(taken[way]) for way in ("fused", "products"))
            print(f"{what}: fused {fused:.1f} ms, by products {products:.1f} ms; {words}", flush=True)
            rows.append((what, f"torch, {options.precision}, by products", "PyTorch's fused attention", ratios))
    process.close()
    common.write_ratios(options.output, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
