"""Find the order in which the members of an HDF5 group were created.

Keras 3 writes its layers in order, but HDF5 lists them by name. The local heap of a group keeps the names in the
order of creation. See HDF5 File Format Specification 3.0, sections III.D (local heaps), IV.A.1.a (version 1 object
headers) and IV.A.2.r (symbol table message).
"""

import mmap
import struct

Content = bytes | mmap.mmap

_SYMBOL_TABLE = 0x11
_OPEN_END = 0xFFFFFFFFFFFFFFFF


def creation_order(content: Content, address: int) -> list[str] | None:
    """Return the names in a group in the order of creation, or None; ``address`` is its object header."""
    try:
        heap = _heap_address(content, address)
        return None if heap is None else _names(content, heap)
    except (struct.error, UnicodeDecodeError):
        return None


def _heap_address(content: Content, address: int) -> int | None:
    version, count = struct.unpack_from("<BxH", content, address)
    if version != 1:
        return None
    position = address + 16
    for _ in range(count):
        kind, size = struct.unpack_from("<HH", content, position)
        if kind == _SYMBOL_TABLE:
            (heap,) = struct.unpack_from("<8xQ", content, position + 8)
            return int(heap)
        position += 8 + size
    return None


def _names(content: Content, heap: int) -> list[str] | None:
    signature, size, free, data = struct.unpack_from("<4s4xQQQ", content, heap)
    if signature != b"HEAP" or data + size > len(content):
        return None
    # Names are never removed, so the only free block is the unused end of the heap.
    end = size if free in (1, _OPEN_END) else free
    names, position = [], 8
    while position < end:
        stop = content.find(b"\0", data + position, data + size)
        if stop < 0:
            return None
        names.append(content[data + position : stop].decode("utf-8"))
        position = (stop - data + 8) // 8 * 8
    return names
