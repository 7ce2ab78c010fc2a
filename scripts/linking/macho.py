"""Read of a Mach-O file what dyld needs to load it: libraries, search paths, imports, exports, and the signature.

Structures and constants are those of Apple's published headers ``mach-o/loader.h``, ``mach-o/nlist.h``,
``mach-o/fixup-chains.h`` and ``kern/cs_blobs.h``. Exports are looked up by walking the trie, one symbol at a time, as
dyld does: libraries with 600,000 symbols cost no more than small ones.
"""

import functools
import hashlib
import mmap
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

CPU = {0x01000007: "x86_64", 0x0100000C: "arm64", 7: "i386", 12: "arm"}
MAGIC_64, MAGICS_THIN = 0xFEEDFACF, (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe")
FAT, FAT_64 = 0xCAFEBABE, 0xCAFEBABF
KINDS = {2: "executable", 6: "dylib", 8: "bundle", 10: "debug symbols", 1: "object"}
TWO_LEVEL = 0x80
STRONG, WEAK, REEXPORT, UPWARD, LAZY = "strong", "weak", "reexport", "upward", "lazy"
LIBRARY_COMMANDS = {0xC: STRONG, 0x80000018: WEAK, 0x8000001F: REEXPORT, 0x80000023: UPWARD, 0x20: LAZY}
ID_DYLIB, RPATH, SYMTAB, SIGNATURE = 0xD, 0x8000001C, 0x2, 0x1D
DYLD_INFO, DYLD_INFO_ONLY, EXPORTS_TRIE, CHAINED_FIXUPS = 0x22, 0x80000022, 0x80000033, 0x80000034
BUILD_VERSION, VERSION_MIN_MACOS = 0x32, 0x24
# Ordinals that name no library of the image.
SELF, MAIN, FLAT, WEAK_LOOKUP = 0, -1, -2, -3
HASHES = {1: ("sha1", 20), 2: ("sha256", 32), 3: ("sha256", 20), 4: ("sha384", 48)}
SUPER_BLOB, CODE_DIRECTORY = 0xFADE0CC0, 0xFADE0C02


class MalformedError(Exception):
    """A file is not what its headers say."""


@dataclass(frozen=True)
class Library:
    """One library that an image names, with the way in which it needs it."""

    name: str
    kind: str


@dataclass(frozen=True)
class Import:
    """One symbol that an image binds.

    ``ordinal`` is the position of its library, counted from 1, or one of SELF, MAIN, FLAT and WEAK_LOOKUP.
    """

    symbol: str
    ordinal: int
    weak: bool


@dataclass(frozen=True)
class Export:
    """What an image says of a symbol that it exports: where it comes from, if it is another image's."""

    ordinal: int | None = None
    symbol: str = ""


@dataclass
class Image:
    """One slice of a Mach-O file.

    ``minimum`` and ``sdk`` are versions of macOS, such as ``(12, 0)``: the oldest that it names, and that of the SDK
    with which it was linked. ``signature`` says what is wrong with the signature, ``"missing"`` included, or "".
    """

    path: Path
    arch: str
    kind: str
    install_name: str = ""
    libraries: list[Library] = field(default_factory=list)
    rpaths: list[str] = field(default_factory=list)
    minimum: tuple[int, ...] = ()
    sdk: tuple[int, ...] = ()
    imports: frozenset[Import] = frozenset()
    signature: str = "missing"
    trie: bytes = b""
    names: frozenset[str] = frozenset()

    def export(self, symbol: str) -> Export | None:
        """Return what the image exports under a name, or None."""
        if not self.trie:
            return Export() if symbol in self.names else None
        return _walk(self.trie, symbol.encode())


def is_macho(path: Path) -> bool:
    """Return True for a thin or fat Mach-O file; Java's class files share the magic of fat ones."""
    with path.open("rb") as file:
        head = file.read(8)
    if head[:4] in MAGICS_THIN:
        return True
    return len(head) == 8 and head[:3] == b"\xca\xfe\xba" and 0 < struct.unpack(">I", head[4:])[0] < 40


def read(path: Path) -> dict[str, Image]:
    """Return the 64-bit slices of a file by architecture.

    Raises:
        MalformedError: the file ends too early, or its headers contradict each other.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            images = [_Slice(path, data, start, size).image() for start, size in _slices(data)]
        except (struct.error, IndexError, KeyError, ValueError, zlib.error) as error:
            raise MalformedError(f"{path.name}: {error}") from error
    return {image.arch: image for image in images}


def _slices(data: mmap.mmap) -> Iterator[tuple[int, int]]:
    """Yield offset and size of each 64-bit slice."""
    (magic, count) = struct.unpack_from(">II", data)
    if magic not in (FAT, FAT_64):
        if struct.unpack_from("<I", data)[0] == MAGIC_64:
            yield 0, len(data)
        return
    row = struct.Struct(">IIIII" if magic == FAT else ">IIQQII")
    for number in range(count):
        _, _, offset, size, *_ = row.unpack_from(data, 8 + number * row.size)
        if offset + size > len(data):
            raise MalformedError(f"a slice ends at {offset + size}, the file at {len(data)}")
        if struct.unpack_from("<I", data, offset)[0] == MAGIC_64:
            yield offset, size


class _Slice:
    """One slice while it is read."""

    def __init__(self, path: Path, data: mmap.mmap, start: int, size: int) -> None:
        self.data, self.start, self.size = data, start, size
        _, cpu, subtype, kind, self.count, _, self.flags, _ = struct.unpack_from("<IiiIIIII", data, start)
        arch = CPU.get(cpu, str(cpu)) + ("e" if cpu == 0x0100000C and subtype & 0xFF == 2 else "")
        self.result = Image(path, arch, KINDS.get(kind, f"type {kind}"))
        self.symtab: tuple[int, ...] = ()

    def image(self) -> Image:
        """Read the load commands and what they lead to."""
        place = self.start + 32
        for _ in range(self.count):
            command, size = struct.unpack_from("<II", self.data, place)
            if size < 8 or place + size > self.start + self.size:
                raise MalformedError(f"load command {command:#x} has {size} bytes")
            self._command(command, place, size)
            place += size
        if not self.result.trie and self.symtab:
            self.result.names = frozenset(self._defined())
        return self.result

    def _command(self, command: int, place: int, size: int) -> None:
        result = self.result
        if command in LIBRARY_COMMANDS:
            result.libraries.append(Library(self._text(place, size), LIBRARY_COMMANDS[command]))
        elif command == ID_DYLIB:
            result.install_name = self._text(place, size)
        elif command == RPATH:
            result.rpaths.append(self._text(place, size))
        elif command == SYMTAB:
            self.symtab = struct.unpack_from("<IIII", self.data, place + 8)
        elif command == SIGNATURE:
            result.signature = self._signature(*struct.unpack_from("<II", self.data, place + 8))
        elif command in (DYLD_INFO, DYLD_INFO_ONLY):
            _, _, bind, bind_size, _, _, lazy, lazy_size, trie, trie_size = struct.unpack_from(
                "<10I", self.data, place + 8
            )
            result.imports = frozenset(_binds(self._bytes(bind, bind_size))) | frozenset(
                _binds(self._bytes(lazy, lazy_size), lazy=True)
            )
            result.trie = result.trie or self._bytes(trie, trie_size)
        elif command == EXPORTS_TRIE:
            result.trie = self._bytes(*struct.unpack_from("<II", self.data, place + 8))
        elif command == CHAINED_FIXUPS:
            chains = self._bytes(*struct.unpack_from("<II", self.data, place + 8))
            result.imports = frozenset(_chained(chains))
        elif command == BUILD_VERSION:
            result.minimum, result.sdk = (_version(part) for part in struct.unpack_from("<II", self.data, place + 12))
        elif command == VERSION_MIN_MACOS:
            result.minimum, result.sdk = (_version(part) for part in struct.unpack_from("<II", self.data, place + 8))

    def _bytes(self, offset: int, size: int) -> bytes:
        if offset + size > self.size:
            raise MalformedError(f"a table ends at {offset + size}, the slice at {self.size}")
        return self.data[self.start + offset : self.start + offset + size]

    def _text(self, place: int, size: int) -> str:
        (offset,) = struct.unpack_from("<I", self.data, place + 8)
        return self.data[place + offset : place + size].split(b"\0", 1)[0].decode("utf-8", "replace")

    def _defined(self) -> Iterator[str]:
        """Yield the external symbols of the symbol table; images without a trie export these."""
        offset, count, strings, size = self.symtab
        table, texts = self._bytes(offset, 16 * count), self._bytes(strings, size)
        for name, kind, _, _, _ in struct.iter_unpack("<IBBHQ", table):
            if kind & 0x01 and not kind & 0xE0 and kind & 0x0E:
                yield texts[name : texts.index(b"\0", name)].decode("utf-8", "replace")

    def _signature(self, offset: int, size: int) -> str:
        """Return what is wrong with the code signature, or ""."""
        blob = self._bytes(offset, size)
        magic, _, count = struct.unpack_from(">III", blob)
        if magic != SUPER_BLOB:
            return f"its magic is {magic:#x}"
        places = [struct.unpack_from(">II", blob, 12 + 8 * number)[1] for number in range(count)]
        directories = [place for place in places if struct.unpack_from(">I", blob, place)[0] == CODE_DIRECTORY]
        if not directories:
            return "it has no code directory"
        return next(filter(None, (self._pages(blob[place:]) for place in directories)), "")

    def _pages(self, directory: bytes) -> str:
        """Compare the hashes of a code directory with the pages of the slice."""
        first, _, _, slots, limit = struct.unpack_from(">IIIII", directory, 16)
        width, kind, _, page_bits = struct.unpack_from("BBBB", directory, 36)
        name, length = HASHES.get(kind, ("", 0))
        if not name or width != length:
            return f"its hashes are of unknown type {kind}"
        page = 1 << page_bits if page_bits else limit
        if limit > self.size or slots != -(-limit // page):
            return f"it covers {limit} bytes in {slots} pages"
        for number in range(slots):
            begin = self.start + number * page
            digest = hashlib.new(name, self.data[begin : min(begin + page, self.start + limit)]).digest()
            if digest[:length] != directory[first + number * length : first + (number + 1) * length]:
                return f"page {number} of {slots} has been changed"
        return ""


def _version(number: int) -> tuple[int, int]:
    return number >> 16, number >> 8 & 0xFF


def _uleb(data: bytes, place: int) -> tuple[int, int]:
    """Return a number of variable length, and the place behind it."""
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


def _name(data: bytes, place: int) -> tuple[bytes, int]:
    end = data.index(b"\0", place)
    return data[place:end], end + 1


def _binds(data: bytes, lazy: bool = False) -> Iterator[Import]:
    """Yield what the opcodes of classic bind information bind."""
    place, ordinal, symbol, weak = 0, 0, b"", False
    while place < len(data):
        byte = data[place]
        opcode, value = byte & 0xF0, byte & 0x0F
        place += 1
        if opcode == 0x00 and not lazy:  # DONE; in lazy information it only ends one entry
            return
        if opcode == 0x10:  # SET_DYLIB_ORDINAL_IMM
            ordinal = value
        elif opcode == 0x20:  # SET_DYLIB_ORDINAL_ULEB
            ordinal, place = _uleb(data, place)
        elif opcode == 0x30:  # SET_DYLIB_SPECIAL_IMM
            ordinal = value - 16 if value else 0
        elif opcode == 0x40:  # SET_SYMBOL_TRAILING_FLAGS_IMM
            symbol, place = _name(data, place)
            weak = bool(value & 1)
        elif opcode in (0x60, 0x70, 0x80):  # SET_ADDEND_SLEB, SET_SEGMENT_AND_OFFSET_ULEB, ADD_ADDR_ULEB
            _, place = _uleb(data, place)
        elif opcode in (0x90, 0xA0, 0xB0, 0xC0):  # DO_BIND and its variants
            yield _import(symbol, ordinal, weak)
            for _ in range({0xA0: 1, 0xC0: 2}.get(opcode, 0)):
                _, place = _uleb(data, place)
        elif opcode == 0xD0 and value == 0:  # THREADED, SET_BIND_ORDINAL_TABLE_SIZE
            _, place = _uleb(data, place)
        elif opcode not in (0x00, 0x50, 0xD0):
            raise MalformedError(f"unknown bind opcode {byte:#x}")


@functools.cache
def _import(symbol: bytes, ordinal: int, weak: bool) -> Import:
    return Import(symbol.decode("utf-8", "replace"), ordinal, weak)


def _chained(data: bytes) -> Iterator[Import]:
    """Yield the imports of chained fixups."""
    _, _, imports, symbols, count, form, packed = struct.unpack_from("<7I", data)
    texts = zlib.decompress(data[symbols:]) if packed else data[symbols:]
    layout, ordinal_bits = {1: ("<I", 8), 2: ("<Ii", 8), 3: ("<QQ", 16)}[form]
    row = struct.Struct(layout)
    for number in range(count):
        value = row.unpack_from(data, imports + number * row.size)[0]
        ordinal = value & (1 << ordinal_bits) - 1
        if ordinal > (1 << ordinal_bits) - 16:  # Negative: a special lookup.
            ordinal -= 1 << ordinal_bits
        weak = bool(value >> ordinal_bits & 1)
        begin = value >> (9 if form < 3 else 32)
        yield Import(_name(texts, begin)[0].decode("utf-8", "replace"), ordinal, weak)


def _walk(trie: bytes, symbol: bytes) -> Export | None:
    """Look a symbol up in an export trie. Edges may be empty; the first that fits is taken, as dyld does."""
    node, rest, seen = 0, symbol, set[int]()
    try:
        while node not in seen:
            seen.add(node)
            size, place = _uleb(trie, node)
            if not rest and size:
                return _terminal(trie, place)
            place += size
            children, place = trie[place], place + 1
            for _ in range(children):
                edge, place = _name(trie, place)
                child, place = _uleb(trie, place)
                if rest.startswith(edge):
                    node, rest = child, rest[len(edge) :]
                    break
    except (IndexError, ValueError):  # The trie leads out of itself.
        return None
    return None


def _terminal(trie: bytes, place: int) -> Export:
    flags, place = _uleb(trie, place)
    if not flags & 0x08:
        return Export()
    ordinal, place = _uleb(trie, place)
    other, _ = _name(trie, place)
    return Export(ordinal, other.decode("utf-8", "replace"))
