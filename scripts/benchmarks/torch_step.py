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
ITEMS = {"language": 12 * 64, "mobilenet": 32}  # of a step: tokens, images
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
    rows = []
    for name in options.networks:
        processes = {
            way: process(name, way, options.precision, options.threads, with_variables=options.variables)
            for way in ("zoo", *options.against)
        }
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


def process(
    network: str,
    way: str,
    precision: str,
    threads: int = 0,
    stack: str = "torch",
    tree: Path | None = None,
    with_variables: bool = False,
) -> common.WorkerProcess:
    """Start a worker that takes steps.

    Args:
        network: see workers/training_step.py, as for the next three.
        way: zoo, plain or compiled.
        precision: float32 or bfloat16.
        threads: 0 leaves their number to the stack.
        stack: whose interpreter it runs in.
        tree: another checkout, whose zoo it is.
        with_variables: give plain PyTorch the zoo's environment variables.
    """
    variables: dict[str, str | None] = {}
    if way != "zoo" and not with_variables:
        variables = dict.fromkeys(OF_THE_ZOO)
    elif tree and not (tree / "scripts" / "benchmarks" / "allocator.py").exists():
        variables = {"GLIBC_TUNABLES": None}  # the commit did not set it yet
    words = (network, way, precision, threads, tree or common.ROOT)
    return common.WorkerProcess(stack, "training_step.py", *words, variables=variables)


if __name__ == "__main__":
    sys.exit(main())
