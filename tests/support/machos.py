"""Small Mach-O files for tests, made from what a loader reads of them."""

import hashlib
import struct
from collections.abc import Mapping, Sequence

CPUS = {"arm64": (0x0100000C, 0), "x86_64": (0x01000007, 3), "i386": (7, 3)}
KINDS = {"executable": 2, "dylib": 6, "bundle": 8}
COMMANDS = {"strong": 0xC, "weak": 0x80000018, "reexport": 0x8000001F}
PAGE = 4096


def macho(
    *,
    arch: str = "arm64",
    kind: str = "dylib",
    name: str = "",
    libraries: Sequence[str | tuple[str, str]] = (),
    rpaths: Sequence[str] = (),
    imports: Sequence[tuple[str, int] | tuple[str, int, bool]] = (),
    exports: Sequence[str] | Mapping[str, tuple[int, str] | None] = (),
    sdk: tuple[int, int] = (12, 0),
    form: str = "chained",
    signed: bool = True,
) -> bytes:
    """Return a file. ``form`` is how it binds and exports: ``chained``, ``classic``, or ``symtab`` (exports only)."""
    cpu, subtype = CPUS[arch]
    commands = [_path(0xD, name, 24)] if name else []
    for library in libraries:
        path, needed = (library, "strong") if isinstance(library, str) else library
        commands.append(_path(COMMANDS[needed], path, 24))
    commands += [_path(0x8000001C, path, 12) for path in rpaths]
    commands.append(struct.pack("<6I", 0x32, 24, 1, 12 << 16, sdk[0] << 16 | sdk[1] << 8, 0))
    table = dict.fromkeys(exports) if not isinstance(exports, Mapping) else dict(exports)
    tables = _tables(form, [(*each, False)[:3] for each in imports], table)
    size = 32 + sum(map(len, commands)) + sum(8 + 4 * len(layout) for _, layout in tables) + 16 * signed
    body = b""
    for command, layout in tables:
        fields = []
        for part in layout:
            if isinstance(part, bytes):
                fields.append(size + len(body))
                body += part
            else:
                fields.append(part)
        commands.append(struct.pack(f"<II{len(fields)}I", command, 8 + 4 * len(fields), *fields))
    if not signed:
        return _header(cpu, subtype, kind, commands) + body
    limit = size + len(body)
    slots = -(-limit // PAGE)
    length = 20 + 44 + 32 * slots
    commands.append(struct.pack("<4I", 0x1D, 16, limit, length))
    whole = _header(cpu, subtype, kind, commands) + body
    hashes = b"".join(hashlib.sha256(whole[at : at + PAGE]).digest() for at in range(0, limit, PAGE))
    directory = struct.pack(">9I4BI", 0xFADE0C02, 44 + len(hashes), 0x20001, 2, 44, 0, 0, slots, limit, 32, 2, 0, 12, 0)
    return whole + struct.pack(">5I", 0xFADE0CC0, length, 1, 0, 20) + directory + hashes


def fat(*slices: tuple[str, bytes]) -> bytes:
    """Return a file with several architectures."""
    place, head, body = 8 + 20 * len(slices), struct.pack(">II", 0xCAFEBABE, len(slices)), b""
    for arch, data in slices:
        head += struct.pack(">iiIII", *CPUS[arch], place + len(body), len(data), 0)
        body += data
    return head + body


def _header(cpu: int, subtype: int, kind: str, commands: list[bytes]) -> bytes:
    whole = b"".join(commands)
    return struct.pack("<IiiIIIII", 0xFEEDFACF, cpu, subtype, KINDS[kind], len(commands), len(whole), 0x85, 0) + whole


def _path(command: int, path: str, offset: int) -> bytes:
    text = path.encode() + b"\0"
    text += b"\0" * (-(offset + len(text)) % 8)
    return struct.pack("<III", command, offset + len(text), offset).ljust(offset, b"\0") + text


def _tables(form: str, imports: list, exports: dict) -> list[tuple[int, list]]:
    """Return the commands with tables: number, and fields, in which bytes stand for their place in the file."""
    trie, chains, opcodes = _trie(exports), _chained(imports), _binds(imports)
    if form == "chained":
        return [(0x80000034, [chains, len(chains)]), (0x80000033, [trie, len(trie)])]
    if form == "classic":
        return [(0x80000022, [0, 0, opcodes, len(opcodes), 0, 0, opcodes, len(opcodes), trie, len(trie)])]
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in exports)
    places = [strings.index(b"\0" + name.encode() + b"\0") + 1 for name in exports]
    rows = b"".join(struct.pack("<IBBHQ", place, 0x0F, 1, 0, 0) for place in places)
    return [(0x2, [rows, len(exports), strings, len(strings)])]


def _uleb(value: int) -> bytes:
    out = b""
    while True:
        value, byte = value >> 7, value & 0x7F
        out += bytes([byte | (0x80 if value else 0)])
        if not value:
            return out


def _binds(imports: list) -> bytes:
    out = b""
    for symbol, ordinal, weak in imports:
        place = bytes([0x30 | ordinal & 0xF]) if ordinal < 0 else b"\x20" + _uleb(ordinal)
        out += place + bytes([0x40 | weak]) + symbol.encode() + b"\0" + b"\x71" + _uleb(300) + b"\x90"
    return out + b"\0"


def _chained(imports: list) -> bytes:
    names, rows = b"\0", b""
    for symbol, ordinal, weak in imports:
        rows += struct.pack("<I", ordinal & 0xFF | weak << 8 | len(names) << 9)
        names += symbol.encode() + b"\0"
    return struct.pack("<7I", 0, 28, 28, 28 + len(rows), len(imports), 1, 0) + rows + names


def _trie(exports: dict) -> bytes:
    """Return a trie of one level: an edge of the whole name for each symbol, long ones first."""
    exports = dict(sorted(exports.items(), key=lambda row: -len(row[0])))
    edges = len(exports)
    size = 2 + sum(len(name.encode()) + 1 + 3 for name in exports)
    root, leaves = bytes([0, edges]), b""
    for name, other in exports.items():
        terminal = b"\0\0" if other is None else b"\x08" + _uleb(other[0]) + other[1].encode() + b"\0"
        place = size + len(leaves)
        root += name.encode() + b"\0" + bytes([place & 0x7F | 0x80, place >> 7 & 0x7F | 0x80, place >> 14])
        leaves += _uleb(len(terminal)) + terminal + b"\0"
    return root + leaves if exports else b""
