"""MNIST by the zoo's recipe against what one would write without it, on the processor, in one run.

    python scripts/benchmarks/mnist.py accuracy DATA [--seeds 1,2,3,4,5] [--goal 0.99]
    python scripts/benchmarks/mnist.py speed DATA [--rounds 3]

``accuracy``: seconds from the command to the end of `zoo train` with a warm environment, plots and files included,
against those after which the script of Keras's example, on the same TensorFlow, has answered ``goal`` of the test
pictures right; its testing is not counted. Both take turns, once for each seed. ``speed``: pictures a second of
training by the recipe, but with all layers learning to the end, of `fit` and of plain PyTorch with the same network,
also in turns. DATA is a folder with the four files of MNIST.
"""

import argparse
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

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
PLAIN = Path(__file__).with_name("workers") / "mnist_plain.py"
STACK, TORCH = "tf-2.21", "torch"


def main() -> int:
    """Measure and print; with --output the figures are kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("accuracy", "speed"))
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--also", default="", help="settings of a third way, laid over the recipe: 'KEY=VALUE ...'")
    parser.add_argument("--goal", type=float, default=0.99)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, help="a JSON file for the figures")
    parser.add_argument("--rows", type=Path, help="a JSON file for ratios.py")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = packed(told.data, Path(folder))
        found: Any
        if told.what == "accuracy":
            seeds = [int(seed) for seed in told.seeds.split(",")]
            found = accuracy(told.data, file, seeds, told.goal, told.also.split())
        else:
            found = speed(told.data, file, told.rounds)
    if told.output:
        told.output.write_text(json.dumps(found, indent=1) + "\n")
    if told.rows:
        import ratios

        ratios.write(told.rows, [ratios.row(*row) for row in rows(told.what, found, told.goal)])
    return 0


def rows(what: str, found: Any, goal: float) -> list[Any]:
    """What, stack, what it is held against, and how many times as fast, for the common table."""
    if what == "accuracy":
        ratios = {row["way"]: [other["ratio"] for other in found if other["way"] == row["way"]] for row in found}
        return [(f"MNIST to {goal}, whole process, {way}", STACK, "Keras's example", ratios[way]) for way in ratios]
    return [
        ("MNIST, training", STACK, name, [own / other for own, other in zip(found["zoo"], rates, strict=True)])
        for name, rates in found.items()
        if name != "zoo"
    ]


def packed(data: Path, folder: Path) -> Path:
    """The pictures as Keras itself would hand them out: one .npz file."""
    from zoo.data import idx

    parts: dict[str, Any] = {
        f"{kind}_{part}": idx.read(data / f"{file}-{content}.gz", shape)
        for part, file in (("train", "train"), ("test", "t10k"))
        for kind, content, shape in (("x", "images-idx3-ubyte", (28, 28)), ("y", "labels-idx1-ubyte", ()))
    }
    np.savez(folder / "mnist.npz", **parts)
    return folder / "mnist.npz"


def plain(stack: str, *words: object) -> dict[str, Any]:
    """What mnist_plain.py tells, and ``wall``: the seconds of its whole process."""
    from zoo.environments import machine, stacks, store

    row = stacks.load(stack)
    ready = store.ensure(row, machine.probe().platform)
    began = time.monotonic()
    answer = subprocess.run(
        [str(ready.python), "-I", "-B", str(PLAIN), *map(str, words)], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, env=store.child_environment(row), check=True,
    )  # fmt: skip
    return {**json.loads(answer.stdout.splitlines()[-1]), "wall": time.monotonic() - began}


def zoo(data: Path, root: str, *words: str) -> dict[str, Any]:
    """The record of one whole training by the recipe, and ``wall``: seconds of the whole command."""
    command = [
        sys.executable, "-m", "zoo", "train", "model=mnist", "data=mnist", f"data.root={data.resolve()}",
        "data.validation=0", "backend=cpu", f"stack={STACK}", f"output.root={root}", "output.name=run", *words,
    ]  # fmt: skip
    began = time.monotonic()
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    wall = time.monotonic() - began
    with (Path(root) / "run" / "history.csv").open() as history:
        rates = [float(row["items_per_s"]) for row in csv.DictReader(history)]
    return {**json.loads((Path(root) / "run" / "run.json").read_text()), "wall": wall, "rates": rates}


def accuracy(data: Path, file: Path, seeds: list[int], goal: float, also: list[str]) -> list[dict[str, Any]]:
    """Time to the goal, a row for each seed and way."""
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
            told = (
                "seed {seed}: example {example_s:.1f} s ({example_epochs} epochs, {example_accuracy:.4f}), "
                "{way} {zoo_s:.1f} s ({zoo_accuracy:.4f}), {ratio:.1f} times"
            )
            print(told.format(**row), flush=True)
    for way in ways:
        of_way = [row for row in rows if row["way"] == way]
        reached = sum(row["zoo_accuracy"] >= goal for row in of_way)
        ratio = statistics.median(row["ratio"] for row in of_way)
        print(f"{way}: {reached} of {len(of_way)} reached {goal}; {ratio:.1f} times as fast (median)")
    return rows


def speed(data: Path, file: Path, rounds: int) -> dict[str, list[float]]:
    """Pictures a second of training; each way once a round, in a process of its own."""
    found: dict[str, list[float]] = {"zoo": [], "Keras's fit": [], "PyTorch": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as root:
            own = zoo(data, root, "trainer.epochs=2", "data.train_limit=25600", "data.test_limit=500",
                      "freeze.before=null")  # fmt: skip
        found["zoo"].append(own["rates"][-1])
        found["Keras's fit"].append(max(plain(STACK, "speed-keras", file, 2)["rates"]))
        found["PyTorch"].append(max(plain(TORCH, "speed-torch", file, 2)["rates"]))
    for name, rates in found.items():
        ratio = statistics.median(own / other for own, other in zip(found["zoo"], rates, strict=True))
        middle = statistics.median(rates)
        print(f"{name:<12} {middle:8,.0f} pictures/s   best {max(rates):8,.0f}   zoo / this {ratio:.2f}")
    return found


if __name__ == "__main__":
    sys.exit(main())
