"""Where a training step on PyTorch goes: the zoo of an earlier commit, of this one, and plain PyTorch.

python scripts/benchmarks/step_profile.py BEFORE [--networks language mobilenet] [--precision float32] [--steps 5]

BEFORE is a checkout of the earlier commit. The networks are those of torch_step.py, on one thread: torch.profiler
does not see the two threads that compute halves of a batch. Printed are milliseconds a step that the operations of
each kind took themselves. "Outside of operations" is the rest: Python, and what the profiler itself takes.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common, torch_step

# The first kind that has a part of the operation's name takes it.
KINDS = {
    "attention": ("attention", "softmax"),
    "normalization": ("batch_norm", "layer_norm", "native_norm", "rsqrt", "var_mean"),
    "convolutions": ("conv", "depthwise"),
    "matrix products": ("mm", "linear", "matmul", "dot", "einsum"),
    "optimizer": ("adam", "_foreach", "addcdiv", "addcmul", "lerp"),
    "activations": ("gelu", "relu", "clamp", "hardtanh", "tanh", "threshold"),
    "copies and layouts": ("copy", "clone", "contiguous", "permute", "transpose", "to", "pad", "cat", "fill", "zero"),
}
REST = "other operations"
OUTSIDE = "outside of operations"


def main() -> int:
    """Profile and print."""
    parser = common.parser(__doc__, output=False)
    parser.add_argument("before", type=Path)
    parser.add_argument("--networks", nargs="+", choices=tuple(torch_step.STEPS), default=list(torch_step.STEPS))
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args()
    for network in options.networks:
        columns = {}
        for name, tree in (("before", options.before.resolve()), ("now", common.ROOT), ("plain PyTorch", None)):
            process = torch_step.process(network, "zoo" if tree else "plain", options.precision, 1, tree=tree)
            process.ask(steps=3)
            columns[name] = by_kind(process.ask(profile=options.steps)["operations"])
            process.close()
        print(f"\n| {network}, {options.precision}, ms a step | {' | '.join(columns)} |")
        print(f"|{'---|' * (len(columns) + 1)}")
        for kind in (*KINDS, REST, OUTSIDE, "step"):
            cells = (f"{column.get(kind, 0.0):.1f}" for column in columns.values())
            print(f"| {kind} | {' | '.join(cells)} |", flush=True)
    return 0


def by_kind(operations: dict[str, float]) -> dict[str, float]:
    """Add the milliseconds of all operations of a kind."""
    step = operations.pop("step")
    kinds: dict[str, float] = {}
    for name, spent in operations.items():
        kind = next((kind for kind, parts in KINDS.items() if any(part in name.lower() for part in parts)), REST)
        kinds[kind] = kinds.get(kind, 0.0) + spent
    return {**kinds, OUTSIDE: step - sum(kinds.values()), "step": step}


if __name__ == "__main__":
    sys.exit(main())
