"""Growth of time and memory with the data: training and inference on 1, 4 and 16 times as many images.

python scripts/benchmarks/growth.py MNIST_FOLDER [--model mnist_dense] [--stack tf-2.21] [--rounds 3]
    [--output FOLDER]

Each is a process of its own, `python -m zoo train` for one epoch and `python -m zoo infer` over images in a .npy
file; the sizes take turns. Reported are the seconds that the worker trained or predicted, without compilation, and
the peak resident memory of host and worker. Writes growth.json and growth.png.
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common

LARGEST = 54_400
TIMES = (1, 4, 16)
Figures = dict[str, float]


def main() -> int:
    """Measure, print, plot."""
    parser = common.parser(__doc__, output=False)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="mnist_dense")
    parser.add_argument("--stack", default="tf-2.21")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--largest", type=int, default=LARGEST, help="number of training images at 16x")
    parser.add_argument("--output", type=Path, default=Path(), help="folder for both files")
    options = parser.parse_args()
    sizes = {times: options.largest * times // TIMES[-1] for times in TIMES}
    measured: dict[str, dict[int, list[Figures]]] = {"training": {}, "inference": {}}
    with tempfile.TemporaryDirectory() as folder:
        arrays = write_arrays(options.data, sizes, Path(folder))
        for number in range(options.rounds):
            for times, size in sizes.items():
                run = Path(folder) / f"train-{number}-{times}"
                measured["training"].setdefault(times, []).append(train(options, size, run))
                figures = infer(options, run, arrays[times], Path(folder) / f"infer-{number}-{times}")
                measured["inference"].setdefault(times, []).append(figures)
                print(f"round {number + 1} of {options.rounds}, {times}x done", file=sys.stderr, flush=True)
    rows = [
        summary(what, times, sizes[times], figures) for what, by in measured.items() for times, figures in by.items()
    ]
    show(rows, options)
    return 0


def write_arrays(data: Path, sizes: dict[int, int], folder: Path) -> dict[int, Path]:
    """Write MNIST's training images as .npy files of these sizes."""
    import numpy as np

    from zoo.data import idx

    pictures = idx.read(data / "train-images-idx3-ubyte.gz", (28, 28))
    for times, size in sizes.items():
        np.save(folder / f"{times}.npy", pictures[:size, ..., None])
    return {times: folder / f"{times}.npy" for times in sizes}


def train(options: argparse.Namespace, size: int, folder: Path) -> Figures:
    """Train for one epoch on so many images."""
    settings = [f"model={options.model}", "data=mnist", f"data.root={options.data}", "backend=cpu",
                f"stack={options.stack}",
                "trainer.epochs=1", "data.validation=0", f"data.train_limit={size}",
                "data.test_limit=1000"]  # fmt: skip
    return zoo(["train", *settings], folder, "train_s")


def infer(options: argparse.Namespace, run: Path, array: Path, folder: Path) -> Figures:
    """Predict all images of a file."""
    settings = [f"run={run}", f"input={array}", f"stack={options.stack}", "backend=cpu"]
    return zoo(["infer", *settings], folder, "infer_s")


def zoo(arguments: list[str], folder: Path, phase: str) -> Figures:
    """Run the command line; return the seconds of a phase and the peaks in bytes."""
    record, host = common.run_with_peak(arguments, folder)
    return {"seconds": record["phases"][phase], "host_bytes": host, "worker_bytes": record["peak_memory_bytes"]}


def summary(what: str, times: int, size: int, figures: list[Figures]) -> dict[str, Any]:
    """Return the medians of the rounds."""
    medians = {name: statistics.median(each[name] for each in figures) for name in figures[0]}
    return {"what": what, "times": times, "pictures": size, "rounds": len(figures), **medians}


def show(rows: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Print the rows with their ratios to the smallest, and write both files."""
    from zoo.environments import machine
    from zoo.runs import records

    for row in rows:
        first = next(each for each in rows if each["what"] == row["what"])
        ratios = {name: row[name] / first[name] for name in ("seconds", "host_bytes", "worker_bytes")}
        row |= {f"{name}_ratio": round(ratio, 3) for name, ratio in ratios.items()}
        print(f"{row['what']:<10} {row['pictures']:>7,} images: {row['seconds']:8.3f} s "
              f"({ratios['seconds']:5.2f}x)  "
              f"host {row['host_bytes'] / 1e6:5.0f} MB ({ratios['host_bytes']:.2f}x)  "
              f"worker {row['worker_bytes'] / 1e6:5.0f} MB ({ratios['worker_bytes']:.2f}x)")  # fmt: skip
    where = {"model": options.model, "stack": options.stack, "machine": machine.describe(machine.probe())}
    content = {**where, "date": records.now()[:10], "commit": records.git_commit(), "rows": rows}
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "growth.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    plot(rows, f"{options.model} on {options.stack}, one epoch and one inference", options.output / "growth.png")


def plot(rows: list[dict[str, Any]], title: str, path: Path) -> None:
    """Plot time beside proportional growth, and memory from zero."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for what, color in (("training", "tab:blue"), ("inference", "tab:orange")):
        own = [row for row in rows if row["what"] == what]
        sizes = [row["pictures"] for row in own]
        left.plot(sizes, [row["seconds"] for row in own], "o-", color=color, label=what)
        straight = own[-1]["seconds"] / sizes[-1]
        left.plot([0, sizes[-1]], [0, straight * sizes[-1]], ":", color=color, label="in proportion")
        for name, marker, style in (("host", "s", "-"), ("worker", "^", "--")):
            memory = [row[f"{name}_bytes"] / 1e6 for row in own]
            right.plot(sizes, memory, marker=marker, ls=style, color=color, label=f"{what}, {name}")
    left.set(xlabel="images", ylabel="seconds", ylim=(0, None))
    right.set(xlabel="images", ylabel="largest resident size, MB", ylim=(0, None))
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.suptitle(title)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    sys.exit(main())
