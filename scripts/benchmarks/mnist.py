"""MNIST by the zoo's recipe against plain Keras and PyTorch, on the CPU, in turns.

    python scripts/benchmarks/mnist.py accuracy DATA [--seeds 1,2,3,4,5] [--goal 0.99]
    python scripts/benchmarks/mnist.py speed DATA [--rounds 3]

``accuracy``: wall time of `zoo train` with a warm environment, plots and files included, against the time in which
the script of Keras's example, on the same TensorFlow, reaches the test accuracy ``goal``; its testing is not counted.
Both take turns, once for each seed. ``speed``: images a second of training by the recipe, but with no layer frozen,
of `fit` and of plain PyTorch with the same network, also in turns. DATA is a folder with the four files of MNIST.
"""

import csv
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common

STACK, TORCH = "tf-2.21", "torch"


def main() -> int:
    """Measure and print; with --output, write the figures."""
    parser = common.parser(__doc__, output=False)
    parser.add_argument("what", choices=("accuracy", "speed"))
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--also", default="", help="settings of a third way that override the recipe: 'KEY=VALUE ...'")
    parser.add_argument("--goal", type=float, default=0.99)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    parser.add_argument("--rows", type=Path, help="JSON file for ratios.py")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = pack(options.data, Path(folder))
        figures: Any
        if options.what == "accuracy":
            seeds = [int(seed) for seed in options.seeds.split(",")]
            figures = accuracy(options.data, file, seeds, options.goal, options.also.split())
        else:
            figures = speed(options.data, file, options.rounds)
    if options.output:
        options.output.write_text(json.dumps(figures, indent=1) + "\n")
    common.write_ratios(options.rows, rows(options.what, figures, options.goal))
    return 0


def rows(what: str, figures: Any, goal: float) -> list[Any]:
    """Return the rows for ratios.py."""
    if what == "accuracy":
        ratios = {row["way"]: [other["ratio"] for other in figures if other["way"] == row["way"]] for row in figures}
        return [(f"MNIST to {goal}, whole process, {way}", STACK, "Keras's example", ratios[way]) for way in ratios]
    return [
        ("MNIST, training", STACK, name, [own / other for own, other in zip(figures["zoo"], rates, strict=True)])
        for name, rates in figures.items()
        if name != "zoo"
    ]


def pack(data: Path, folder: Path) -> Path:
    """Write the images as Keras publishes them: one .npz file."""
    from zoo.data import idx

    parts: dict[str, Any] = {
        f"{kind}_{part}": idx.read(data / f"{file}-{content}.gz", shape)
        for part, file in (("train", "train"), ("test", "t10k"))
        for kind, content, shape in (("x", "images-idx3-ubyte", (28, 28)), ("y", "labels-idx1-ubyte", ()))
    }
    np.savez(folder / "mnist.npz", **parts)
    return folder / "mnist.npz"


def plain(stack: str, *arguments: object) -> dict[str, Any]:
    """Run mnist_plain.py."""
    return common.run_in_stack(stack, "mnist_plain.py", *arguments)


def zoo(data: Path, root: str, *settings: str) -> dict[str, Any]:
    """Train by the recipe; return the run's record, ``wall``, the seconds of the process, and images a second."""
    command = [
        sys.executable, "-m", "zoo", "train", "model=mnist", "data=mnist", f"data.root={data.resolve()}",
        "data.validation=0", "backend=cpu", f"stack={STACK}", f"output.root={root}", "output.name=run", *settings,
    ]  # fmt: skip
    began = time.monotonic()
    subprocess.run(command, cwd=common.ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall = time.monotonic() - began
    with (Path(root) / "run" / "history.csv").open() as history:
        rates = [float(row["items_per_s"]) for row in csv.DictReader(history)]
    return {**json.loads((Path(root) / "run" / "run.json").read_text()), "wall": wall, "rates": rates}


def accuracy(data: Path, file: Path, seeds: list[int], goal: float, also: list[str]) -> list[dict[str, Any]]:
    """Measure the time to the goal; return a row for each seed and way."""
    rows = []
    ways = {"recipe": list[str](), **({"also": also} if also else {})}
    for seed in seeds:
        example = plain(STACK, "keras", file, seed, goal)
        for way, words in ways.items():
            with tempfile.TemporaryDirectory() as root:
                own = zoo(data, root, f"seed={seed}", *words)
            row = {
                "seed": seed, "way": way, "example_s": example["seconds"], "example_epochs": example["epochs"],
                "example_accuracy": example["accuracy"][-1], "zoo_s": own["wall"],
                "zoo_accuracy": own["metrics"]["test_accuracy"], "ratio": example["seconds"] / own["wall"],
                "phases": own["phases"],
            }  # fmt: skip
            rows.append(row)
            line = (
                "seed {seed}: example {example_s:.1f} s ({example_epochs} epochs, {example_accuracy:.4f}), "
                "{way} {zoo_s:.1f} s ({zoo_accuracy:.4f}), {ratio:.1f} times"
            )
            print(line.format(**row), flush=True)
    for way in ways:
        of_way = [row for row in rows if row["way"] == way]
        reached = sum(row["zoo_accuracy"] >= goal for row in of_way)
        ratio = statistics.median(row["ratio"] for row in of_way)
        print(f"{way}: {reached} of {len(of_way)} reached {goal}; {ratio:.1f} times as fast (median)")
    return rows


def speed(data: Path, file: Path, rounds: int) -> dict[str, list[float]]:
    """Measure images a second of training; each way once a round, in a process of its own."""
    measured: dict[str, list[float]] = {"zoo": [], "Keras's fit": [], "PyTorch": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as root:
            own = zoo(data, root, "trainer.epochs=2", "data.train_limit=25600", "data.test_limit=500",
                      "freeze.before=null")  # fmt: skip
        measured["zoo"].append(own["rates"][-1])
        measured["Keras's fit"].append(max(plain(STACK, "speed-keras", file, 2)["rates"]))
        measured["PyTorch"].append(max(plain(TORCH, "speed-torch", file, 2)["rates"]))
    for name, rates in measured.items():
        ratio = statistics.median(own / other for own, other in zip(measured["zoo"], rates, strict=True))
        middle = statistics.median(rates)
        print(f"{name:<12} {middle:8,.0f} images/s   best {max(rates):8,.0f}   zoo / this {ratio:.2f}")
    return measured


if __name__ == "__main__":
    sys.exit(main())
