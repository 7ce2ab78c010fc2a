"""Processor time of a training step on several frameworks, each in a process of its own, in turns.

python scripts/benchmarks/framework_step.py [--stacks torch mlx] [--networks mnist language] [--rounds 7]

Processor seconds of all threads of the process, which other work on the machine changes less than time does. The
networks are those of workers/training_step.py: mnist in batches of 64, MobileNet v1 of width 0.25 in batches of 32
images of 224 pixels, the language model of torch_step.py. Printed are medians and extremes over the rounds, the wall
time of the fastest step, the ratio to the first stack, and the load of the machine before and after.
"""

import os
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common

STEPS = {"mnist": 20, "mobilenet-0.25": 2, "language": 10}  # of a round
# As zoo/worker/devices/mlx.py sets it for processors.
VARIABLES: dict[str, dict[str, str | None]] = {"mlx": {"MLX_DISABLE_COMPILE": "1"}}


def main() -> int:
    """Measure in turns; print a table in Markdown."""
    parser = common.parser(__doc__, output=False)
    parser.add_argument("--stacks", nargs="+", default=["torch", "mlx"])
    parser.add_argument("--networks", nargs="+", choices=tuple(STEPS), default=list(STEPS))
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print(f"load before: {_load()}\n")
    print("| network | stack | CPU s a step | fastest step, s | CPU time against the first |\n|---|---|---|---|---|")
    for network in options.networks:
        measured = _measure(network, options.stacks, options.rounds)
        first = statistics.median(measured[options.stacks[0]][0])
        for stack, (used, wall) in measured.items():
            spread = f"{_figure(statistics.median(used))} ({_figure(min(used))} to {_figure(max(used))})"
            ratio = f"{statistics.median(used) / first:.2f}"
            print(f"| {network} | {stack} | {spread} | {_figure(min(wall))} | {ratio} |", flush=True)
    print(f"\nload after: {_load()}")
    return 0


def _measure(network: str, stacks: list[str], rounds: int) -> dict[str, tuple[list[float], list[float]]]:
    """Return processor seconds of a step by round, and wall seconds of all steps, for each stack."""
    words = (network, "zoo", "float32", 0, common.ROOT)
    processes = {
        stack: common.WorkerProcess(stack, "training_step.py", *words, variables=VARIABLES.get(stack))
        for stack in stacks
    }
    measured: dict[str, tuple[list[float], list[float]]] = {stack: ([], []) for stack in stacks}
    for process in processes.values():
        process.ask(steps=2)  # compiles, and gets its memory
    for _ in range(rounds):
        for stack, process in processes.items():
            answer = process.ask(steps=STEPS[network])
            measured[stack][0].append(answer["cpu_seconds"])
            measured[stack][1].extend(answer["seconds"])
    for process in processes.values():
        process.close()
    return measured


def _figure(seconds: float) -> str:
    return f"{seconds:.3g}"


def _load() -> str:
    return ", ".join(f"{each:.1f}" for each in os.getloadavg())


if __name__ == "__main__":
    sys.exit(main())
