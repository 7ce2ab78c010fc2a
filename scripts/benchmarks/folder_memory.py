"""Peak memory of host and worker while training on folders of few and of many generated images.

python scripts/benchmarks/folder_memory.py [--few 2000] [--many 20000] [--size 128] [KEY=VALUE ...]

Each training is a process of its own, which reports its peak resident memory and that of its worker. The last line of
the output is JSON.
"""

import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common

CLASSES = 10
DEFAULTS = ["model=mobilenet", "model.alpha=0.25", "backend=cpu", "trainer.epochs=1", "trainer.batch_size=64"]


def main() -> int:
    """Write the images, train twice, print the peaks and their ratios."""
    parser = common.parser(__doc__, output=False)
    parser.add_argument("--few", type=int, default=2000)
    parser.add_argument("--many", type=int, default=20_000)
    parser.add_argument("--size", type=int, default=128, help="width and height that the network sees, in pixels")
    parser.add_argument("--work", type=Path, default=Path("bench-memory"), help="folder for images and runs")
    parser.add_argument("settings", nargs="*", default=[], help="instead of MobileNet at alpha 0.25")
    options = parser.parse_args()
    peaks = {}
    for count in (options.few, options.many):
        root = options.work / f"pictures-{count}"
        if not root.is_dir():
            write_images(root, count)
        peaks[count] = peak(root, options.size, options.work / "runs", options.settings or DEFAULTS)
        print(count, "images:", ", ".join(f"{name} {size / 1e6:,.0f} MB" for name, size in peaks[count].items()))
    few, many = peaks[options.few], peaks[options.many]
    print(json.dumps({f"{name}_ratio": many[name] / few[name] for name in few} | {"peaks": peaks}))
    return 0


def write_images(root: Path, count: int) -> None:
    """Write images of coarse random colors, all different, a tenth of them in each class."""
    import numpy as np
    from PIL import Image

    random = np.random.default_rng()  # new images each time, so that no cache hides the memory of preparing them
    temporary = root.with_name(f".{root.name}")
    shutil.rmtree(temporary, ignore_errors=True)
    for number in range(count):
        folder = temporary / f"class {number % CLASSES}"
        folder.mkdir(parents=True, exist_ok=True)
        colors = random.integers(0, 256, (12, 16, 3), dtype=np.uint8)
        colors[..., 0] //= 1 + number % CLASSES
        Image.fromarray(colors).resize((160, 120)).save(folder / f"{number:06}.jpg", quality=85)
    temporary.rename(root)


def peak(root: Path, size: int, runs: Path, settings: list[str]) -> dict[str, int]:
    """Train and return the peaks of host and worker in bytes."""
    mobilenet = any(text.startswith("model=mobilenet") for text in settings)
    data = ["data=folder", f"data.root={root}", f"{'model.input_size' if mobilenet else 'data.size'}={size}"]
    folder = runs / f"run-{len(list(runs.glob('run-*'))) if runs.is_dir() else 0}"
    record, host = common.run_with_peak(["train", *data, *settings], folder)
    return {"host": host, "worker": int(record["peak_memory_bytes"])}


if __name__ == "__main__":
    sys.exit(main())
