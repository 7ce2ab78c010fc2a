"""How time and memory grow with the data: the same training and inference on 1, 4 and 16 times as many pictures.

python scripts/benchmarks/growth.py MNIST_FOLDER [--model mnist_dense] [--stack tf-2.21] [--rounds 3]
    [--output FOLDER]

Each is a process of its own, `python -m zoo train` for one epoch and `python -m zoo infer` over pictures in a .npy
file; the sizes take turns. Told are the seconds that the worker trained or predicted, compiling left out, and the
largest resident size of host and worker. Writes growth.json and growth.png.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
LARGEST = 54_400
TIMES = (1, 4, 16)
# What the process that stands for the command line runs: the zoo, and then a word on its own memory.
HOST = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from zoo import cli
code = cli.main(sys.argv[2:])
print("PEAK", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
sys.exit(code)
"""
Figures = dict[str, float]


def main() -> int:
    """Measure, print, plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="mnist_dense")
    parser.add_argument("--stack", default="tf-2.21")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--largest", type=int, default=LARGEST, help="training pictures of 16x")
    parser.add_argument("--output", type=Path, default=Path())
    told = parser.parse_args()
    sizes = {times: told.largest * times // TIMES[-1] for times in TIMES}
    found: dict[str, dict[int, list[Figures]]] = {"training": {}, "inference": {}}
    with tempfile.TemporaryDirectory() as folder:
        arrays = write_arrays(told.data, sizes, Path(folder))
        for number in range(told.rounds):
            for times, size in sizes.items():
                name = f"{number}-{times}"
                found["training"].setdefault(times, []).append(train(told, size, Path(folder), f"train-{name}"))
                run = Path(folder) / f"train-{name}"
                figures = infer(told, run, arrays[times], Path(folder), f"infer-{name}")
                found["inference"].setdefault(times, []).append(figures)
                print(f"round {number + 1} of {told.rounds}, {times}x done", file=sys.stderr, flush=True)
    rows = [
        summary(what, times, sizes[times], figures) for what, by in found.items() for times, figures in by.items()
    ]
    show(rows, told)
    return 0


def write_arrays(data: Path, sizes: dict[int, int], folder: Path) -> dict[int, Path]:
    """MNIST's training pictures as .npy files of these sizes."""
    import numpy as np

    from zoo.data import idx

    pictures = idx.read(data / "train-images-idx3-ubyte.gz", (28, 28))
    for times, size in sizes.items():
        np.save(folder / f"{times}.npy", pictures[:size, ..., None])
    return {times: folder / f"{times}.npy" for times in sizes}


def train(told: Any, size: int, folder: Path, name: str) -> Figures:
    """One epoch over so many pictures."""
    settings = [f"model={told.model}", "data=mnist", f"data.root={told.data}", f"stack={told.stack}", "backend=cpu",
                "trainer.epochs=1", "data.validation=0", f"data.train_limit={size}",
                "data.test_limit=1000"]  # fmt: skip
    return zoo(["train", *settings], folder, name, "train_s")


def infer(told: Any, run: Path, array: Path, folder: Path, name: str) -> Figures:
    """Every picture of a file."""
    settings = [f"run={run}", f"input={array}", f"stack={told.stack}", "backend=cpu"]
    return zoo(["infer", *settings], folder, name, "infer_s")


def zoo(words: list[str], folder: Path, name: str, phase: str) -> Figures:
    """Run the zoo in a process of its own; seconds of a phase and peaks in bytes."""
    command = [sys.executable, "-c", HOST, str(ROOT), *words, f"output.root={folder}", f"output.name={name}"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise SystemExit(answer.stderr[-2000:])
    record: dict[str, Any] = json.loads((folder / name / "run.json").read_text(encoding="utf-8"))
    host = float(answer.stdout.rpartition("PEAK")[2])
    return {"seconds": record["phases"][phase], "host_bytes": host, "worker_bytes": record["peak_memory_bytes"]}


def summary(what: str, times: int, size: int, figures: list[Figures]) -> dict[str, Any]:
    """Medians of the rounds."""
    medians = {name: statistics.median(each[name] for each in figures) for name in figures[0]}
    return {"what": what, "times": times, "pictures": size, "rounds": len(figures), **medians}


def show(rows: list[dict[str, Any]], told: Any) -> None:
    """Print the rows with their ratios to the smallest, and write both files."""
    from zoo.environments import machine
    from zoo.runs import records

    for row in rows:
        first = next(each for each in rows if each["what"] == row["what"])
        ratios = {name: row[name] / first[name] for name in ("seconds", "host_bytes", "worker_bytes")}
        row |= {f"{name}_ratio": round(ratio, 3) for name, ratio in ratios.items()}
        print(f"{row['what']:<10} {row['pictures']:>7,} pictures: {row['seconds']:8.3f} s "
              f"({ratios['seconds']:5.2f}x)  "
              f"host {row['host_bytes'] / 1e6:5.0f} MB ({ratios['host_bytes']:.2f}x)  "
              f"worker {row['worker_bytes'] / 1e6:5.0f} MB ({ratios['worker_bytes']:.2f}x)")  # fmt: skip
    where = {"model": told.model, "stack": told.stack, "machine": machine.describe(machine.probe())}
    kept = {**where, "date": records.now()[:10], "commit": records.git_commit(), "rows": rows}
    told.output.mkdir(parents=True, exist_ok=True)
    (told.output / "growth.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    plot(rows, f"{told.model} on {told.stack}, one epoch and one inference", told.output / "growth.png")


def plot(rows: list[dict[str, Any]], title: str, path: Path) -> None:
    """Time beside a straight line through the largest, memory from zero on."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for what, colour in (("training", "tab:blue"), ("inference", "tab:orange")):
        own = [row for row in rows if row["what"] == what]
        sizes = [row["pictures"] for row in own]
        left.plot(sizes, [row["seconds"] for row in own], "o-", color=colour, label=what)
        straight = own[-1]["seconds"] / sizes[-1]
        left.plot([0, sizes[-1]], [0, straight * sizes[-1]], ":", color=colour, label="in proportion")
        for name, marker, style in (("host", "s", "-"), ("worker", "^", "--")):
            memory = [row[f"{name}_bytes"] / 1e6 for row in own]
            right.plot(sizes, memory, marker=marker, ls=style, color=colour, label=f"{what}, {name}")
    left.set(xlabel="pictures", ylabel="seconds", ylim=(0, None))
    right.set(xlabel="pictures", ylabel="largest resident size, MB", ylim=(0, None))
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.suptitle(title)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    sys.exit(main())
