"""Growth of time and memory with a text: training of a language model on texts of several lengths.

python scripts/benchmarks/long_text.py TEXT [--megabytes 60 250 1000] [--steps 40] [--stack torch]
    [--tokenizer characters] [--output FOLDER]

The texts hold lines of TEXT, drawn at random. Each is trained on twice, by `python -m zoo train` in a process of its
own: the first prepares its tokens, the second finds them. Printed are the seconds of both commands and the peak
resident memory of host and worker. The texts and the runs lie in a temporary folder, or in --output; the tokens lie
in the cache.
"""

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common


def main() -> int:
    """Measure and print."""
    parser = common.parser(__doc__, output=False)
    parser.add_argument("text", type=Path)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[60, 250, 1000])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--stack", default="torch")
    parser.add_argument("--tokenizer", default="characters")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.output or Path(scratch)
        for size in options.megabytes:
            path = folder / f"{size}.txt"
            if not path.exists():
                write(path, options.text, size * 1_000_000)
            for what in ("prepares", "trains"):
                measured = train(path, options, folder / f"{options.tokenizer}-{size}-{what}")
                about = "preparing its tokens" if what == "prepares" else "tokens prepared"
                phases = measured["phases"]
                print(f"{size:>6,} MB, {about:<20} {measured['wall']:6.1f} s, of which training "
                      f"{phases['train_s']:.1f} s with validation; host {measured['host'] / 1e6:.0f} MB, "
                      f"worker {measured['peak_memory_bytes'] / 1e6:.0f} MB", flush=True)  # fmt: skip
    return 0


def write(path: Path, source: Path, size: int, seed: int = 1) -> None:
    """Write lines of a text, drawn at random, until the file has the size in bytes."""
    import numpy as np

    lines, draw = source.read_bytes().splitlines(keepends=True), np.random.default_rng(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        while out.tell() < size:
            out.write(b"".join(lines[number] for number in draw.integers(0, len(lines), 100_000)))


def train(text: Path, options: Any, folder: Path) -> dict[str, Any]:
    """Take some steps on a text; return the run's record with ``wall`` and ``host``, peak memory in bytes."""
    settings = ["model=transformer/lm", "backend=cpu", f"stack={options.stack}", "data=text_file",
                f"data.root={text}", f"data.tokenizer={options.tokenizer}", "trainer.epochs=1",
                f"trainer.steps={options.steps}"]  # fmt: skip
    began = time.monotonic()
    record, host = common.run_with_peak(["train", *settings], folder)
    return {**record, "wall": time.monotonic() - began, "host": host}


if __name__ == "__main__":
    sys.exit(main())
