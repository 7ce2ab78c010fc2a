"""Read which of StableHLO's operations jax-mps has, from its library for Apple silicon.

jax-mps looks up the handler of an operation by its name. Its library contains all names, because StableHLO is inside.
Which of them jax-mps uses depends on the place of the instructions that load their addresses: its own code comes
before StableHLO's, in the order in which the library was linked. The first of StableHLO's passes, which makes
operations of CHLO into others, is recognized by a name that only it uses.
"""

import re
import struct
from pathlib import Path

import numpy as np

from scripts.linking.record import Calls
from zoo.core.errors import ZooError

LIBRARY = "libpjrt_plugin_mps.dylib"
NAME = rb"(?<=\0)(?:stablehlo|chlo)\.[a-z0-9_]+(?=\0)"
NOT_ITS_OWN = "chlo._asin_acos_kernel"
# MLX, on which jax-mps is built, has no such numbers on the GPU.
WIDE = ("f64", "complex<f64>")
# They stand for the values of a region or a function, and are not computed.
STRUCTURE = {"stablehlo.return"}
_CALL = re.compile(r'(?:^|=|\s)"?((?:stablehlo|chlo)\.[a-z0-9_]+)"?(?=[ (])(?: @([\w.$]+))?')
_TYPE = re.compile(r"tensor<(?:[\d?]+x)*([a-z]+\d*(?:<\w+>)?)[,>]")
_SEGMENT, _ADRP, _ADRP_MASK, _ADD, _ADD_MASK, _PAGE = 0x19, 0x90000000, 0x9F000000, 0x91000000, 0xFFC00000, 12


def parse(folder: Path) -> Calls:
    """Return operation -> types of its tensors, from the programs that JAX wrote (``JAX_DUMP_IR_TO``)."""
    calls: dict[str, set[str]] = {}
    for path in folder.rglob("*.mlir"):
        for line in path.read_text(encoding="utf-8").splitlines():
            call = _CALL.search(line)
            if call and call[1] not in STRUCTURE:
                name = f"{call[1]} {call[2]}" if call[2] and call[1] == "stablehlo.custom_call" else call[1]
                # Of an operation with a region the types are on another line; those here are of its attributes.
                calls.setdefault(name, set()).update([] if line.endswith("({") else _TYPE.findall(line))
    return {name: sorted(types) for name, types in sorted(calls.items())}


def handled(library: Path) -> set[str]:
    """Return the operations whose names jax-mps's own code loads, and those of CHLO, which are made into them."""
    data = library.read_bytes()
    # Addresses of code and constants are their places in the file, whose first segment starts at 0.
    texts = {match.start(): match[0].decode("ascii") for match in re.finditer(NAME, data)}
    code, length, first = _section(data, b"__text")
    words = np.frombuffer(data, dtype="<u4", count=length // 4, offset=first)
    uses = sorted((at, texts[to]) for at, to in _addresses(words, code) if to in texts)
    end = next((at for at, name in uses if name == NOT_ITS_OWN), 0)
    chlo = {name for name in texts.values() if name.startswith("chlo.")}
    return {name for at, name in uses if at < end} | chlo


def missing(calls: Calls, known: set[str]) -> list[str]:
    """Return the operations that jax-mps has no handler for, or no numbers."""
    return [name for name, types in calls.items() if name.partition(" ")[0] not in known or set(types) & set(WIDE)]


def _section(data: bytes, name: bytes) -> tuple[int, int, int]:
    """Return address, size and offset of a section of a Mach-O file for one processor."""
    commands, at = struct.unpack_from("<I", data, 16)[0], 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", data, at)
        count = struct.unpack_from("<I", data, at + 64)[0] if command == _SEGMENT else 0
        for place in range(at + 72, at + 72 + 80 * count, 80):
            if data[place : place + 16].rstrip(b"\0") == name:
                address, length, offset = struct.unpack_from("<QQI", data, place + 32)
                return address, length, offset
        at += size
    raise ZooError(f"The library has no section {name.decode()}", "Take a library of Mach-O form.")


def _addresses(words: "np.ndarray", code: int) -> "list[tuple[int, int]]":
    """Return (address of instruction, address that it loads) of each pair ADRP, ADD, at most three words apart."""
    at = np.nonzero((words & _ADRP_MASK) == _ADRP)[0]
    at = at[at + 3 < len(words)]
    loads = words[at].astype(np.int64)
    pages = ((loads >> 29) & 3) | (((loads >> 5) & 0x7FFFF) << 2)
    pages = np.where(pages & (1 << 20), pages - (1 << 21), pages)
    base = (((code + at * 4) >> _PAGE) + pages) << _PAGE
    pairs: list[tuple[int, int]] = []
    for distance in (1, 2, 3):
        following = words[at + distance].astype(np.int64)
        same = ((following & _ADD_MASK) == _ADD) & (((following >> 5) & 31) == (loads & 31))
        targets = base[same] + ((following[same] >> 10) & 0xFFF)
        pairs += zip((code + at[same] * 4).tolist(), targets.tolist(), strict=True)
    return pairs
