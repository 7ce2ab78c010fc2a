"""Peak memory of host and worker while training on folders of few and of many generated pictures.

python scripts/benchmarks/folder_memory.py [--few 2000] [--many 20000] [--size 128] [KEY=VALUE ...]

Each training is a process of its own, which tells its own peak (the largest resident size so far) and that of the
worker it started. The last line is JSON.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
CLASSES = 10
DEFAULTS = ["model=mobilenet", "model.alpha=0.25", "backend=cpu", "trainer.epochs=1", "trainer.batch_size=64"]
# What the process that stands for the command line runs: the zoo, and then a word on its own memory.
HOST = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from zoo import cli
code = cli.main(["train", *sys.argv[2:]])
print("PEAK", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
sys.exit(code)
"""


def main() -> int:
    """Write the pictures, train twice, print the peaks and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--few", type=int, default=2000)
    parser.add_argument("--many", type=int, default=20_000)
    parser.add_argument("--size", type=int, default=128, help="edge that the network sees, in pixels")
    parser.add_argument("--work", type=Path, default=Path("bench-memory"), help="where pictures and runs go")
    parser.add_argument("settings", nargs="*", default=[], help="instead of MobileNet of a quarter of the width")
    told = parser.parse_args()
    peaks = {}
    for count in (told.few, told.many):
        root = told.work / f"pictures-{count}"
        if not root.is_dir():
            write_pictures(root, count)
        peaks[count] = peak(root, told.size, told.work / "runs", told.settings or DEFAULTS)
        print(count, "pictures:", ", ".join(f"{name} {size / 1e6:,.0f} MB" for name, size in peaks[count].items()))
    few, many = peaks[told.few], peaks[told.many]
    print(json.dumps({f"{name}_ratio": many[name] / few[name] for name in few} | {"peaks": peaks}))
    return 0


def write_pictures(root: Path, count: int) -> None:
    """Write pictures of coarse random colours, another one each, a tenth of them in each class."""
    import numpy as np
    from PIL import Image

    random = np.random.default_rng(0)
    aside = root.with_name(f".{root.name}")
    shutil.rmtree(aside, ignore_errors=True)
    for number in range(count):
        folder = aside / f"class {number % CLASSES}"
        folder.mkdir(parents=True, exist_ok=True)
        colours = random.integers(0, 256, (12, 16, 3), dtype=np.uint8)
        colours[..., 0] //= 1 + number % CLASSES
        Image.fromarray(colours).resize((160, 120)).save(folder / f"{number:06}.jpg", quality=85)
    aside.rename(root)


def peak(root: Path, size: int, runs: Path, settings: list[str]) -> dict[str, int]:
    """Train, and tell the peaks in bytes."""
    mobile = any(text.startswith("model=mobilenet") for text in settings)
    told = ["data=folder", f"data.root={root}", f"{'model.input_size' if mobile else 'data.size'}={size}"]
    name = f"run-{len(list(runs.glob('run-*'))) if runs.is_dir() else 0}"
    command = [sys.executable, "-c", HOST, str(ROOT), *told, f"output.root={runs}", f"output.name={name}", *settings]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    record: dict[str, Any] = json.loads((runs / name / "run.json").read_text(encoding="utf-8"))
    host = int(answer.stdout.rpartition("PEAK")[2])
    return {"host": host, "worker": int(record["peak_memory_bytes"])}


if __name__ == "__main__":
    sys.exit(main())
