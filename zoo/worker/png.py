"""Write images as PNG without an imaging library."""

import struct
import zlib

import numpy as np

from zoo.worker.files import atomic_write


def write(path, picture):
    """Write (height, width, 3) RGB 0..255 as PNG, rounded and clipped; on OSError the old file is unchanged."""
    pixels = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
    rows, columns, _ = pixels.shape
    # Rows are stored as differences from the row above (filter 2), which compress better.
    above = np.concatenate([np.zeros_like(pixels[:1]), pixels[:-1]])
    filtered = np.full((rows, 1 + 3 * columns), 2, np.uint8)
    filtered[:, 1:] = (pixels - above).reshape(rows, -1)
    with atomic_write(path) as out:
        out.write(b"\x89PNG\r\n\x1a\n")
        out.write(_chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)))
        out.write(_chunk(b"IDAT", zlib.compress(filtered.tobytes(), 4)))
        out.write(_chunk(b"IEND", b""))


def _chunk(kind, content):
    checksum = zlib.crc32(kind + content) & 0xFFFFFFFF
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
