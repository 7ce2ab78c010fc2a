"""Read the rows of ``configs/data``: each data set's content, source, and the part to use."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from zoo.core import paths, schema
from zoo.core.errors import ZooError, unknown

ROLES = ("train_images", "train_labels", "test_images", "test_labels")
KINDS = ("idx", "bundled", "folder", "auto")


@dataclasses.dataclass
class SourceFile:
    """A published file: its name, checksums as published and unpacked, and its length."""

    name: str = ""
    sha256: str = ""
    sha256_plain: str = ""
    bytes: int = 0


@dataclasses.dataclass
class DataRow:
    """The ``data`` block of ``configs/data/NAME.yaml``."""

    name: str = ""
    about: str = ""
    kind: str = "auto"
    root: str | None = None
    train_limit: int | None = None
    test_limit: int | None = None
    validation: float = 0.1
    class_names: list[str] = dataclasses.field(default_factory=list)
    files: dict[str, SourceFile] = dataclasses.field(default_factory=dict)
    mirrors: list[str] = dataclasses.field(default_factory=list)
    licence: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        """Convert the values from YAML; null means none."""
        self.files = {role: _source_file(role, file) for role, file in (self.files or {}).items()}
        self.mirrors = list(self.mirrors or [])
        self.class_names = [str(name) for name in self.class_names or []]


def _source_file(role: str, values: SourceFile | Mapping[str, Any]) -> SourceFile:
    if isinstance(values, SourceFile):
        return values
    keys = [field.name for field in dataclasses.fields(SourceFile)]
    if not isinstance(values, Mapping) or set(values) != set(keys):
        raise ZooError(f"data.files.{role} is {values!r}", f"It must have the keys {', '.join(keys)}.")
    return SourceFile(**values)


def names() -> list[str]:
    """List the image data sets in ``configs/data``, without those of texts."""
    rows = {path.stem: schema.read_yaml(path)["data"] for path in (paths.CONFIGS / "data").glob("*.yaml")}
    return sorted(name for name, row in rows.items() if row["kind"] != "text")


def load_row(name: str) -> DataRow:
    if name not in names():
        raise unknown("data set", name, names())
    return as_row(schema.read_yaml(paths.CONFIGS / "data" / f"{name}.yaml")["data"])


def as_row(values: DataRow | Mapping[str, Any]) -> DataRow:
    keys = [field.name for field in dataclasses.fields(DataRow)]
    if not isinstance(values, DataRow) and not set(values) <= set(keys):
        raise unknown("option of data", sorted(set(values) - set(keys))[0], keys)
    row = values if isinstance(values, DataRow) else DataRow(**values)
    wrong = problems(row)
    if wrong:
        raise ZooError("\n".join(wrong), "Give these options of data= other values.")
    return row


def problems(row: DataRow) -> list[str]:
    wrong = [
        f"data.{key} is {limit}; it must be at least 1, or null for all"
        for key, limit in (("train_limit", row.train_limit), ("test_limit", row.test_limit))
        if limit is not None and limit < 1
    ]
    if not 0.0 <= row.validation < 1.0:
        wrong.append(f"data.validation is {row.validation}; it must be a share, 0 or more and below 1")
    if row.kind not in KINDS:
        wrong.append(f"data.kind is {row.kind!r}; it must be one of {', '.join(KINDS)}")
    if row.kind == "idx" and set(row.files) != set(ROLES):
        wrong.append(f"data.files names {', '.join(row.files) or 'nothing'}; it must name {', '.join(ROLES)}")
    if not row.class_names and row.kind != "folder":
        wrong.append("data.class_names is empty; it must name each class")
    if row.kind == "bundled" and row.root is not None:
        wrong.append(f"data.root is {row.root!r}, but {row.name} comes with scikit-learn and reads no folder")
    return wrong + [text for role, file in row.files.items() for text in _file_problems(role, file)]


def _file_problems(role: str, file: SourceFile) -> list[str]:
    wrong = [
        f"data.files.{role}.{key} is {value!r}; it must be 64 hexadecimal digits"
        for key, value in (("sha256", file.sha256), ("sha256_plain", file.sha256_plain))
        if not re.fullmatch("[0-9a-f]{64}", str(value))
    ]
    if not isinstance(file.name, str) or not file.name:
        wrong.append(f"data.files.{role}.name is {file.name!r}; it must be the name of a file")
    if not isinstance(file.bytes, int) or file.bytes < 1:
        wrong.append(f"data.files.{role}.bytes is {file.bytes!r}; it must be a whole number")
    return wrong
