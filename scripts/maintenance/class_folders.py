"""Write Fashion-MNIST as PNG files in one folder a class, for networks that take photos.

    python3 scripts/run.py python scripts/maintenance/class_folders.py DATA/fashion FOLDER

FOLDER then has train/ and test/. Pictures stay gray and 28 x 28; training and inference scale them.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from PIL import Image

from zoo.data import datasets, idx

PARTS = {"train": "train", "test": "t10k"}


def main(arguments: list[str]) -> int:
    """Write both parts."""
    if len(arguments) != 2 or arguments[0].startswith("-"):
        print(__doc__)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    source, target = map(Path, arguments)
    for part in PARTS:
        print(f"{target / part}: {write(source, target, part):,} pictures")
    return 0


def write(source: Path, target: Path, part: str, limit: int | None = None) -> int:
    """Write a part, or the first pictures of it; return how many.

    Args:
        source: folder of the four IDX files.
        target: folder that gets the folder of the part.
        part: train or test.
        limit: most pictures.
    """
    images = idx.read(source / f"{PARTS[part]}-images-idx3-ubyte.gz", (28, 28))[:limit]
    labels = idx.read(source / f"{PARTS[part]}-labels-idx1-ubyte.gz", ())[:limit]
    folders = [target / part / name.replace("/", " or ") for name in datasets.load_row("fashion").class_names]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    for number, (pixels, label) in enumerate(zip(images, labels, strict=True)):
        Image.fromarray(pixels).save(folders[label] / f"{number:05}.png", compress_level=1)
    return len(images)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
