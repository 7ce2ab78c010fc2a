"""Write TensorBoard's event files, without TensorBoard: every stack has them, and the host needs no further package.

A file is a TFRecord of ``Event`` messages (tensorflow/core/util/event.proto and framework/summary.proto, graph.proto,
attr_value.proto, Apache-2.0).
Only the fields that are used here are encoded.
"""

import itertools
import math
import re
import struct
import time
from pathlib import Path

from zoo.protocol.events import EpochEvent, Event, HistogramEvent, NetworkEvent, ResumeEvent
from zoo.runs.records import Json, RunRecord

FOLDER = "tensorboard"
# Images of a finished run, by their tag in TensorBoard.
IMAGES = {"mistakes": "mistakes.png", "confusion": "confusion.png"}
_NOT_FIGURES = ("event", "t", "epoch", "epochs")
_POLYNOMIAL = 0x82F63B78  # CRC-32C, bits reversed


class EventFile:
    """The event file of a training run; a resumed run begins another."""

    def __init__(self, folder: Path, settings: str) -> None:
        self._folder, self._step = folder, 0
        self.place = folder / FOLDER
        self.place.mkdir(exist_ok=True)
        names = (self.place / f"events.out.tfevents.{int(time.time())}.{number}.zoo" for number in itertools.count())
        self._path = next(name for name in names if not name.exists())
        self._write(_text(3, "brain.Event:2"))
        text = "".join(f"    {line}\n" for line in settings.splitlines())  # Markdown shows it as code
        tensor = _number(1, 7) + _message(2, _message(2, _number(1, 1))) + _text(8, text)  # of one string, shape (1,)
        self._summary(_text(1, "settings") + _message(9, _message(1, _text(1, "text"))) + _message(8, tensor))

    def watch(self, event: Event) -> None:
        """Write the figures of an epoch; later epochs replace those that are trained again after resuming."""
        if isinstance(event, ResumeEvent):
            self._step = event.epoch
            self._write(_message(7, _number(1, 1)))  # TensorBoard drops later steps of earlier files
        elif isinstance(event, EpochEvent):
            self._step = event.epoch
            rows = figures_of(event).items()
            self._summary(*(_text(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) for name, value in rows))
        elif isinstance(event, HistogramEvent):
            self._step = event.epoch
            self._summary(_text(1, event.weight) + _message(5, _histogram(event)))
        elif isinstance(event, NetworkEvent):
            self._write(_message(4, b"".join(map(_node, event.layers))))

    def finish(self, _: RunRecord) -> None:
        """Add the images of the run."""
        for tag, name in IMAGES.items():
            if (path := self._folder / name).is_file():
                content = path.read_bytes()
                width, height = struct.unpack(">II", content[16:24])  # of the header of PNG
                shape = _number(1, height) + _number(2, width) + _number(3, 3)
                self._summary(_text(1, tag) + _message(4, shape + _message(4, content)))

    def _summary(self, *values: bytes) -> None:
        self._write(_message(5, b"".join(_message(1, value) for value in values)))

    def _write(self, content: bytes) -> None:
        event = b"\x09" + struct.pack("<d", time.time()) + _number(2, self._step) + content
        length = struct.pack("<Q", len(event))
        with self._path.open("ab") as file:
            file.write(length + masked_crc(length) + event + masked_crc(event))


def figures_of(event: EpochEvent) -> dict[str, float]:
    """Return the finite numbers of an epoch by their names."""
    return numbers({name: value for name, value in sorted(event.to_json().items()) if name not in _NOT_FIGURES})


def numbers(values: Json) -> dict[str, float]:
    """Return the finite numbers of a table."""
    chosen = {name: value for name, value in values.items() if isinstance(value, int | float)}
    return {name: value for name, value in chosen.items() if math.isfinite(value) and not isinstance(value, bool)}


def _varint(value: int) -> bytes:
    value, parts = value % 2**64, bytearray()  # negative numbers have 64 bits
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _text(field: int, value: str) -> bytes:
    return _message(field, value.encode())


def _doubles(field: int, *values: float) -> bytes:
    return _message(field, struct.pack(f"<{len(values)}d", *values))


def _histogram(event: HistogramEvent) -> bytes:
    """Return a HistogramProto."""
    low, high, count = *event.figures[:2], len(event.counts)
    figures = (_varint(field << 3 | 1) + struct.pack("<d", value) for field, value in enumerate(event.figures, 1))
    limits = [low + (high - low) / count * number for number in range(1, count)]
    return b"".join(figures) + _doubles(6, *limits, high) + _doubles(7, *event.counts)


def _node(layer: Json) -> bytes:
    """Return the field of a GraphDef with a node; the edges that leave it show its output shape."""
    names = [re.sub(r"[^\w./-]", "_", name) for name in (layer["name"], *layer["inputs"])]
    sizes = b"".join(_message(2, _number(1, -1 if size is None else size)) for size in layer["shape"])
    shapes = _text(1, "_output_shapes") + _message(2, _message(1, _message(7, sizes)))
    inputs = b"".join(_text(3, name) for name in names[1:])
    return _message(1, _text(1, names[0]) + _text(2, layer["class"]) + inputs + _message(5, shapes))


_TABLE = list(range(256))
for _ in range(8):
    _TABLE = [value >> 1 ^ _POLYNOMIAL * (value & 1) for value in _TABLE]


def masked_crc(content: bytes) -> bytes:
    """Return the masked CRC-32C of a record."""
    value = 0xFFFFFFFF
    for byte in content:
        value = _TABLE[(value ^ byte) & 255] ^ value >> 8
    value ^= 0xFFFFFFFF
    return struct.pack("<I", ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF)
