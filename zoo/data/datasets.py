"""Read the rows of ``configs/data``: each data set's content, source, and the part to use."""

import dataclasses
import re
import shlex
from pathlib import Path

from zoo.core import paths, schema
from zoo.core.errors import unknown

# Suffixes of tables of labels.
TABLES = (".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson")


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


def names() -> list[str]:
    """List the image data sets in ``configs/data``."""
    rows = {path.stem: schema.read_yaml(path)["data"] for path in (paths.CONFIGS / "data").glob("*.yaml")}
    return sorted(name for name, row in rows.items() if row["kind"] != "text")


def table_remedy(path: Path) -> str:
    """Return the command that reads labels from a table or a JSON list, or an empty string for other files."""
    suffix = path.suffix.lower()
    known = path.is_file() and (suffix in TABLES or (suffix == ".json" and _is_list(path)))
    return f"Read its labels with `data=image_table data.root={shlex.quote(str(path))}`" if known else ""


def table_command(
    kind: str, source: Path | list[Path], target: object, *options: str, images: Path | None = None, then: str = ""
) -> str:
    """Return the command of scripts/table_of.py that writes a table, or one next to the images, and its settings."""
    target = str(target or (images and images.resolve().with_name(f"{images.resolve().name}.csv")))
    sources = map(str, source if isinstance(source, list) else [source])
    command = shlex.join(("python", "scripts/table_of.py", kind, *sources, target, *options))
    of_images = f" data.images={shlex.quote(str(images))}" if images else ""
    return f"{command}\nThen give {'data=image_table ' * bool(images)}data.root={shlex.quote(target)}{of_images}{then}"


def _is_list(path: Path) -> bool:
    """Return whether a JSON file begins like a list of objects, which are rows of a table."""
    with path.open("rb") as file:
        return re.match(rb"\s*\[\s*\{", file.read(64)) is not None


def load_row(name: str) -> DataRow:
    if name not in names():
        raise unknown("data set", name, names())
    row = schema.read_yaml(paths.CONFIGS / "data" / f"{name}.yaml")["data"]
    return DataRow(**row | {"files": {role: SourceFile(**file) for role, file in row["files"].items()}})
