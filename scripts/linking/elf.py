"""Read of an ELF file what Linux's dynamic linker needs to load it, and for which GPUs its CUDA code was compiled.

Structures and constants are those of the System V ABI and of the GNU extensions for versions of symbols
(``elf.h`` of the GNU C library). The header of a fat binary of CUDA is in ``fatbinary_section.h`` of the CUDA
toolkit; the headers of its entries are not published: their fields were found in files whose content is known.
"""

import mmap
import struct
from dataclasses import dataclass, field
from pathlib import Path

MAGIC, CUDA_MACHINE = b"\x7fELF", 190
MACHINES = {62: "x86_64", 183: "arm64", CUDA_MACHINE: "cuda"}
LOAD, DYNAMIC = 1, 2
NEEDED, STRTAB, SONAME, RPATH, RUNPATH = 1, 5, 14, 15, 29
VERDEF, VERDEFNUM, VERNEED, VERNEEDNUM = 0x6FFFFFFC, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF
WEAK = 2
FAT, FAT_MAGIC = struct.Struct("<IHHQ"), struct.pack("<IHH", 0xBA55ED50, 1, 16)
# kind, (unused), size of this header, size of the code, ..., compute capability at byte 28
ENTRY = struct.Struct("<HHIQIIHHI")
PTX, CUBIN = 1, 2


class MalformedError(Exception):
    """A file is not what its headers say."""


@dataclass
class Image:
    """One ELF file.

    Attributes:
        arch: ``"x86_64"``, ``"arm64"``, ``"cuda"`` or the number of another machine.
        search: folders of DT_RUNPATH, or of DT_RPATH if there is none.
        versions: file of a library -> versions of its symbols without which this file is not loaded.
        defined: versions of symbols that this file defines.
        cubins: compute capabilities, such as 90 for 9.0, of code for one GPU; and of PTX, which drivers compile.
    """

    arch: str
    soname: str = ""
    needed: list[str] = field(default_factory=list)
    search: list[str] = field(default_factory=list)
    versions: dict[str, list[str]] = field(default_factory=dict)
    defined: list[str] = field(default_factory=list)
    cubins: list[int] = field(default_factory=list)
    ptx: list[int] = field(default_factory=list)


def is_elf(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(4) == MAGIC


def read(path: Path) -> Image:
    """Read one file of 64 bits, least significant byte first."""
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            return _Reader(data).image()
        except (struct.error, IndexError, ValueError, UnicodeDecodeError) as error:
            raise MalformedError(f"truncated or damaged: {error}") from error


class _Reader:
    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        if data[:6] != MAGIC + b"\x02\x01":
            raise MalformedError("not an ELF file of 64 bits, least significant byte first")
        self.loads: list[tuple[int, int, int]] = []
        self.strings = 0

    def image(self) -> Image:
        machine, start, size, count = self._header()
        image = Image(MACHINES.get(machine, f"machine {machine}"))
        dynamic = None
        for at in range(start, start + size * count, size):
            kind, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", self.data, at)
            if kind == LOAD:
                self.loads.append((address, address + length, offset - address))
            elif kind == DYNAMIC:
                dynamic = offset, length
        if dynamic and machine != CUDA_MACHINE:
            self._dynamic(image, *dynamic)
        image.cubins, image.ptx = (sorted(each) for each in fat_binaries(self.data))
        return image

    def _header(self) -> tuple[int, int, int, int]:
        """Return the machine, and where the program headers are, their size and number."""
        (machine,) = struct.unpack_from("<H", self.data, 18)
        (start,) = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        return machine, start, size, count

    def _dynamic(self, image: Image, offset: int, length: int) -> None:
        rows = [struct.unpack_from("<QQ", self.data, at) for at in range(offset, offset + length, 16)]
        rows = rows[: next((at for at, row in enumerate(rows) if row[0] == 0), len(rows))]
        tags = dict(rows)
        self.strings = self._offset(tags[STRTAB]) if STRTAB in tags else 0
        image.needed = [self._text(value) for tag, value in rows if tag == NEEDED]
        image.soname = self._text(tags[SONAME]) if SONAME in tags else ""
        search = tags.get(RUNPATH, tags.get(RPATH))
        image.search = [each for each in self._text(search).split(":") if each] if search is not None else []
        if VERNEED in tags:
            image.versions = self._needs(self._offset(tags[VERNEED]), tags[VERNEEDNUM])
        if VERDEF in tags:
            image.defined = self._definitions(self._offset(tags[VERDEF]), tags[VERDEFNUM])

    def _offset(self, address: int) -> int:
        for first, last, shift in self.loads:
            if first <= address < last:
                return address + shift
        raise MalformedError(f"address {address:#x} is not in the file")

    def _text(self, at: int) -> str:
        begin = self.strings + at
        return self.data[begin : self.data.find(b"\0", begin)].decode()

    def _needs(self, at: int, count: int) -> dict[str, list[str]]:
        needs: dict[str, list[str]] = {}
        for _ in range(count):
            _, number, file, first, following = struct.unpack_from("<HHIII", self.data, at)
            place = at + first
            for _ in range(number):
                _, flags, _, name, further = struct.unpack_from("<IHHII", self.data, place)
                if not flags & WEAK:
                    needs.setdefault(self._text(file), []).append(self._text(name))
                place += further
            at += following
        return needs

    def _definitions(self, at: int, count: int) -> list[str]:
        names = []
        for _ in range(count):
            _, _, _, _, _, first, following = struct.unpack_from("<HHHHIII", self.data, at)
            names.append(self._text(struct.unpack_from("<I", self.data, at + first)[0]))
            at += following
        return names


def fat_binaries(data: mmap.mmap | bytes) -> tuple[set[int], set[int]]:
    """Return the compute capabilities of all code for one GPU, and of all PTX, in the fat binaries of a file."""
    cubins: set[int] = set()
    ptx: set[int] = set()
    at = data.find(FAT_MAGIC)
    while at >= 0:
        _, _, header, size = FAT.unpack_from(data, at)
        place, end = at + header, at + header + size
        if end > len(data):  # the same bytes by chance, such as a constant of a program that makes fat binaries
            at = data.find(FAT_MAGIC, at + 4)
            continue
        while place + ENTRY.size <= end:
            kind, _, own, length, *_, capability = ENTRY.unpack_from(data, place)
            if own < ENTRY.size:
                break
            if kind in (PTX, CUBIN):  # others are code for the linker of device code
                (ptx if kind == PTX else cubins).add(capability)
            place += own + length
        at = data.find(FAT_MAGIC, end)
    return cubins, ptx
