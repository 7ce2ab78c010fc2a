"""A training step on PyTorch: the zoo's against plain PyTorch, each in a process of its own, in turns.

python scripts/benchmarks/torch_step.py [--networks language mobilenet] [--against plain compiled] [--rounds 5]

The language model has the sizes and the optimizer of shakespeare.py (batches of 12 times 64 characters). MobileNet is
v1 at alpha 1 and 224 pixels in batches of 32, by Adam; plain PyTorch keeps its maps with channels last. Plain PyTorch
is as a good user writes it, fused attention and fused optimizer, and starts it: with no environment variables of the
zoo's, or with them (`--variables`). `compiled` is `torch.compile` of it and needs a C++ compiler. Inputs are random,
they do not change the time.
"""

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common

STEPS = {"language": 30, "mobilenet": 3}  # of a round
OF_THE_ZOO = ("GLIBC_TUNABLES", "GOMP_SPINCOUNT")


def main() -> int:
    """Time all; print medians and ratios."""
    parser = common.parser(__doc__)
    parser.add_argument("--networks", nargs="+", choices=tuple(STEPS), default=list(STEPS))
    parser.add_argument("--against", nargs="+", choices=("plain", "compiled"), default=["plain"])
    parser.add_argument("--variables", action="store_true", help="give plain PyTorch the zoo's variables too")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    options = parser.parse_args()
    none = {} if options.variables else dict.fromkeys(OF_THE_ZOO)
    rows = []
    for name in options.networks:
        processes = {
            way: common.WorkerProcess("torch", "training_step.py", name, way, options.precision, options.threads,
                                      variables={} if way == "zoo" else none)
            for way in ("zoo", *options.against)
        }  # fmt: skip
        times = common.in_turns(processes, options.rounds, STEPS[name])
        about = f"{name}, training step, {options.threads} threads"
        for way in options.against:
            peer = {"plain": "plain PyTorch", "compiled": "torch.compile"}[way]
            ratios, words = common.times_as_fast(times["zoo"], times[way])
            ours, theirs = (1000 * statistics.median(times[each]) for each in ("zoo", way))
            print(f"{about}, {options.precision}: zoo {ours:.1f} ms, {peer} {theirs:.1f} ms; {words}", flush=True)
            rows.append((about, f"torch, {options.precision}", peer, ratios))
    common.write_ratios(options.output, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
