"""Identify files that are not images of a known kind, and explain how to convert them."""

import functools
import itertools
import os
import re
import shlex
from pathlib import Path

from zoo.core import formats, paths
from zoo.core.arrays import Image
from zoo.core.files import files_below
from zoo.data import datasets

_HEIC = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
_AVIF = (b"avif", b"avis")
# Number of bytes at each end of a file that may be large.
END_BYTES = 1 << 16
# Suffixes of backups, annotations, programs and logs. Their files are not opened: there may be one for each image.
_OTHER = re.compile(r"\.(bak|old|orig|te?mp|swp|xml|ini|log|py|pth?|mhd|xmp)|.*~")
# What users write for a camera, or for a stream of images.
_CAMERA = re.compile(r"(camera|webcam)(:\d+)?|/dev/video\d+|\d|(rtsp|rtmp|udp)://.*", re.IGNORECASE)


def frames_of(name: str) -> str:
    return f"mkdir frames && ffmpeg -i {shlex.quote(name)} -vf fps=1 frames/%05d.png"


def moving(source: str) -> tuple[str, str] | None:
    """Return the kind of a video or a word such as ``camera``, and how to get images from it, or None."""
    path = Path(source)
    if re.match("https?://", source):  # reported as an address
        return None
    if ((kind := formats.find(path.name)) and kind.group == "video") or begins_like(path, "video"):
        return f"{source} is a video, and images are classified", f"Make images of its frames: {frames_of(source)}"
    if _CAMERA.fullmatch(source) and not path.is_file() and not path.is_dir():
        what = f"{source} is a camera or a stream, and images are classified"
        return what, f"Record some of it as a video, and make images of its frames: {frames_of('clip.mp4')}"
    return None


def instead(folder: Path) -> tuple[str, str] | None:
    """Return what a folder without images contains, to follow "images", and what to do, or None if it is empty."""
    names = list(itertools.islice(files_below(folder, lambda *_: None), 200))
    if not names:
        return None
    kinds, rows = [_kind(folder / name) for name in names], formats.rows()
    kind = max(filter(None, kinds), key=lambda row: (kinds.count(row), -rows.index(row)), default=None)
    about, remedy = (
        (kind.about, kind.remedies["images"]) if kind else ("not an image", "Write each image as a PNG file.")
    )
    name = names[kinds.index(kind)]
    labels = datasets.table_remedy(folder / name) if kind and kind.group == "table" else ""
    return f", but files such as {name}, which is {about}", labels or remedy


def of_file(path: Path) -> tuple[str, str]:
    """Return what a file is that was given instead of a folder of images, and what to do."""
    if begins_like(path, "image"):
        return "is an image, not a folder", "Give the folder that contains the folders of the classes."
    kind, by_content = _kind(path), formats.find(head=head_of(path), use="images")
    what, known = (f"is {kind.about}, not a folder", kind.remedies["images"]) if kind else ("is a file", "")
    # Only the content excludes that a file with the suffix of a table holds labels.
    return what, known if kind and kind is by_content else datasets.table_remedy(path) or known


@functools.cache
def has_suffix(suffix: str) -> bool:
    """Return whether a suffix in lower case belongs to a known format, or to a file next to images."""
    return bool(_OTHER.fullmatch(suffix) or formats.find("name" + suffix))


def _kind(path: Path) -> formats.Format | None:
    return formats.find(path.name, head_of(path), use="images")


def head_of(path: str | Path, size: int = formats.HEAD_BYTES) -> bytes:
    """Return the first bytes of a file; none if it cannot be read, or is a pipe, which may never end."""
    try:
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as stream:
            return stream.read(size)
    except OSError:
        return b""


def ends_of(path: Path) -> bytes:
    """Return the beginning and the end of a file, which may be large; raise OSError if it cannot be read."""
    with path.open("rb") as stream:
        head = stream.read(END_BYTES)
        stream.seek(max(len(head), path.stat().st_size - END_BYTES))
        return head + stream.read()


def begins_like(path: str | Path, group: str) -> bool:
    """Return whether a file can be read and begins like a format of a group, such as ``image``."""
    kind = formats.find(head=head_of(path))
    return kind is not None and kind.group == group


def describe(path: Path) -> str:
    """Return why a file cannot be decoded, to follow its name."""
    head, name = head_of(path), shlex.quote(path.name)
    brand = head[8:12] if head[4:8] == b"ftyp" else b""
    if brand in _HEIC or (not brand and path.suffix.lower() in (".heic", ".heif")):
        jpeg = shlex.quote(f"{path.stem}.jpg")
        commands = f"`sips -s format jpeg {name} --out {jpeg}` on macOS, `heif-convert {name} {jpeg}` elsewhere"
        if "HEIF" in Image.OPEN:
            return "it is HEIC, but damaged"
        return f"it is HEIC. To read it, run `{paths.install_command('heic')}`, or save it as JPEG: {commands}"
    if brand in _AVIF:
        return "it is AVIF, which this Pillow cannot read; save it as JPEG or PNG"
    known = formats.find(head=head.lstrip()) or formats.find(head=head)
    if known and known.group == "video":
        return f"it is a video; extract its frames: mkdir frames && ffmpeg -i {name} frames/%05d.png"
    if head.startswith((b"II*\0", b"MM\0*")):
        return "it is a TIFF that cannot be read, such as one of more than 4 bands; save it as 8-bit RGB"
    if known and known.group != "image":
        return f"it is {known.about}; {known.remedies.get('files', 'it is not an image')}"
    return "it is not an image of a supported format"
