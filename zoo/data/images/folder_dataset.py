"""Prepare ``data=folder``: users' images, one folder per class, decoded once into a cache of one size.

The cache is one array on disk that is read a few rows at a time. Memory use does not grow with the number of images.
Its key is the content of all files: changing an image creates a new cache, touching it does not.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from zoo.core import console, paths
from zoo.core.arrays import NDArray, np
from zoo.core.errors import ZooError, counted, listed
from zoo.core.files import atomic_write, file_sha256
from zoo.data.images import cache, decode, unknown_kinds
from zoo.data.images.folder_scan import FolderListing

SHOWN = 10
READERS = 8
# Largest value of 12 bits in a file of 16 bits that is read as 8 bits, and the number of images that are inspected.
_DARK, _SAMPLE = 16, 50


@dataclasses.dataclass(frozen=True)
class FolderDataset:
    """A folder of classes, ready for the worker.

    Attributes:
        pictures: .npy file, uint8 (n, size, size, 3), a row per name of the listing.
        usable: whether the row contains an image; the rest could not be decoded.
        skipped: (name, reason) of undecodable files, and of what could not be listed.
        sums: checksum of the content of every file.
        sha256: checksum over names, classes and contents.
    """

    listing: FolderListing
    pictures: Path
    usable: "NDArray[np.bool_]"
    skipped: list[tuple[str, str]]
    sums: list[str]
    sha256: str


def prepare(listing: FolderListing, size: int, resize: str = "stretch", strict: bool = False) -> FolderDataset:
    """Decode every listed image with :func:`zoo.data.images.cache.ensure`.

    With ``strict``, unreadable content raises an error instead of being skipped.
    """
    for note in listing.notes:
        console.say(note)
    sums = _checksums(listing)
    cached = cache.ensure(listing.root, listing.names, sums, size, resize)
    skipped = listing.unreadable + [(listing.names[row], reason) for row, reason in sorted(cached.reasons.items())]
    _report(listing, skipped, strict)
    _check_classes(listing, cached.usable, skipped)
    for remark in _losses(listing, cached):
        console.warn(remark)
    # Only a table gives parts that names do not contain.
    given = (listing.parts * bool(listing.table), listing.groups)
    columns = [listing.names, map(str, listing.answers), sums, *filter(None, given)]
    rows = "".join("\t".join(row) + "\n" for row in zip(*columns, strict=True))
    whole = hashlib.sha256(rows.encode("utf-8", "replace"))
    return FolderDataset(listing, cached.pictures, cached.usable, skipped, sums, whole.hexdigest())


def split(
    folder: FolderDataset, validation: float, test: float, seed: int, train_limit: int | None, test_limit: int | None
) -> "dict[str, NDArray[np.int64]]":
    """Return the rows for training, validation and test, which depend only on the folder and the arguments.

    Existing parts are kept. Without a test part, each class gives its share to the test; without a
    validation part, each class gives a share of its training images. A class with three or more images gives at least
    one. The images of a group stay together; a group counts for the rarest of its classes.

    Args:
        validation: share of the non-test images, if the folder has no ``val/``.
        test: share of all images, if the folder has only one level.
    """
    labels, parts = np.array(folder.listing.labels), np.array(folder.listing.parts)
    first, usable = _groups(folder), folder.usable
    rows: dict[str, list[NDArray[np.int64]]] = {"train": [], "validation": [], "test": []}
    for label in range(len(folder.listing.class_names)):
        own = np.flatnonzero((labels == label) & usable & (first == np.arange(len(labels))))
        random = np.random.Generator(np.random.PCG64([seed, label]))
        if len(parts):
            given = {part: random.permutation(own[parts[own] == part]) for part in rows}
        else:
            given = dict(zip(("train", "test"), _share(random.permutation(own), test), strict=True))
        if "validation" not in folder.listing.parts:
            given["train"], given["validation"] = _share(given["train"], validation)
        for part, chosen in given.items():
            rows[part].append(np.flatnonzero(np.isin(first, chosen) & usable) if folder.listing.groups else chosen)
    trained = labels[np.concatenate(rows["train"])].tolist() if folder.listing.groups else labels.tolist()
    if (lacking := set(labels.tolist()) - set(trained)) and not folder.listing.targets:
        raise ZooError(
            f"No training images are left for {listed(repr(folder.listing.class_names[each]) for each in lacking)}: "
            "data.group moves whole groups of images",
            "Lower data.test and data.validation, choose another seed, or add a split column to the table.",
        )
    for part in ("validation", "test") if folder.listing.groups == [] and not folder.listing.targets else ():
        covered = set(labels[np.concatenate(rows[part])].tolist())
        if covered and (small := set(labels.tolist()) - covered):
            names = listed((repr(folder.listing.class_names[each]) for each in sorted(small)), most=5)
            console.warn(f"No {part} image of {counted(len(small), 'class', 'classes')} with few images: {names}")
    random = np.random.Generator(np.random.PCG64(seed))
    limits = {"train": train_limit, "validation": None, "test": test_limit}
    return {
        part: np.sort(random.permutation(np.concatenate(chosen))[: limits[part]]).astype(np.int64)
        for part, chosen in rows.items()
    }


def _groups(folder: FolderDataset) -> "NDArray[np.int64]":
    """Return, for each row, the row that represents its group: a usable row of the rarest class, or itself."""
    labels, groups = folder.listing.labels, folder.listing.groups
    first, counts = np.arange(len(labels)), np.bincount(labels)
    chosen: dict[str, int] = {}
    for row in sorted(np.flatnonzero(folder.usable).tolist(), key=lambda row: (counts[labels[row]], row)):
        if groups and groups[row]:
            first[row] = chosen.setdefault(groups[row], row)
    return first


def _share(rows: "NDArray[np.int64]", share: float) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Cut rows in two. The second part gets the share, and at least one row if there are three or more."""
    count = max(round(len(rows) * share), int(len(rows) >= 3)) if share else 0
    return rows[count:], rows[:count]


def channel_statistics(pictures: Path, rows: "NDArray[np.int64]") -> tuple[list[float], list[float]]:
    """Compute mean and standard deviation of each channel, from at most 10,000 of the rows."""
    chosen = rows[:: -(-len(rows) // 10_000)]
    parts = []
    for begin in range(0, len(chosen), 100):
        some = cache.rows(pictures, chosen[begin : begin + 100]).astype(np.float64)
        parts.append([some.mean((1, 2)).sum(0), np.square(some).mean((1, 2)).sum(0)])
    mean, square = np.sum(parts, axis=0) / len(chosen)
    return [float(value) for value in mean], [float(value) for value in np.sqrt(square - mean**2)]


def _checksums(listing: FolderListing) -> list[str]:
    """Compute the checksum of every file ("" if unreadable); unchanged files use a cache."""
    key = hashlib.sha256(os.fsencode(listing.root.resolve())).hexdigest()[:16]
    index = paths.cache_dir() / "data" / f"folder-{key}.json"
    known: dict[str, list[int | str]] = {}
    with contextlib.suppress(OSError, ValueError):  # missing or incomplete: read all files again
        known = json.loads(index.read_text(encoding="utf-8"))
    stamps = [_stamp(listing.root / name) for name in listing.names]

    def checksum(name: str, stamp: list[int] | None) -> str:
        if stamp is None:
            return ""
        if known.get(name, [])[:2] == stamp:
            return str(known[name][2])
        try:
            return file_sha256(listing.root / name)
        except ZooError:  # the decoder will report it
            return ""

    with ThreadPoolExecutor(READERS) as pool, console.bar(f"Checking {len(stamps):,} images", len(stamps)) as bar:
        sums = []
        for sha256 in pool.map(checksum, listing.names, stamps):
            sums.append(sha256)
            bar.advance(1)
    rows = zip(listing.names, stamps, sums, strict=True)
    atomic_write(index, json.dumps({name: [*stamp, sha] for name, stamp, sha in rows if stamp and sha}), parents=True)
    return sums


def _stamp(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns] if stat.S_ISREG(status.st_mode) else None


def _report(listing: FolderListing, skipped: list[tuple[str, str]], strict: bool) -> None:
    lines = listed((f"  {name}: {reason}" for name, reason in skipped), "\n")
    count = len(listing.names) + len(listing.unreadable)
    if skipped and strict:
        raise ZooError(
            f"{len(skipped):,} of the {count:,} images in {listing.root} cannot be used:\n{lines}",
            "Repair or remove them, or skip them with data.strict=false.",
        )
    if skipped:
        console.warn(f"Skipped {len(skipped):,} of {count:,} images:\n{lines}")
    if listing.empty_classes:
        contents = [unknown_kinds.instead(listing.root / name) or ("", "") for name in listing.empty_classes]
        shown = listed(repr(name) + what for name, (what, _) in zip(listing.empty_classes, contents, strict=True))
        remedy = next((f". {remedy}" for what, remedy in contents if what), "")
        console.warn(f"Skipped (no images): {shown}{remedy}")


def _losses(listing: FolderListing, cached: cache.Cached) -> Iterator[str]:
    """Yield warnings about what decoding loses, judged by a sample: brightness, and frames after the first."""
    usable = np.flatnonzero(cached.usable)
    some = usable[:: -(-len(usable) // _SAMPLE)]
    if (top := int(cache.rows(cached.pictures, some).max())) <= _DARK:
        yield (
            f"The images are nearly black: the largest value is {top} of 255. Values of 10 or 12 bits in files of 16 "
            "bits are read as 16 bits; save them as 8 bits"
        )
    names = [listing.names[row] for row in some[:5]]
    if several := next((name for name in names if decode.has_frames(listing.root / name)), None):
        yield f"Of files with several pages or frames, such as {several}, only the first is used"


def _check_classes(listing: FolderListing, usable: "NDArray[np.bool_]", skipped: list[tuple[str, str]]) -> None:
    parts = listing.parts or ["train"] * len(listing.names)
    rows = zip(listing.labels, parts, usable, strict=True)
    trained = {label for label, part, good in rows if good and part == "train"}
    lacking = [name for label, name in enumerate(listing.class_names) if label not in trained]
    if lacking and not listing.targets:
        reasons = "".join(f"\n  {name}: {reason}" for name, reason in skipped[:SHOWN])
        raise ZooError(
            f"No usable training images in {listed(map(repr, lacking))}:{reasons}",
            "Add readable images, or remove these classes.",
        )
