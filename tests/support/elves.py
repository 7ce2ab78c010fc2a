"""Small ELF files for tests, made from what Linux's dynamic linker and CUDA's driver read of them."""

import struct
from collections.abc import Mapping, Sequence

HEADER, PROGRAM = 64, 56
# kind of code in a fat binary -> its number
KINDS = {"ptx": 1, "cubin": 2, "lto": 8}


def elf(
    *,
    machine: int = 62,
    name: str = "",
    needed: Sequence[str] = (),
    search: str = "",
    versions: Mapping[str, Sequence[str]] | None = None,
    weak: Sequence[str] = (),
    defined: Sequence[str] = (),
    code: Sequence[tuple[str, int]] = (),
) -> bytes:
    """Return a shared library; ``versions`` as ``{"libc.so.6": ["GLIBC_2.17"]}``; ``weak`` may be missing."""
    texts = _Texts()
    tags = [(1, texts.add(each)) for each in needed]
    tags += [(14, texts.add(name))] if name else []
    tags += [(29, texts.add(search))] if search else []
    needs = b"".join(_need(texts, file, each, weak) for file, each in (versions or {}).items())
    names = b"".join(struct.pack("<HHHHIIIII", 1, 0, 1, 1, 0, 20, 28, texts.add(each), 0) for each in defined)
    base = HEADER + 2 * PROGRAM
    places = {"needs": base, "names": base + len(needs)}
    strings = base + len(needs) + len(names)
    tags += [(0x6FFFFFFE, places["needs"]), (0x6FFFFFFF, len(versions))] if versions else []
    tags += [(0x6FFFFFFC, places["names"]), (0x6FFFFFFD, len(defined))] if defined else []
    tags += [(5, strings), (0, 0)]
    dynamic = strings + len(texts.data)
    rows = b"".join(struct.pack("<QQ", *row) for row in tags)
    fat = fat_binary(code) if code else b""
    size = dynamic + len(rows) + len(fat)
    form = struct.Struct("<16sHHIQQQIHHHHHH")
    head = form.pack(b"\x7fELF\2\1\1", 3, machine, 1, 0, HEADER, 0, 0, HEADER, PROGRAM, 2, 0, 0, 0)
    programs = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 4096)
    programs += struct.pack("<IIQQQQQQ", 2, 6, dynamic, dynamic, dynamic, len(rows), len(rows), 8)
    return head + programs + needs + names + texts.data + rows + fat


def fat_binary(code: Sequence[tuple[str, int]]) -> bytes:
    """Return a fat binary of CUDA with eight bytes of code for each (kind, compute capability)."""
    entries = b"".join(
        struct.pack("<HHIQIIHHI", KINDS[kind], 0, 64, 8, 0, 0, 0, 0, capability).ljust(64, b"\0") + b"\xff" * 8
        for kind, capability in code
    )
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


class _Texts:
    def __init__(self) -> None:
        self.data = b"\0"

    def add(self, text: str) -> int:
        at = len(self.data)
        self.data += text.encode() + b"\0"
        return at


def _need(texts: _Texts, file: str, versions: Sequence[str], weak: Sequence[str]) -> bytes:
    size = 16 + 16 * len(versions)
    head = struct.pack("<HHIII", 1, len(versions), texts.add(file), 16, size)
    rows = [struct.pack("<IHHII", 0, 2 if each in weak else 0, 2, texts.add(each), 16) for each in versions]
    return head + b"".join(rows)
