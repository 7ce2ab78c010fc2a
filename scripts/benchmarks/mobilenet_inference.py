"""Inference throughput of MobileNet: the zoo on its stacks against keras.applications on stock TensorFlow.

python scripts/benchmarks/mobilenet_inference.py [--rounds 5] [--photos FOLDER] [--stacks openvino,tf-2.21,torch,jax]

All ways take turns, a second each, so that a machine whose speed drifts slows all of them. The network is MobileNet
v1 at alpha 1 and 224 pixels, 0.569 billion multiply-adds an image, with random weights: their values do not affect
the time. The network alone: stock Keras gets preprocessed inputs, the zoo's time includes preprocessing from bytes.
With --photos also from files to predictions: `zoo infer` against ``image_dataset_from_directory`` and ``predict`` of
Keras. The matrix peak is that of OpenVINO's product of two 2048 x 2048 matrices.
"""

import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common

STOCK = "keras.applications on tf-2.21"
MULTIPLY_ADDS = 568_740_352
BATCHES = (1, 32)


class Way:
    """One way to compute, ready in a process of its own."""

    def __init__(self, name: str, stack: str, kind: str, precision: str) -> None:
        self.name, self.stack, self.kind, self.precision = name, stack, kind, precision
        self.rates: dict[str, list[float]] = {}
        self._worker = common.WorkerProcess(stack, "mobilenet.py", kind, framework_of(stack), precision)
        self._worker.ask(batch=1, seconds=0.0)

    def measure(self, key: str, question: dict[str, Any]) -> None:
        """Measure one more rate."""
        files = "photos" in question and self.kind == "zoo"
        rate = self._infer(question) if files else float(self._worker.ask(**question)["rate"])
        self.rates.setdefault(key, []).append(rate)

    def _infer(self, question: dict[str, Any]) -> float:
        """Return the rate of `zoo infer` from the first file to the last prediction, without its start."""
        from zoo import api

        run = api.infer(
            model="mobilenet", weights=question["weights"], input=question["photos"], stack=self.stack, sheets=0,
            backend="openvino" if self.stack == "openvino" else "cpu", precision=self.precision,
            output={"root": question["output"]},
        )  # fmt: skip
        return float(run.metrics["end_to_end_items_per_s"])

    def close(self) -> None:
        """End the process."""
        self._worker.close()


def framework_of(stack: str) -> str:
    """Return the framework of a stack."""
    from zoo.environments import stacks

    return stacks.load(stack).framework


def main() -> int:
    """Measure and print."""
    parser = common.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--stacks", default="openvino,tf-2.21,torch,jax")
    options = parser.parse_args()
    ways = [Way(STOCK, "tf-2.21", "stock", "float32")]
    for stack in options.stacks.split(","):
        precisions = ("float32", "float16", "bfloat16") if stack == "openvino" else ("float32",)
        ways += [Way(f"zoo on {stack}, {precision}", stack, "zoo", precision) for precision in precisions]
    questions = {f"batch {batch}": {"batch": batch, "seconds": options.seconds} for batch in BATCHES}
    scratch = tempfile.TemporaryDirectory()
    if options.photos:
        files = {"photos": str(options.photos.resolve()), "weights": draw(Path(scratch.name)), "output": scratch.name}
        questions["files, batch 32"] = files
    peaks = [way for way in ways if "openvino" in way.name]
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        for key, question in questions.items():
            for way in ways:
                way.measure(key, question)
        for way in peaks:
            way.measure("peak", {"peak": 2048, "seconds": options.seconds})
    show(ways, list(questions), options.rounds)
    common.write_ratios(options.output, [row for key in questions for row in rows(ways, key)])
    for way in ways:
        way.close()
    scratch.cleanup()
    return 0


def draw(folder: Path) -> str:
    """Write a file of random weights of the network's shapes."""
    import numpy as np

    shapes = json.loads((common.ROOT / "assets" / "golden" / "mobilenet_1.0.json").read_text())["weights"]
    random = np.random.default_rng(0)
    np.savez(folder / "w.npz", **{name: random.random(shape, np.float32) * 0.1 for name, shape in shapes.items()})
    return str(folder / "w.npz")


def rows(ways: list[Way], key: str) -> list[tuple[Any, ...]]:
    """Return the rows for ratios.py, one for every way of the zoo."""
    result, stock = [], ways[0]
    for way in ways[1:]:
        times = [own / other for own, other in zip(way.rates[key], stock.rates[key], strict=True)]
        share = share_of_peak(way, key)
        zoo = f"{way.stack}, {way.precision}"
        result.append((f"MobileNet inference, {key}", zoo, stock.name, times, share))
    return result


def share_of_peak(way: Way, key: str) -> float | None:
    """Return the share of the matrix peak of the same rounds; None where it was not measured."""
    if "peak" not in way.rates or not key.startswith("batch"):
        return None
    pairs = zip(way.rates[key], way.rates["peak"], strict=True)
    return statistics.median(2e-9 * MULTIPLY_ADDS * rate / peak for rate, peak in pairs)


def show(ways: list[Way], keys: list[str], rounds: int) -> None:
    """Print medians, the best round, and the median ratio of the rounds."""
    print(f"MobileNet v1, alpha 1, 224 x 224; images a second; {rounds} rounds in turns; {os.cpu_count()} cores")
    stock = ways[0]
    for key in keys:
        print(f"\n{key}")
        for way in ways:
            rates = way.rates[key]
            ratio = statistics.median(own / other for own, other in zip(rates, stock.rates[key], strict=True))
            line = f"{way.name:<32} {statistics.median(rates):8,.1f}   best {max(rates):8,.1f}   {ratio:6.1f} x stock"
            share = share_of_peak(way, key)
            if share is not None:
                line += f"   {share:4.0%} of the matrix peak"
            print(line)
    for way in ways:
        if "peak" in way.rates:
            rates = way.rates["peak"]
            print(f"\n{way.name}: matrix peak {statistics.median(rates):,.0f} GFLOP/s, best {max(rates):,.0f}")


if __name__ == "__main__":
    sys.exit(main())
