"""Training throughput: the zoo's training loop against Keras's own ``fit``, on one stack, in turns.

python scripts/benchmarks/training_loop.py [--stack tf-2.21] [--rounds 5]

Three ways take turns, so that a machine whose speed drifts slows all of them: ``fit`` as Keras compiles it by default
(``jit_compile="auto"``: XLA where Keras considers it possible), ``fit`` without XLA, and the zoo's loop. The network
is ``mnist``; the images are random, since their content does not affect the time.
"""

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common

ITEMS, BATCH = 12_800, 128
OWN = "the zoo's loop"


def main() -> int:
    """Time the three ways in the stack's interpreter; print medians, quartiles and ratios."""
    parser = common.parser(__doc__)
    parser.add_argument("--stack", default="tf-2.21")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    times = common.run_in_stack(options.stack, "training_loop.py", ITEMS, BATCH, options.rounds)
    print(f"{options.stack}, mnist, batch {BATCH}, {ITEMS:,} images a round, {options.rounds} rounds")
    rows = []
    for name, rates in times.items():
        ratios = [own / other for own, other in zip(times[OWN], rates, strict=True)]
        low, middle, high = statistics.quantiles(rates, n=4)
        if name != OWN:
            rows.append((f"mnist, training, batch {BATCH}", options.stack, name, ratios))
        ratio = statistics.median(ratios)
        print(f"{name:<28} {middle:8,.0f} items/s ({low:,.0f} to {high:,.0f})   zoo / this: {ratio:.2f}")
    common.write_ratios(options.output, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
