"""Say what a file is that is no picture of a known kind, and how to make pictures of it."""

import shlex
from pathlib import Path

_HEIC = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
_AVIF = (b"avif", b"avis")
# First bytes of videos: AVI, Matroska and WebM, MPEG, Flash, Ogg, Windows Media.
_VIDEOS = (b"\x1aE\xdf\xa3", b"\0\0\x01\xba", b"\0\0\x01\xb3", b"FLV", b"OggS", b"0&\xb2u\x8ef\xcf\x11")
_DOCUMENTS = {b"%PDF": "a PDF document", b"%!PS": "a PostScript document", b"<svg": "an SVG drawing", b"<?xml": "XML"}


def describe(path: Path) -> str:
    """Return why a file cannot be decoded, in words that follow its name."""
    with path.open("rb") as stream:
        head = stream.read(189)
    name = shlex.quote(path.name)
    brand = head[8:12] if head[4:8] == b"ftyp" else b""
    if brand in _HEIC or (not brand and path.suffix.lower() in (".heic", ".heif")):
        jpeg = shlex.quote(f"{path.stem}.jpg")
        commands = f"`sips -s format jpeg {name} --out {jpeg}` on macOS, `heif-convert {name} {jpeg}` elsewhere"
        return f"it is HEIC, which cannot be read here; save it as JPEG: {commands}"
    if brand in _AVIF:
        return "it is AVIF, which this Pillow cannot read; save it as JPEG or PNG"
    if brand or _is_video(head):
        return f"it is a video; make pictures of its frames: mkdir frames && ffmpeg -i {name} frames/%05d.png"
    for first, kind in _DOCUMENTS.items():
        if head.lstrip().startswith(first):
            return f"it is {kind}; save it as PNG"
    return "its content is not that of a picture of a known kind"


def _is_video(head: bytes) -> bool:
    transport_stream = len(head) > 188 and head[0] == head[188] == 0x47
    avi = head.startswith(b"RIFF") and head[8:12] == b"AVI "
    return head.startswith(_VIDEOS) or transport_stream or avi
