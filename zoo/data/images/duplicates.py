"""Find images that occur twice: in the test and the training part, or in two classes.

Identical files are found by checksum. For decoded images, a 64-bit difference hash proposes pairs (signs of the
horizontal differences of 8 x 9 mean gray levels). Their pixels are then compared.
"""

import dataclasses
import math
from pathlib import Path
from typing import Any

from zoo.core.arrays import NDArray, np
from zoo.core.files import atomic_file
from zoo.data.images import cache
from zoo.data.images.folder_dataset import FolderDataset

HASHES = ".hashes.npy"  # hidden, because the folder is sealed by then
ROWS, COLUMNS = 8, 9
# Bytes of images that are hashed at once.
CHUNK = 8_000_000
# A pair matches if its root-mean-square difference is below this share of the standard deviation of its pixels.
NEARNESS = 0.15
# The same by the median difference of unrelated pairs, which may resemble each other, such as images of retinas.
UNRELATED, PAIRS = 0.3, 64
# Most hash bits that may differ in a pair.
MOST_BITS = 8
# Smallest difference of neighboring cells in gray levels; less is encoding noise.
STEP = 2.0
# Images that share a quarter of the hash with more images than this, such as plain backgrounds, are skipped.
MOST_ALIKE = 50


@dataclasses.dataclass(frozen=True)
class Duplicates:
    """Images that occur more than once.

    Attributes:
        known: for each test row, whether the image is also used for training or validation.
        examples: (name of a test image, name of its duplicate).
        part: the part that has the images as well: ``training``, ``validation`` or both words; empty without any.
        identical: number of ``known`` images with identical files.
        contradictions: pairs of names of identical files in two classes.
        similar: pairs of names of nearly identical images in two classes.
    """

    known: "NDArray[np.bool_]"
    examples: list[tuple[str, str]]
    part: str
    identical: int
    contradictions: list[tuple[str, str]]
    similar: list[tuple[str, str]]


def find(folder: FolderDataset, parts: "dict[str, NDArray[np.int64]]") -> Duplicates:
    """Find ``test`` images that are also in ``train`` or ``validation``, and images that are in two classes."""
    names, sums = folder.listing.names, folder.sums
    learned = np.concatenate([parts["train"], parts["validation"]])
    owner = {sums[row]: int(row) for row in learned[::-1]}  # the training part goes first
    doubles = {int(row): owner[sums[row]] for row in parts["test"] if sums[row] in owner}
    identical = len(doubles)
    rest = np.array([row for row in parts["test"] if int(row) not in doubles], np.int64)
    doubles |= _near(folder.pictures, rest, learned)
    used = {name for name in ("train", "validation") if not set(doubles.values()).isdisjoint(parts[name].tolist())}
    return Duplicates(
        np.array([int(row) in doubles for row in parts["test"]], bool),
        [(names[row], names[double]) for row, double in doubles.items()],
        " or ".join(sorted(used)).replace("train", "training"), identical, _contradictions(folder), _similar(folder),
    )  # fmt: skip


def _contradictions(folder: FolderDataset) -> list[tuple[str, str]]:
    first: dict[str, int] = {}
    pairs, labels = [], folder.listing.answers
    for row, content in enumerate(folder.sums):
        if folder.usable[row] and labels[first.setdefault(content, row)] != labels[row]:
            pairs.append((folder.listing.names[first[content]], folder.listing.names[row]))
    return pairs


def _similar(folder: FolderDataset) -> list[tuple[str, str]]:
    if folder.listing.targets:  # nearly identical images may have different numbers or labels
        return []
    rows, names, sums = np.flatnonzero(folder.usable), folder.listing.names, folder.sums
    pairs = _near(folder.pictures, rows, rows, np.array(folder.listing.labels)).items()
    return [
        (names[row], names[other])
        for row, other in sorted({(min(pair), max(pair)) for pair in pairs})
        if sums[row] != sums[other]
    ]


def _near(
    pictures: Path, rows: "NDArray[np.int64]", others: "NDArray[np.int64]", labels: "NDArray[Any] | None" = None
) -> dict[int, int]:
    """Map rows to a similar row among the other rows; with ``labels``, to one with another label."""
    mapped: NDArray[np.uint8] = np.load(pictures, mmap_mode="r", allow_pickle=False)
    if not len(rows) or min(mapped.shape[1:3]) < COLUMNS:
        return {}
    hashes, limit = _hashes(pictures), UNRELATED * _unrelated(mapped)
    pairs: dict[int, int] = {}
    for quarter in range(4):
        own, theirs = hashes[rows, quarter], hashes[others, quarter]
        order = np.argsort(theirs, kind="stable")
        begin, end = (np.searchsorted(theirs[order], own, side) for side in ("left", "right"))
        itself = labels is not None
        few = (end - begin > itself) & (end - begin <= MOST_ALIKE)
        for row, low, high in zip(rows[few].tolist(), begin[few].tolist(), end[few].tolist(), strict=True):
            if row in pairs:
                continue
            alike = others[order[low:high]]
            if labels is not None:
                alike = alike[labels[alike] != labels[row]]
            differing = np.unpackbits((hashes[alike] ^ hashes[row]).view(np.uint8), axis=1).sum(axis=1)
            alike = alike[differing <= MOST_BITS]
            double = next((int(other) for other in alike if _same(mapped[row], mapped[other], limit)), None)
            if double is not None:
                pairs[row] = double
    return pairs


def _same(one: "NDArray[np.uint8]", other: "NDArray[np.uint8]", limit: float) -> bool:
    """Return True if two images differ by less than re-encoding changes, and by less than a ``limit``."""
    spread = float(np.sqrt(one.astype(np.float32).var(axis=(0, 1)).mean()))
    return spread > 1.0 and _difference(one, other) < min(NEARNESS * spread, limit)


def _difference(one: "NDArray[np.uint8]", other: "NDArray[np.uint8]") -> float:
    return float(np.sqrt(np.mean(np.square(one.astype(np.float32) - other.astype(np.float32)))))


def _unrelated(mapped: "NDArray[np.uint8]") -> float:
    """Return the median difference of random pairs of images."""
    drawn = np.random.Generator(np.random.PCG64(0)).integers(0, len(mapped), (PAIRS, 2))
    return float(np.median([_difference(mapped[one], mapped[other]) for one, other in drawn if one != other] or [0.0]))


def _hashes(pictures: Path) -> "NDArray[np.uint16]":
    """Return the hashes of all images, four times 16 bits each; computed once and cached next to the images."""
    path = pictures.with_name(HASHES)
    if path.is_file():
        kept: NDArray[np.uint16] = np.load(path, allow_pickle=False)
        return kept
    shape = np.load(pictures, mmap_mode="r", allow_pickle=False).shape
    hashes, chunk = np.zeros((shape[0], 4), np.uint16), max(1, CHUNK // math.prod(shape[1:]))
    for begin in range(0, shape[0], chunk):
        some = cache.rows(pictures, np.arange(begin, min(begin + chunk, shape[0])))
        height, width = some.shape[1] // ROWS, some.shape[2] // COLUMNS
        cells = some[:, : ROWS * height, : COLUMNS * width].reshape(len(some), ROWS, height, COLUMNS, width, -1)
        means = cells.mean(axis=(2, 4, 5), dtype=np.float32)
        bits = (means[:, :, 1:] - means[:, :, :-1] > STEP).reshape(len(some), 64)
        hashes[begin : begin + len(some)] = np.packbits(bits, axis=1).view(">u2")
    with atomic_file(path) as part, part.open("wb") as stream:
        np.save(stream, hashes)
    return hashes
