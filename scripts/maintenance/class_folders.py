"""Write Fashion-MNIST as image files in one folder a class, for networks that take photos.

    python3 scripts/run.py python scripts/maintenance/class_folders.py DATA/fashion FOLDER
    python scripts/maintenance/class_folders.py DATA/fashion FOLDER --train 3000 --test 2000 --bmp

FOLDER then has train/ and test/. Pictures stay gray and 28 x 28; training and inference scale them. The second
command writes the data set of the promises in recipes/mobilenet/recipe.yaml.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from PIL import Image

from zoo.data import datasets, idx

PARTS = {"train": "train", "test": "t10k"}


def main(arguments: list[str]) -> int:
    """Write both parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, metavar="DATA/fashion", help="folder of the four IDX files")
    parser.add_argument("target", type=Path, metavar="FOLDER", help="folder for train/ and test/")
    parser.add_argument("--train", type=int, help="most pictures of train/; default: all")
    parser.add_argument("--test", type=int, help="most pictures of test/; default: all")
    parser.add_argument("--bmp", action="store_true", help="BMP: the same bytes from every version of the libraries")
    given = parser.parse_args(arguments)
    for part, limit in (("train", given.train), ("test", given.test)):
        count = write(given.source, given.target, part, limit, "bmp" if given.bmp else "png")
        print(f"{given.target / part}: {count:,} pictures")
    return 0


def write(source: Path, target: Path, part: str, limit: int | None = None, form: str = "png") -> int:
    """Write a part, or the first pictures of it; return how many.

    Args:
        source: folder of the four IDX files.
        target: folder that gets the folder of the part.
        part: train or test.
        limit: most pictures.
        form: png, or bmp: uncompressed, so its bytes depend on no version of a library.
    """
    images = idx.read(source / f"{PARTS[part]}-images-idx3-ubyte.gz", (28, 28))[:limit]
    labels = idx.read(source / f"{PARTS[part]}-labels-idx1-ubyte.gz", ())[:limit]
    folders = [target / part / name.replace("/", " or ") for name in datasets.load_row("fashion").class_names]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    for number, (pixels, label) in enumerate(zip(images, labels, strict=True)):
        # BMP has no compression and ignores the level.
        Image.fromarray(pixels).save(folders[label] / f"{number:05}.{form}", compress_level=1)
    return len(images)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
