"""How much a restyled video flickers: each frame is restyled by itself, so what is still in the scene may change.

    python scripts/benchmarks/flicker.py [FRAMES] [SETTING ...]
    python scripts/benchmarks/flicker.py 12 model=style_transfer/fast weights=zoo

A camera pans over scikit-learn's photo china.jpg, 3 pixels a frame, a cut of 384 x 256. Prints the mean change
between frames in gray levels, of photo and result: of the pictures as they are, and along the pan, where the photo
does not change at all and whatever the result changes is flicker.
"""

import itertools
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from zoo.config.overrides import Overrides
from zoo.data.sources import bundled_photos
from zoo.tasks import registry

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Frames = list[NDArray[np.float64]]

# Not a multiple of the four pixels that the network halves away: moved by those it would see the same.
SIZE, STEP = (384, 256), 3
NETWORK = ["model=style_transfer/fast", "weights=zoo"]


def main(argv: list[str]) -> int:
    """Measure and print."""
    if argv and argv[0].startswith("-"):
        print(__doc__)
        return 0 if argv in (["-h"], ["--help"]) else 2
    count = int(argv[0]) if argv else 12
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pan(folder / "frames", count)
        given = [f"input={folder / 'frames'}", f"save={folder / 'restyled'}", f"output.root={folder}"]
        registry.dispatch("infer", Overrides.parse([*(argv[1:] or NETWORK), *given]))
        photo, result = (frames(folder / part) for part in ("frames", "restyled"))
    print(f"between frames:  photo {change(photo):6.2f}, result {change(result):6.2f} gray levels")
    print(f"along the pan:   photo {change(photo, STEP):6.2f}, result {change(result, STEP):6.2f} gray levels")
    return 0


def pan(folder: Path, count: int) -> None:
    """Write the frames of the pan."""
    folder.mkdir()
    with Image.open(bundled_photos()[0]) as photo:
        for number in range(count):
            left = 20 + number * STEP
            photo.crop((left, 60, left + SIZE[0], 60 + SIZE[1])).save(folder / f"{number:03}.png")


def frames(folder: Path) -> "Frames":
    """Read frames in their order."""
    return [np.asarray(Image.open(path).convert("RGB"), np.float64) for path in sorted(folder.glob("*.png"))]


def change(pictures: "Frames", step: int = 0) -> float:
    """Return the mean absolute change from each frame to the next, which is moved back by ``step`` pixels.

    A margin of 16 pixels is left out: what is beyond the edge has an influence there.
    """
    pairs = [(one[16:-16, 16 + step : -16], two[16:-16, 16 : two.shape[1] - 16 - step])
             for one, two in itertools.pairwise(pictures)]  # fmt: skip
    return float(np.mean([np.abs(one - two).mean() for one, two in pairs]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
