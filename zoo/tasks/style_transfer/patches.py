"""Random crops of photos for training, created while the worker trains on earlier ones."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from zoo.core import console
from zoo.core.arrays import Bytes, Image, np
from zoo.core.errors import ZooError
from zoo.data.images import decode
from zoo.execution.array_queue import ArrayQueue

AHEAD = 4
# Edge of the crops as a share of the photo's shorter side.
LEAST_SHARE = 0.5


def feed(queue: ArrayQueue, files: list[Path], size: int, batch: int, steps: int, seed: int) -> None:
    """Write ``steps`` batches of square crops, uint8 (batch, size, size, 3), reproducible by ``seed``.

    Every photo is used once before any is used again.
    """
    draw, waiting, spoilt = np.random.default_rng(seed), list[Path](), set[Path]()

    with ThreadPoolExecutor(4) as pool:
        for _ in range(steps):
            pieces: list[Bytes] = []
            while len(pieces) < batch:
                waiting = waiting or [files[index] for index in draw.permutation(len(files))]
                count = min(batch - len(pieces), len(waiting))
                chosen = [(waiting.pop(), int(draw.integers(2**31))) for _ in range(count)]
                patches = pool.map(lambda pair: _piece(pair[0], pair[1], size), chosen)
                for (file, _), patch in zip(chosen, patches, strict=True):
                    if not isinstance(patch, str):
                        pieces.append(patch)
                    elif file not in spoilt:
                        spoilt.add(file)
                        if len(spoilt) == len(files):
                            why = f"None of the photos can be used. {file}: {patch}"
                            raise ZooError(why, "Give a folder of photos: photos=FOLDER")
                        console.warn(f"Skipped {file}: {patch}")
            queue.put(np.stack(pieces))


def _piece(file: Path, seed: int, size: int) -> "Bytes | str":
    """Return a random square crop of a photo, mirrored at random, or the reason if the photo is unusable."""
    from PIL import ImageOps

    draw = np.random.default_rng(seed)
    try:
        photo = decode.to_rgb(decode.open_upright(file, 2 * size))
    except decode.UnreadableError as reason:
        return str(reason)
    edge = max(1.0, min(photo.size) * draw.uniform(LEAST_SHARE, 1.0))
    left, top = draw.uniform(0, photo.width - edge), draw.uniform(0, photo.height - edge)
    box = (left, top, min(left + edge, photo.width), min(top + edge, photo.height))
    piece = photo.resize((size, size), Image.Resampling.BICUBIC, box=box)
    return np.asarray(ImageOps.mirror(piece) if draw.random() < 0.5 else piece)
