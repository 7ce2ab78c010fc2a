"""Every parser of a file that may come from a stranger, with good files to damage."""

import functools
import gzip
import io
import json
import random
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from scripts.maintenance.evidence import entering, intake, plausibility
from tests.support import evidence_sample, forked_sandbox, published
from tests.weights import test_io
from zoo.certification import archive
from zoo.config.overrides import Overrides
from zoo.core import schema
from zoo.core.errors import ZooError
from zoo.data import idx
from zoo.data.images import grayscale
from zoo.data.text import files, tokenization
from zoo.environments import machine
from zoo.runs import context, event_log, records, tables
from zoo.runs.result import Run
from zoo.tasks import discovery, trained_run
from zoo.weights import io as weights_io
from zoo.weights import tflite
from zoo.worker.training.checkpoint_files import Checkpoints


@dataclass(frozen=True)
class Parser:
    """One parser.

    Attributes:
        name: of the file that it reads.
        seeds: contents that it takes.
        parse: reads the file at a path; raises ZooError, and nothing else.
        binary: damage seldom moves what follows it, which would all be lost on a format of addresses.
        seconds: it may take for one file.
    """

    name: str
    seeds: list[bytes]
    parse: Callable[[Path], object]
    binary: bool = False
    seconds: float = 1.0


def _idx() -> list[bytes]:
    plain = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 4]) + bytes(range(32))
    return [plain, gzip.compress(plain, mtime=0)]


def _pictures() -> list[bytes]:
    texts = []
    picture = Image.fromarray((np.arange(16 * 16 * 3) % 251).astype(np.uint8).reshape(16, 16, 3))
    for kind in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP"):
        out = io.BytesIO()
        picture.save(out, kind)
        texts.append(out.getvalue())
    return texts


def _saved(write: Callable[[io.BytesIO], object]) -> bytes:
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def _safetensors() -> bytes:
    head = json.dumps({"a/kernel": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}).encode()
    return len(head).to_bytes(8, "little") + head + bytes(16)


def _tflite() -> bytes:
    whole = np.arange(8, dtype=np.int8).reshape(2, 1, 1, 4)
    return published.tflite({"network/a": np.ones((2, 3), np.float32), "network/b": whole}, {"network/b": [0.5, 2]})


def _tar(mode: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name in ("a/pos/1.txt", "a/neg/2.txt"):
            member = tarfile.TarInfo(name)
            member.size = 5
            archive.addfile(member, io.BytesIO(b"words"))
    return out.getvalue()


def _hdf5() -> list[bytes]:
    """Files as Keras 1, 2 and 3 write them, and a whole model of Keras 3."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arrays = {"a/kernel": np.ones((2, 3), np.float32), "a/bias": np.ones(3, np.float32)}
        test_io.keras1(folder / "1.h5")
        for file in ("2.h5", "3.weights.h5"):
            weights_io.write(folder / file, weights_io.Weights(arrays, "made here", {"a": "dense"}))
        test_io.keras3(folder / "4.keras", test_io.CONFIG)
        return [path.read_bytes() for path in sorted(folder.iterdir())]


def read_hdf5(path: Path) -> object:
    """As any command reads it; what hangs is ended sooner."""
    with forked_sandbox.forking(HDF5_SECONDS) as process:
        try:
            return weights_io.read(path)
        finally:
            HDF5_SEEN["peak_bytes"] = max(HDF5_SEEN["peak_bytes"], process.peak_bytes)
            HDF5_SEEN["hung"] += process.hung


HDF5_SECONDS = 2.0
HDF5_SEEN = {"peak_bytes": 0, "hung": 0}
_here = functools.cache(machine.probe)


def compose(path: Path) -> object:
    """The words of a command line, one a line."""
    first, *words = path.read_bytes().decode("utf-8", "replace").split("\n")
    verb = first if first in ("train", "infer", "bench") else "train"
    overrides = Overrides.parse(words)
    return context.resolve(discovery.command_of(verb, overrides), overrides, _here())


def _beside(read: Callable[[Path], object]) -> Callable[[Path], object]:
    """For readers that are given a folder."""
    return lambda path: read(path.parent)


EVENTS = b'{"event": "epoch", "epoch": 1, "loss": 0.5, "t": 1.0}\n{"event": "resume", "epoch": 1}\n{"event": "step"}\n'
RECORD = json.dumps({"exit": "completed", "verb": "train", "command": ["python", "-m", "zoo", "train"]}).encode()
REQUEST = json.dumps({"model": {"name": "mnist", "args": {"input_shape": [8, 8, 1], "classes": 10}}}).encode()
HISTORY = b"epoch,loss,accuracy,best\n1,0.5,0.9,True\n2,0.4,0.95,False\n"
VOCABULARY = json.dumps(
    {"format": 1, "kind": "words", "pieces": ["", "?", "a"], "rules": "", "lowercase": True}
).encode()
SETTINGS = [
    b"train\nmodel=mnist\ntrainer.epochs=3\ntrainer.learning_rate=1e-3\nseed=1\ndata.root=/x",
    b"train\nmodel=mobilenet\nweights=imagenet\nfine_tune.unfreeze_from=conv\naugment.crop=0.1\npreset=smoke\nstack=torch",
    b"train\nmodel=style_transfer\ncontent=a.jpg\nstyle=b.jpg\nbackend=cpu\nsave='c d.png'",
    b"train\nmodel=transformer/lm\nmodel.dropout=0.2\ndata=text_file\ntrainer.on_nan=rollback",
    b"infer\nmodel=mobilenet\nweights=imagenet\ninput=a.jpg\nbatch_size=4\nsheets=0\nbackend=auto",
    b"train\nreference=cpu-only\ntrainer.epochs=2\nseed=3\ntrainer.jit=true\nbackend.probes=false",
    b"bench\nbench=matmul\nbackend=cpu",
]
CHECKPOINT = json.dumps({"format": 1, "number": 1, "sha256": "0" * 64, "state": {}}).encode()


def _lines(path: Path) -> object:
    return list(event_log.read(path)), event_log.epochs(path)


def read_evidence(path: Path) -> object:
    """As entering evidence does, short of writing."""
    read = intake.read(path)
    return plausibility.problems(read), entering.lines(entering.changes(read))


def _evidence_with(member: str) -> Callable[[Path], object]:
    """For one member of an archive that is right otherwise, its checksums included."""

    def read(path: Path) -> object:
        content = evidence_sample.members() | {member: path.read_bytes()}
        return read_evidence(archive.write(path.with_suffix(".zip"), content))

    return read


def _evidence() -> list[bytes]:
    with tempfile.TemporaryDirectory() as name:
        return [evidence_sample.write(Path(name, "e.zip")).read_bytes()]


PARSERS = {
    "evidence": Parser("e.zip", _evidence(), read_evidence, binary=True),
    "certification": Parser(
        "certify.json", [evidence_sample.members()["certify.json"]], _evidence_with("certify.json"), seconds=3.0
    ),
    "evidence-run": Parser(
        "run.json",
        [evidence_sample.members()["runs/train-mnist_dense.json"]],
        _evidence_with("runs/train-mnist_dense.json"),
        seconds=3.0,
    ),
    "idx": Parser("x.idx", _idx(), lambda path: idx.read(path, (4, 4))),
    "picture": Parser("x.png", _pictures(), lambda path: grayscale.load(str(path), (8, 8, 1), "plain")),
    "array": Parser(
        "x.npy",
        [_saved(lambda out: np.save(out, np.zeros((2, 4, 4), np.uint8)))],
        lambda path: grayscale.load(str(path), (4, 4, 1), "plain"),
    ),
    "npz": Parser(
        "w.npz", [_saved(lambda out: np.savez(out, **{"a/kernel": np.ones((2, 2), np.float32)}))], weights_io.read
    ),
    "safetensors": Parser("w.safetensors", [_safetensors()], weights_io.read),
    "manifest": Parser("manifest.json", [b'{"a": {"filename": "a", "shape": [1]}}'], weights_io.read),
    "tflite": Parser("w.tflite", [_tflite()], tflite.read, binary=True),
    "text": Parser("x.txt", ["wörds\nand\n".encode(), b"\xef\xbb\xbfx"], lambda path: files.read(path, "utf-8")),
    "archive": Parser(
        "x.tar.gz", [_tar("w:gz"), _tar("w")], lambda path: list(files.iter_archive(path, ".txt"))
    ),
    "vocabulary": Parser("v.json", [VOCABULARY], tokenization.load),
    "record": Parser("run.json", [RECORD], _beside(records.read)),
    "request": Parser("request.json", [REQUEST], lambda path: trained_run.model(Run(path.parent, {}))),
    "history": Parser("history.csv", [HISTORY], _beside(tables.read_history)),
    "events": Parser("events.jsonl", [EVENTS], _lines),
    "row": Parser("x.yaml", [b"a: 1\nb: [1, 2]\nc:\n  d: x\n"], schema.read_yaml),
    "checkpoint": Parser(
        "checkpoints/0000000001.json", [CHECKPOINT],
        lambda path: Checkpoints(str(path.parent.parent)).load(lambda words: None),
    ),
    "hdf5": Parser("w.h5", _hdf5(), read_hdf5, binary=True, seconds=HDF5_SECONDS + 2),
    "settings": Parser("words", SETTINGS, compose, seconds=3.0),
}  # fmt: skip

DEEP = (b"[" * 50, b"[" * 20_000, b'{"a":' * 5000)
LONG = (b"9" * 5000, b"${oc.env:HOME}")
PIECES = (b"\x00", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"{", b'"', b"\n", b"PK\x03\x04", b"1e999", b"../x",
          b"null", b"-1", b"\x1f\x8b", b"!!python/object:os.system", b"<!", *DEEP, *LONG)  # fmt: skip


def damaged(seed: bytes, draw: random.Random, binary: bool = False) -> bytes:
    """Another file: cut, flipped, spliced, or nothing but noise; a binary one mostly in place."""
    content = bytearray(seed)
    if binary and draw.random() < 0.8:
        return _overwritten(content, draw)
    for _ in range(draw.randint(1, 6)):
        place = draw.randrange(len(content) + 1)
        way = draw.randrange(6)
        if way == 0:
            del content[place:]
        elif way == 1 and content:
            content[place % len(content)] ^= 1 << draw.randrange(8)
        elif way == 2:
            content[place:place] = draw.choice(PIECES)
        elif way == 3:
            content[place : place + draw.randint(1, 9)] = draw.choice(PIECES)
        elif way == 4:
            content[place:place] = content[draw.randrange(len(content) + 1) :][:64]
        elif draw.random() < 0.1:
            content = bytearray(draw.randbytes(draw.randint(0, 200)))
    return bytes(content)


def _overwritten(content: bytearray, draw: random.Random) -> bytes:
    """The same number of bytes, some of them others."""
    for _ in range(draw.randint(1, 6)):
        place, way = draw.randrange(len(content)), draw.randrange(4)
        if way == 0:
            content[place] ^= 1 << draw.randrange(8)
        elif way == 1:
            content[place] = draw.choice((0, 1, 0x7F, 0x80, 0xFF))
        else:
            size = min(draw.choice((2, 4, 8, 64)), len(content) - place)
            other = draw.randrange(len(content) - size + 1)
            content[place : place + size] = content[other : other + size] if way == 2 else b"\xff" * size
    return bytes(content)


def survives(parser: Parser, content: bytes, folder: Path) -> str:
    """Give a parser a file: ``taken`` or ``refused``; whatever else it raises is let through."""
    path = folder / parser.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    try:
        parser.parse(path)
    except ZooError:
        return "refused"
    return "taken"
