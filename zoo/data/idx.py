"""Read IDX, the file format of MNIST: a big-endian header, then the bytes of one array.

Header: two zero bytes, a type code, the number of dimensions, then each dimension as 32 bits
(http://yann.lecun.com/exdb/mnist/, "the IDX file format"). The only type used here is 8, unsigned bytes. All numbers
are checked before memory is allocated for them.
"""

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import BinaryIO

from zoo.core.arrays import NDArray, np
from zoo.core.errors import ZooError
from zoo.core.files import storage_error

MOST_BYTES = 2**31
# Deflate expands at most 1,032 times (zlib's technical notes), which exposes headers that claim too much.
MOST_EXPANSION = 1032
CHUNK = 1 << 20
Stream = BinaryIO | gzip.GzipFile
GZIP_MAGIC = b"\x1f\x8b"
TYPES = {8: "uint8", 9: "int8", 11: "int16", 12: "int32", 13: "float32", 14: "float64"}
MISTAKEN = {b"<!": "a web page", b"<h": "a web page", b"PK": "a zip archive", b"\x93N": "a numpy array"}


def read(path: Path, shape: tuple[int, ...]) -> "NDArray[np.uint8]":
    """Return the array of an IDX file, gzipped or plain. ``shape`` is the shape of one item: ``()`` for labels."""
    if path.is_dir():
        raise ZooError(f"{path} is a folder, not an IDX file", "Name the folder that holds the IDX files.")
    if not path.is_file():
        raise ZooError(f"There is no file {path}", "Check data.root.")
    if path.stat().st_size == 0:
        raise _damaged(path, "it is empty")
    try:
        with path.open("rb") as raw:
            packed = raw.read(2) == GZIP_MAGIC
            raw.seek(0)
            limit = path.stat().st_size * (MOST_EXPANSION if packed else 1)
            with gzip.open(raw) if packed else raw as stream:
                count, content = _read(stream, path, shape, limit)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _damaged(path, f"its gzip data breaks off or is corrupt ({error})") from error
    except OSError as error:
        raise storage_error("read", path, error) from error
    return np.frombuffer(content, np.uint8).reshape(count, *shape)


def _damaged(path: Path, reason: str) -> ZooError:
    return ZooError(
        f"{path} is not a usable IDX file: {reason}",
        "Fetch the file again, or leave data.root out to have the published files downloaded.",
    )


def _read(stream: Stream, path: Path, shape: tuple[int, ...], limit: int) -> tuple[int, bytearray]:
    """Read the number of items and their bytes; never allocate more than the file's bytes can fill."""
    dimensions = _header(stream, path, shape)
    wanted = math.prod(dimensions)
    described = " x ".join(f"{size:,}" for size in dimensions)
    if wanted > min(limit, MOST_BYTES):
        reason = f"its header promises {described} = {wanted:,} bytes, more than the file can hold"
        raise _damaged(path, reason + " (is it cut short?)")
    content = bytearray()
    # One more byte than needed detects trailing data, and makes gzip verify its checksum.
    while len(content) <= wanted and (chunk := stream.read(min(CHUNK, wanted + 1 - len(content)))):
        content += chunk
    if len(content) < wanted:
        raise _damaged(path, f"it breaks off: {len(content):,} of {wanted:,} bytes ({described}) follow the header")
    if len(content) > wanted:
        raise _damaged(path, f"more bytes follow than the {wanted:,} ({described}) of its header")
    return dimensions[0], content


def _header(stream: Stream, path: Path, shape: tuple[int, ...]) -> list[int]:
    magic = stream.read(4)
    rank = 1 + len(shape)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in TYPES:
        reason = f"it does not begin with the bytes 00 00 08 {rank:02x}"
        likely = (f" (is it {what}?)" for start, what in MISTAKEN.items() if magic.startswith(start))
        raise _damaged(path, reason + next(likely, ""))
    if magic[2] != 8:
        raise _damaged(path, f"it holds {TYPES[magic[2]]} numbers, not uint8")
    if magic[3] != rank:
        raise _damaged(path, f"it holds {_content(magic[3])} where {_content(rank)} belong")
    packed = stream.read(4 * rank)
    if len(packed) < 4 * rank:
        raise _damaged(path, "it breaks off within its header")
    dimensions = list(struct.unpack(f">{rank}I", packed))
    if tuple(dimensions[1:]) != shape:
        raise _damaged(path, f"its images are {_by(dimensions[1:])} pixels, not {_by(shape)}")
    if dimensions[0] == 0:
        raise _damaged(path, "it holds 0 items")
    return dimensions


def _by(sizes: tuple[int, ...] | list[int]) -> str:
    return " x ".join(str(size) for size in sizes)


def _content(rank: int) -> str:
    return {1: "labels (1 dimension)", 3: "images (3 dimensions)"}.get(rank, f"{rank} dimensions")
