"""Identify files that are not images of a known kind, and explain how to convert them."""

import itertools
import re
import shlex
from pathlib import Path

from zoo.core import paths
from zoo.core.arrays import Image
from zoo.core.files import files_below

_HEIC = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
_AVIF = (b"avif", b"avis")
# First bytes of videos: AVI, Matroska and WebM, MPEG, Flash, Ogg, Windows Media.
_VIDEOS = (b"\x1aE\xdf\xa3", b"\0\0\x01\xba", b"\0\0\x01\xb3", b"FLV", b"OggS", b"0&\xb2u\x8ef\xcf\x11")
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*")
_DOCUMENTS = {b"%PDF": "a PDF document", b"%!PS": "a PostScript document", b"<svg": "an SVG drawing", b"<?xml": "XML"}
_MISSING = {
    b"version https://git-lfs": "it is a pointer to a file that git-lfs did not fetch; run: git lfs pull",
    b"<!DOCTYPE": "it is a web page; download the image itself",
    b"<html": "it is a web page; download the image itself",
}
# What users write for a camera, or for a stream of images.
_CAMERA = re.compile(r"(camera|webcam)(:\d+)?|/dev/video\d+|\d|(rtsp|rtmp|udp)://.*", re.IGNORECASE)
VIDEO_SUFFIXES = (
    ".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg", ".ts", ".flv", ".ogv", ".wmv", ".3gp",
)  # fmt: skip


def frames_of(name: str) -> str:
    return f"mkdir frames && ffmpeg -i {shlex.quote(name)} -vf fps=1 frames/%05d.png"


def moving(source: str) -> tuple[str, str] | None:
    """Return the kind of a video, or of a word such as ``camera``, and how to make images of it, or None."""
    path = Path(source)
    if re.match("https?://", source):  # reported as an address
        return None
    if path.suffix.lower() in VIDEO_SUFFIXES or _is_video_file(path):
        return f"{source} is a video, and images are classified", f"Make images of its frames: {frames_of(source)}"
    if _CAMERA.fullmatch(source) and not path.is_file() and not path.is_dir():
        what = f"{source} is a camera or a stream, and images are classified"
        return what, f"Record some of it as a video, and make images of its frames: {frames_of('clip.mp4')}"
    return None


def _is_video_file(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            head = stream.read(189)
    except OSError:
        return False
    brand = head[8:12] if head[4:8] == b"ftyp" else b""
    return _is_video(head) or bool(brand and brand not in (*_HEIC, *_AVIF))


# Suffixes of files with images that are not image files, what they are, and what to do.
_OTHER = (
    ((".zip", ".tar", ".tgz", ".gz", ".rar", ".7z"), "an archive", "Unpack it, and give the folder."),
    (VIDEO_SUFFIXES, "a video", "Make images of the frames of each: ffmpeg -i FILE -vf fps=1 FOLDER/%05d.png"),
    ((".dcm", ".dicom", ".nii"), "a medical image", "Convert each to PNG, such as with dcm2img or ImageMagick."),
    (
        (".npy", ".npz", ".mat", ".pkl", ".tfrec", ".tfrecord", ".h5", ".hdf5", ".parquet", ".arrow", ".idx"),
        "an array or a table of images", "Write each image as a PNG file into a folder of its class.",
    ),
    (
        (".svg", ".eps", ".psd", ".jp2", ".jxl", ".tga", ".exr", ".pdf"), "an image of an unsupported format",
        "Convert each to PNG, such as with ImageMagick.",
    ),
    (
        (".cr2", ".cr3", ".nef", ".arw", ".dng", ".raf", ".rw2", ".orf"), "a raw photograph",
        "Convert each to JPEG, such as with darktable-cli or RawTherapee.",
    ),
    ((".csv", ".tsv"), "a table", "Write each image as a PNG file into a folder of its class."),
)  # fmt: skip


def instead(folder: Path) -> tuple[str, str] | None:
    """Return what a folder without images contains, to follow the word "images", and what to do; None if empty."""
    names = list(itertools.islice(files_below(folder, lambda *_: None), 200))
    if not names:
        return None
    known = [(name, *row[1:]) for row in _OTHER for name in names if name.lower().endswith(row[0])]
    name, kind, remedy = known[0] if known else (names[0], "not an image", "Write each image as a PNG or JPEG file.")
    return f", but files such as {name}, which is {kind}", remedy


def begins_like_an_image(path: str | Path) -> bool:
    try:
        with open(path, "rb") as stream:
            head = stream.read(16)
    except OSError:  # reported when it is decoded, if its name says that it is an image
        return False
    inner = head[8:12] if head[:4] == b"RIFF" or head[4:8] == b"ftyp" else b""
    return head.startswith(_IMAGES) or inner in (b"WEBP", *_HEIC, *_AVIF) or head[:2] + head[6:10] == b"BM" + bytes(4)


def describe(path: Path) -> str:
    """Return why a file cannot be decoded, to follow its name."""
    with path.open("rb") as stream:
        head = stream.read(189)
    name = shlex.quote(path.name)
    brand = head[8:12] if head[4:8] == b"ftyp" else b""
    if brand in _HEIC or (not brand and path.suffix.lower() in (".heic", ".heif")):
        jpeg = shlex.quote(f"{path.stem}.jpg")
        commands = f"`sips -s format jpeg {name} --out {jpeg}` on macOS, `heif-convert {name} {jpeg}` elsewhere"
        if "HEIF" in Image.OPEN:
            return "it is HEIC, but damaged"
        return f"it is HEIC. To read it, run `{paths.install_command('heic')}`, or save it as JPEG: {commands}"
    if brand in _AVIF:
        return "it is AVIF, which this Pillow cannot read; save it as JPEG or PNG"
    if brand or _is_video(head):
        return f"it is a video; extract its frames: mkdir frames && ffmpeg -i {name} frames/%05d.png"
    for first, reason in _MISSING.items():
        if head.lstrip().startswith(first):
            return reason
    for first, kind in _DOCUMENTS.items():
        if head.lstrip().startswith(first):
            return f"it is {kind}; save it as PNG"
    return "it is not an image of a supported format"


def _is_video(head: bytes) -> bool:
    transport_stream = len(head) > 188 and head[0] == head[188] == 0x47 and not head.startswith(b"GIF8")
    avi = head.startswith(b"RIFF") and head[8:12] == b"AVI "
    return head.startswith(_VIDEOS) or transport_stream or avi
