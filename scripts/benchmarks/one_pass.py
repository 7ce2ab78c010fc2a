"""Seconds a megapixel of style in one pass, by stack and precision.

    python scripts/benchmarks/one_pass.py WEIGHTS [STACK:PRECISION ...]
    python scripts/benchmarks/one_pass.py DATA/style_arbitrary openvino:bfloat16 torch:bfloat16

WEIGHTS is the folder of the published networks; by default both stacks are timed in float32 and in bfloat16. Each way
restyles five pictures of noise, 1024 x 1024, in a process of its own; the first, in which most frameworks compile, is
left out. Three rounds in turns; prints the median and all rounds.
"""

import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from zoo.config.overrides import Overrides
from zoo.core import paths
from zoo.tasks import registry

WAYS = ("openvino:float32", "openvino:bfloat16", "torch:float32", "torch:bfloat16")
PICTURES, EDGE, ROUNDS = 5, 1024, 3


def main(argv: list[str]) -> int:
    """Measure all ways in turns and print."""
    if not argv or argv[0].startswith("-"):
        print(__doc__)
        return 0 if argv in (["-h"], ["--help"]) else 2
    ways = tuple(argv[1:]) or WAYS
    taken: dict[str, list[float]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder:
        draw(Path(folder) / "photos")
        for _ in range(ROUNDS):
            for way in ways:
                taken[way].append(seconds(Path(folder), argv[0], way))
    for way, values in taken.items():
        shown = ", ".join(f"{value:.3f}" for value in values)
        print(f"{way:20} {statistics.median(values):.3f} s a megapixel ({shown})")
    return 0


def draw(folder: Path) -> None:
    """Write pictures of noise."""
    folder.mkdir()
    random = np.random.default_rng(1)
    for number in range(PICTURES):
        pixels = random.integers(0, 256, (EDGE, EDGE, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.bmp")


def seconds(folder: Path, weights: str, way: str) -> float:
    """Return the seconds a megapixel of one way."""
    stack, _, precision = way.partition(":")
    backend = "openvino" if stack == "openvino" else "cpu"
    chosen = [f"backend={backend}", f"stack={stack}", f"precision={precision}", f"weights={weights}"]
    style = paths.ROOT / "assets" / "style_waves.jpg"
    place = [f"input={folder / 'photos'}", f"style={style}", f"output.root={folder}"]
    run = registry.dispatch("infer", Overrides.parse(["model=style_transfer/any", *chosen, *place]))
    return float(run.metrics["s_per_megapixel"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
