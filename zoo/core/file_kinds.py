"""Recognize models and weights of any origin by their content, never by their name.

Files may come from third parties: only their first bytes, lists of members and top-level fields are read.
"""

import mmap
import os
import re
import shlex
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from zoo.core import formats
from zoo.core.errors import ZooError
from zoo.core.files import storage_errors

HDF5 = b"\x89HDF\r\n\x1a\n"
# The numbers of the fields of ModelProto: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
_ONNX_FIELDS = (1, 2, 3, 4, 5, 6, 7, 8, 14, 20, 25, 26)
_HEADS = {
    b"version https://git-lfs": "lfs", b"<!doctype html": "page", b"<html": "page", b"<": "xml",
    b"\x93numpy": "array", b"\x80": "pickle", b"\x1f\x8b": "gzip", b"\x08\x01\x12": "graph",
    b'{"format": "layers-model"': "tfjs", b'{"format":"layers-model"': "tfjs", b'{"modeltopology"': "tfjs",
    b'{"class_name": "': "config", b'{"module": "keras': "config",
}  # fmt: skip
# Smallest number of a field that contains a model in a Core ML file.
_CORE_ML = 200
MODELS = ("keras", "hdf5_model")
# Models without layers: a runtime runs them unchanged, and they are never trained.
FROZEN = ("saved_model", "saved_model_keras2", "saved_model_keras3", "tflite", "onnx")
WEIGHTS = (*MODELS, "weights_keras2", "weights_keras3", "hdf5", "safetensors", "npz")

_ARRAYS = (*WEIGHTS, "torch", "pickle")


@dataclass(frozen=True)
class FileKind:
    """The kind of a file or folder.

    Attributes:
        word: key of the description in ``formats.yaml``.
        inside: the model in a folder or archive that is not a model itself; empty without one.
    """

    path: Path
    word: str
    inside: str = ""
    detail: str = ""
    known: formats.Format | None = None

    @property
    def about(self) -> str:
        inner = f" that contains {self.detail}" if self.detail and self.inside else self.detail
        return self.known.about if self.known else f"{formats.models()[self.word]['about']}{inner}"

    def refusal(self, setting: str) -> ZooError:
        """Return the error for a file that ``setting``, which is model or weights, does not accept."""
        return ZooError(f"{self.path} is {self.about}", self._remedy(setting))

    def _remedy(self, setting: str) -> str:
        path, inside = shlex.quote(str(self.path)), shlex.quote(str(self.path / self.inside))
        if self.word == "run":
            return f"Give weights={inside}." if setting == "weights" else f"Give run={path} instead of model=."
        if setting == "weights" and self.detail in [formats.models()[word]["about"] for word in FROZEN]:
            return "Give the Keras model that it was made from, .keras or .h5."
        if self.word == "zip" and self.inside:
            folder = shlex.quote(str(self.path.with_suffix("")))
            member = shlex.quote(str(self.path.with_suffix("") / self.inside))
            return f"Unpack it: python -m zipfile -e {path} {folder}\nThen give {setting}={member}."
        if self.inside:
            return f"Give {setting}={inside}."
        if self.word in FROZEN:
            more = f" `python -m zoo infer model={path}` uses this one unchanged."
            return f"Give the Keras model that it was made from, .keras or .h5.{more}"
        if self.word in WEIGHTS:
            return f"Name the network of these weights: model=NAME weights={path}\n{self._whole()}"
        own = self.known.remedies.get("models") if self.known else formats.models()[self.word].get("do")
        return (own or formats.models()["unknown"]["do"]).format(
            path=path, folder=shlex.quote(str(self.path.parent)), name=shlex.quote(self.path.name)
        )

    def _whole(self) -> str:
        """Return how to get a whole model from weights."""
        if self.word == "safetensors":
            folder = shlex.quote(str(self.path.parent))
            convert = f"optimum-cli export onnx --task image-classification --model {folder} FOLDER"
            return (
                'Export a model of PyTorch where it was made: torch.onnx.export(model, images, "model.onnx"). For '
                f'one of Hugging Face: pip install "optimum-onnx[onnxruntime]" && {convert}'
            )
        candidates = [self.path.with_suffix(".json"), *sorted(self.path.parent.glob("*.json"))]
        of_keras = self.word in ("weights_keras2", "weights_keras3")
        files = (file for file in candidates if of_keras and file.is_file() and of(file).word == "config")
        if file := next(files, None):
            suffix, stack = ("keras", "tf-2.21") if self.word == "weights_keras3" else ("h5", "tf-2.12")
            code = (
                f"import keras; model = keras.models.model_from_json(open({str(file)!r}).read()); "
                f"model.load_weights({str(self.path)!r}); model.save('joined.{suffix}')"
            )
            return f"Or join them with {file.name}: python -m zoo run stack={stack} -c {shlex.quote(code)}"
        return "For a network of your own, save the whole model where it was made: model.save('model.keras')."


def of(path: Path) -> FileKind:
    """Recognize an existing file or folder."""
    with storage_errors("read", path):
        if path.is_dir():
            return _of_folder(path)
        with path.open("rb") as stream:
            head, size = stream.read(formats.HEAD_BYTES), path.stat().st_size
            word = _of_head(head, size)
            if word == "hdf5":
                return FileKind(path, _of_hdf5(stream))
            fields = _fields(stream, size) if word in ("unknown", "graph") else set[int]()
            if fields <= set(_ONNX_FIELDS) and fields >= {1, 7, 8}:
                return FileKind(path, "onnx")
            word = "unknown" if max(fields, default=0) >= _CORE_ML else word
        if word in ("unknown", "xml"):
            text = "; it is text" if word == "unknown" and head.isascii() and b"\0" not in head else ""
            known = formats.find(head=head) or formats.find(path.name, use="models")
            return FileKind(path, word, detail=text, known=known)
        return _of_archive(path) if word == "zip" else FileKind(path, word)


def _of_folder(path: Path) -> FileKind:
    if (path / "saved_model.pb").is_file():
        if (path / "keras_metadata.pb").is_file():
            return FileKind(path, "saved_model_keras2")
        with (path / "saved_model.pb").open("rb") as stream:
            is_keras3 = _contains(stream, b"serve_keras_tensor", b"_misc_assets")
        return FileKind(path, "saved_model_keras3" if is_keras3 else "saved_model")
    if (path / "run.json").is_file():
        return FileKind(path, "run", "weights.npz" if (path / "weights.npz").is_file() else "")
    if (path / "model.json").is_file() and (any(path.glob("*shard*")) or (path / "weights.bin").is_file()):
        return FileKind(path / "model.json", "tfjs")
    if (path / "config.json").is_file() and (path / "model.weights.h5").is_file():
        return FileKind(path, "kerashub" if (path / "task.json").is_file() else "unpacked")
    word, other = "export" if (path / "export.json").is_file() else "folder", None
    for member in sorted([*path.glob("*"), *path.glob("*/model*"), *path.glob("*/_*METADATA")])[:200]:
        kind = of(member) if member.is_file() or (member / "saved_model.pb").is_file() else None
        if kind and kind.word in MODELS + FROZEN:
            return FileKind(path, word, str(member.relative_to(path)), kind.about)
        if kind and (kind.word in _ARRAYS or (kind.known and "models" in kind.known.remedies)):
            other = other if other and other.word in _ARRAYS else kind
    return other or FileKind(path, word, known=formats.find(path.name, use="models"))


def _of_head(head: bytes, size: int) -> str:
    """Return the word for a file or an archive member, from its first bytes."""
    if not head:
        return "empty"
    if head.startswith(HDF5):
        return "hdf5"
    if head[4:8] == b"TFL3":
        return "tflite"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= size - 8:
        return "safetensors"
    if head[:1] == head[2:3] == b"\n" and b"\x12\x0bPlaceholder" in head:
        return "frozen"
    text = head.lstrip().lower()
    return next((word for magic, word in _HEADS.items() if text.startswith(magic)), "unknown")


def _fields(stream: IO[bytes], size: int) -> set[int]:
    """Return the numbers of the top-level fields of a protocol buffer; empty if a file is not one."""
    place, numbers, steps = 0, set[int](), 0
    while place < size and steps < 1000:
        key, place = _varint(stream, place)
        length, place = _varint(stream, place)
        if not key >> 3 or key & 7 not in (0, 2):
            return set()
        numbers.add(key >> 3)
        place += length if key & 7 else 0
        steps += 1
    return numbers if place == size else set()


def _varint(stream: IO[bytes], place: int) -> tuple[int, int]:
    """Return a number from a protocol buffer, and the position after it."""
    stream.seek(place)
    value = 0
    for count, byte in enumerate(stream.read(10)):
        value |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            return value, place + count + 1
    return 0, place + 10


def _of_hdf5(stream: IO[bytes]) -> str:
    """Distinguish a whole model from weights by the names of attributes and groups."""
    if _contains(stream, b"model_config"):
        return "hdf5_model"
    if _contains(stream, b"layer_names"):
        return "weights_keras2"
    return "weights_keras3" if _contains(stream, b"vars\0") else "hdf5"


def _contains(stream: IO[bytes], *words: bytes) -> bool:
    if not os.fstat(stream.fileno()).st_size:  # which cannot be mapped
        return False
    with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return re.search(b"|".join(map(re.escape, words)), content) is not None


def _of_archive(path: Path) -> FileKind:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()[:100_000]
            names = [member.filename for member in members]
            if "config.json" in names:
                return FileKind(path, "keras")
            if any(name.endswith("/data.pkl") for name in names):
                return FileKind(path, "torch")
            if not names:
                return FileKind(path, "empty", detail=": a zip archive without files")
            if all(name.endswith(".npy") for name in names):
                return FileKind(path, "npz")
            return _inside_archive(path, archive, members)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError) as error:
        raise ZooError(f"{path} is a damaged zip archive: {error}", "Download it again.") from error


def _inside_archive(path: Path, archive: zipfile.ZipFile, members: list[zipfile.ZipInfo]) -> FileKind:
    for member in members:
        folder, _, name = member.filename.rpartition("/")
        if name == "saved_model.pb":
            return FileKind(path, "zip", folder or ".", formats.models()["saved_model"]["about"])
    for member in (each for each in members[:200] if not each.is_dir()):
        with archive.open(member) as stream:
            word = _of_head(stream.read(formats.HEAD_BYTES), member.file_size)
        suffix = member.filename.rpartition(".")[2].lower()
        if word in ("hdf5", "tflite", "safetensors") or suffix in ("keras", "onnx", "npz"):
            return FileKind(path, "zip", member.filename, member.filename)
    return FileKind(path, "zip")
