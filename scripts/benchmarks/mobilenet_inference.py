"""Pictures a second through MobileNet: the zoo on its stacks against keras.applications on stock TensorFlow.

python scripts/benchmarks/mobilenet_inference.py [--rounds 5] [--photos FOLDER] [--stacks openvino,tf-2.21,torch,jax]

All ways take turns, a second each, so that a machine whose speed drifts slows all of them. The network is MobileNet
v1 at alpha 1 and 224 pixels, 0.569 billion multiplications and additions a picture, with random weights: their values
do not matter for the time. The network alone: stock Keras gets its input ready-made, the zoo makes its own from bytes
within the time. With --photos also from files to answers: `zoo infer` against what Keras offers for a folder,
``image_dataset_from_directory`` and ``predict``. The matrix peak is that of OpenVINO's product of two 2048 x 2048
matrices.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
WORKER = Path(__file__).with_name("workers") / "mobilenet.py"
STOCK = "keras.applications on tf-2.21"
MULTIPLY_ADDS = 568_740_352
BATCHES = (1, 32)


class Way:
    """One way to compute, held ready in a process of its own."""

    def __init__(self, name: str, stack: str, kind: str, precision: str) -> None:
        from zoo.environments import machine, stacks, store

        row = stacks.load(stack)
        ready = store.ensure(row, machine.probe().platform)
        request = {"zoo": str(ROOT / "zoo"), "framework": row.framework, "kind": kind, "precision": precision}
        environment = {**store.child_environment(row), "ZOO_KERAS": row.keras}
        self.name, self.stack, self.kind, self.precision = name, stack, kind, precision
        self.rates: dict[str, list[float]] = {}
        self._process = subprocess.Popen(
            [str(ready.python), "-I", "-B", str(WORKER), json.dumps(request)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self._ask({"batch": 1, "seconds": 0.0})

    def _ask(self, question: dict[str, Any]) -> float:
        assert self._process.stdin  # noqa: S101
        assert self._process.stdout  # noqa: S101
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        while True:
            line = self._process.stdout.readline()
            if not line:
                raise SystemExit(f"{self.name} died")
            if line.startswith("rate "):
                return float(line.split()[1])

    def measure(self, key: str, question: dict[str, Any]) -> None:
        """Ask for one more rate."""
        files = "photos" in question and self.kind == "zoo"
        self.rates.setdefault(key, []).append(self._infer(question) if files else self._ask(question))

    def _infer(self, question: dict[str, Any]) -> float:
        """The whole of `zoo infer`, from the first file to the last answer, without its start."""
        from zoo import api

        run = api.infer(
            model="mobilenet", weights=question["weights"], input=question["photos"], stack=self.stack, sheets=0,
            backend="openvino" if self.stack == "openvino" else "cpu", precision=self.precision,
            output={"root": question["output"]},
        )  # fmt: skip
        return float(run.metrics["end_to_end_items_per_s"])

    def close(self) -> None:
        """Let the process end."""
        assert self._process.stdin  # noqa: S101
        self._process.stdin.close()
        self._process.wait()


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--output", type=Path, help="a JSON file for ratios.py")
    parser.add_argument("--stacks", default="openvino,tf-2.21,torch,jax")
    told = parser.parse_args()
    ways = [Way(STOCK, "tf-2.21", "stock", "float32")]
    for stack in told.stacks.split(","):
        precisions = ("float32", "float16", "bfloat16") if stack == "openvino" else ("float32",)
        ways += [Way(f"zoo on {stack}, {precision}", stack, "zoo", precision) for precision in precisions]
    questions = {f"batch {batch}": {"batch": batch, "seconds": told.seconds} for batch in BATCHES}
    aside = tempfile.TemporaryDirectory()
    if told.photos:
        files = {"photos": str(told.photos.resolve()), "weights": draw(Path(aside.name)), "output": aside.name}
        questions["files, batch 32"] = files
    peaks = [way for way in ways if "openvino" in way.name]
    for number in range(told.rounds):
        print(f"round {number + 1} of {told.rounds}", file=sys.stderr, flush=True)
        for key, question in questions.items():
            for way in ways:
                way.measure(key, question)
        for way in peaks:
            way.measure("peak", {"peak": 2048, "seconds": told.seconds})
    show(ways, list(questions), told.rounds)
    if told.output:
        import ratios

        ratios.write(told.output, [row for key in questions for row in rows(ways, key)])
    for way in ways:
        way.close()
    aside.cleanup()
    return 0


def draw(folder: Path) -> str:
    """A file of random weights of the network's shapes."""
    import numpy as np

    shapes = json.loads((ROOT / "assets" / "golden" / "mobilenet_1.0.json").read_text())["weights"]
    random = np.random.default_rng(0)
    np.savez(folder / "w.npz", **{name: random.random(shape, np.float32) * 0.1 for name, shape in shapes.items()})
    return str(folder / "w.npz")


def rows(ways: list[Way], key: str) -> list[dict[str, Any]]:
    """How every way of the zoo stands to stock Keras, for the common table."""
    import ratios

    found, stock = [], ways[0]
    for way in ways[1:]:
        times = [own / other for own, other in zip(way.rates[key], stock.rates[key], strict=True)]
        share = share_of_peak(way, key)
        zoo = f"{way.stack}, {way.precision}"
        found.append(ratios.row(f"MobileNet inference, {key}", zoo, stock.name, times, share))
    return found


def share_of_peak(way: Way, key: str) -> float | None:
    """Of the matrix peak that was measured in the same rounds; None where it was not."""
    if "peak" not in way.rates or not key.startswith("batch"):
        return None
    pairs = zip(way.rates[key], way.rates["peak"], strict=True)
    return statistics.median(2e-9 * MULTIPLY_ADDS * rate / peak for rate, peak in pairs)


def show(ways: list[Way], keys: list[str], rounds: int) -> None:
    """Print medians, the best round, and the median of the ratios within each round."""
    print(f"MobileNet v1, alpha 1, 224 x 224; pictures a second; {rounds} rounds in turns; {os.cpu_count()} cores")
    stock = ways[0]
    for key in keys:
        print(f"\n{key}")
        for way in ways:
            rates = way.rates[key]
            ratio = statistics.median(own / other for own, other in zip(rates, stock.rates[key], strict=True))
            told = f"{way.name:<32} {statistics.median(rates):8,.1f}   best {max(rates):8,.1f}   {ratio:6.1f} x stock"
            share = share_of_peak(way, key)
            if share is not None:
                told += f"   {share:4.0%} of the matrix peak"
            print(told)
    for way in ways:
        if "peak" in way.rates:
            rates = way.rates["peak"]
            print(f"\n{way.name}: matrix peak {statistics.median(rates):,.0f} GFLOP/s, best {max(rates):,.0f}")


if __name__ == "__main__":
    sys.exit(main())
