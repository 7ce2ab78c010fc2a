"""Published weights of the feature networks: downloaded once, checked then and ever after."""

from pathlib import Path
from typing import Any

from zoo.core import console, paths, schema
from zoo.core.download import fetch
from zoo.core.errors import ZooError
from zoo.core.files import file_sha256, storage_error

TABLE = paths.CONFIGS / "weights" / "features.yaml"


def table() -> dict[str, Any]:
    """What is published, by network, as in ``configs/weights/features.yaml``."""
    found: dict[str, Any] = schema.read_yaml(TABLE)
    return found


def kept(network: str) -> Path | None:
    """The file where it is at hand: what the zoo downloaded, else what Keras once did for the user."""
    name = table()[network]["file"]
    if (_folder() / name).is_file():
        return fetched(network)
    keras = Path.home() / ".keras" / "models" / name
    return keras if keras.is_file() else None


def fetched(network: str) -> Path:
    """The file, downloaded if it is not there.

    Raises:
        ZooError: it cannot be downloaded, or is not what was published.
    """
    row = table()[network]
    checksum = row["checksum"].get("sha256") or row["checksum"]["md5"]
    try:
        path = fetch(row["file"], [row["address"] + row["file"]], checksum, _folder(), row["bytes"])
    except ZooError as error:
        raise ZooError(
            error.message,
            f"{error.remedy}\nOr get {row['address']}{row['file']} yourself and name it: feature_weights=FILE; "
            "or use features=random, which needs none.",
        ) from error
    return _remembered(path, network)


def _folder() -> Path:
    return paths.cache_dir() / "downloads" / "features"


def _remembered(path: Path, network: str) -> Path:
    """The same path, if the file is still what it was when it came.

    Where only an md5 was published, which a forger can meet, the sha256 at the first sight is noted beside the file.

    Raises:
        ZooError: it is another file now.
    """
    published = table()[network]["checksum"].get("sha256")
    note, found = path.with_name(path.name + ".sha256"), file_sha256(path)
    try:
        wanted = published or (note.read_text(encoding="ascii").strip() if note.exists() else None)
        if wanted is None:
            note.write_text(found + "\n", encoding="ascii")
            console.say(f"{path.name} has the md5 that Keras knows; its sha256, {found}, must stay from now on")
    except (OSError, UnicodeDecodeError) as error:
        raise storage_error("write", note, error) from error
    if wanted not in (None, found):
        raise ZooError(
            f"{path} is no longer the file that was downloaded: its sha256 was {wanted} and is {found}",
            f"Remove it and {note.name}, and it is fetched anew.",
        )
    return path
