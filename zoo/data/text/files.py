"""Read text files and archives of them, with strict checks of encoding and archive members.

Nothing is unpacked to the disk: archive members are read in memory, one by one.
"""

import codecs
import gzip
import io
import lzma
import os
import shlex
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from zoo.core import formats
from zoo.core.errors import ZooError
from zoo.core.files import files_below, storage_error, storage_errors
from zoo.core.paths import existing_input
from zoo.data.text import encodings, foreign_formats

MOST_BYTES = 2 << 30
# Longest line of a table. A long line of JSON may hold many rows.
MOST_LINE = 16 << 20
PACKED = ".gz"
_DAMAGE = (tarfile.TarError, lzma.LZMAError, gzip.BadGzipFile, zlib.error, EOFError)


def data_root(root: str | None, expected: str) -> Path:
    """Return the path that ``data.root`` names; ``expected`` describes it for the error."""
    if not root:
        raise ZooError("data.root is missing", f"Give data.root=PATH: {expected}.")
    return existing_input(root, f"Name {expected}.")


def decode(content: bytes, encoding: str, name: str) -> tuple[str, str]:
    """Return the text of a file, without a byte-order mark, and its encoding, which ``auto`` detects."""
    foreign_formats.refuse_content(content, name, "a text")
    chosen = encodings.detect(content) if encoding == encodings.AUTO else encoding
    try:
        if codecs.lookup(chosen).name in encodings.NOT_PLAIN:
            raise LookupError(chosen)
        text = content.decode("utf-8-sig" if chosen.lower() in ("utf-8", "utf8") else chosen)
    except UnicodeDecodeError as error:
        raise _undecodable(content, error, name) from error
    except LookupError as error:
        raise ZooError(
            f"There is no encoding of texts called {encoding!r}",
            "Give data.encoding=auto, utf-8, utf-16, cp1252, or latin-1.",
        ) from error
    nul = text.find("\0")
    if nul >= 0:
        line = text.count("\n", 0, nul) + 1
        raise ZooError(
            f"{name}, line {line}: a NUL byte, which texts do not contain",
            "Check that the file is text. If it is UTF-16, add data.encoding=utf-16.",
        )
    return text.removeprefix("\ufeff"), chosen


def _undecodable(content: bytes, error: UnicodeDecodeError, name: str) -> ZooError:
    line = content.count(b"\n", 0, error.start) + 1
    column = error.start - content.rfind(b"\n", 0, error.start)
    proposed = " or ".join(f"data.encoding={name}" for name in encodings.proposed(content))
    remedy = f"Save the file as UTF-8, or give its encoding, such as {proposed}." if proposed else "Save it as UTF-8."
    count = encodings.damage(content, error.encoding)
    if 100 * count < len(content) and not (proposed and error.encoding == "utf-8"):
        drop = f"iconv -c -f {error.encoding} -t UTF-8 {shlex.quote(name)} > clean.txt"
        remedy = f"Damaged bytes: {count:,}. Correct them, or drop them: {drop}"
    return ZooError(
        f"{name}, line {line}: byte {content[error.start]:#04x} in place {column} is not {error.encoding} "
        f"({error.reason})",
        remedy,
    )


def read(path: Path, encoding: str, longest: int = MOST_BYTES) -> tuple[str, str]:
    """Return the text of a file, perhaps a ``.gz``, and its encoding; refuse longer lines, except in JSON."""
    try:
        require_size(path)
        with gzip.open(path) if path.suffix.lower() == PACKED else path.open("rb") as source:
            content = _content(path, source.read, longest)
    except _DAMAGE as error:
        raise ZooError(f"{path} is damaged or not packed by gzip: {error}", "Download it again.") from error
    except OSError as error:
        raise storage_error("read", path, error) from error
    return decode(content, encoding, str(path))


def require_size(path: Path) -> None:
    if path.stat().st_size > MOST_BYTES:
        raise ZooError(f"{path} has {path.stat().st_size:,} bytes", f"The most is {MOST_BYTES:,}: cut it.")


def _require_text_size(name: object, size: int) -> None:
    if size > MOST_LINE:
        raise ZooError(f"{name} has {size:,} bytes, and a text at most {MOST_LINE:,}", "Cut it, or move it.")


def _content(path: Path, next_piece: Callable[[int], bytes], longest: int) -> bytes:
    """Read in pieces, because a small file may unpack to more than the memory."""
    content, size, line = io.BytesIO(), 0, 0
    while piece := next_piece(1 << 20):
        if not size and piece[:64].removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"[", b"{"):
            longest = MOST_BYTES
        size += content.write(piece)
        line = 0 if b"\n" in piece or b"\r" in piece else line + len(piece)
        if size > MOST_BYTES:
            raise ZooError(f"{path} unpacks to more than {MOST_BYTES:,} bytes", "Cut it into smaller ones.")
        if line > longest:
            number = content.getvalue().count(b"\n") + 1
            raise ZooError(f"{path}, line {number:,}: it is longer than {longest:,} bytes", "Cut or remove the line.")
    return content.getvalue()


def lines(text: str) -> list[str]:
    """Split a text at line ends of any system; the last line may lack its end."""
    if "\n" not in text:
        text = text.replace("\r", "\n")
    parts = [line.rstrip("\r") for line in text.split("\n")]
    return parts[:-1] if parts[-1] == "" else parts


def iter_folder(folder: Path, suffix: str) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """Yield (parts of the path, content) of the files below a folder, sorted; follow links, skip hidden files."""

    def failed(closed: Path, error: OSError) -> None:
        raise storage_error("read", closed, error) from error

    def twice(link: Path, reached: str) -> None:
        raise ZooError(
            f"{link} is a link to {reached}, whose texts are read there already",
            "Which class or part would they be of? Remove the link, or move the folder out of there.",
        )

    for parts in sorted(tuple(name.split("/")) for name in files_below(folder, failed, twice)):
        path = folder.joinpath(*parts)
        # Inaccessible files are reported when read; pipes and devices never end.
        if parts[-1].lower().endswith(suffix) and (os.path.isfile(path) or not os.path.exists(path)):
            with storage_errors("read", path):
                _require_text_size(path, path.stat().st_size)
                yield parts, path.read_bytes()


def iter_archive(archive: Path, suffix: str) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """Yield (parts of the path, content) of the files in a tar archive, plain or compressed, in its order."""
    total = 0
    try:
        # Not as a stream ("r|*"), in which a truncated archive looks like a shorter one.
        with tarfile.open(archive, "r:*") as opened:
            for member in opened:
                parts = _checked(archive, member)
                total += member.size
                if total > MOST_BYTES:
                    raise ZooError(f"{archive} unpacks to more than {MOST_BYTES:,} bytes", "Cut it into smaller ones.")
                hidden = any(part.startswith(".") for part in parts)
                content = opened.extractfile(member) if member.isfile() and not hidden else None
                if content is not None and member.name.lower().endswith(suffix):
                    _require_text_size(f"{archive}: {member.name}", member.size)
                    yield parts, content.read()
    except _DAMAGE as error:
        with archive.open("rb") as stream:
            head = stream.read(formats.HEAD_BYTES)
        if (kind := formats.find(head=head, use="texts")) and kind.group != "archive":
            foreign_formats.refuse_content(head, str(archive), "a folder or a tar archive")
        remedy = "Download it again. A table is read by data=text_table."
        message = f"The archive {archive} is damaged or is none: {str(error).splitlines()[0]}"
        raise ZooError(message, remedy) from error
    except OSError as error:
        raise storage_error("read", archive, error) from error


def _checked(archive: Path, member: tarfile.TarInfo) -> tuple[str, ...]:
    path = PurePosixPath(member.name)
    parts = tuple(part for part in path.parts if part != ".")
    defect = None
    if path.is_absolute() or ".." in parts or "\\" in member.name or ":" in member.name.partition("/")[0]:
        defect = "its name leads out of the archive"
    elif not (member.isfile() or member.isdir()):
        defect = f"it is a link to {member.linkname!r}" if member.issym() or member.islnk() else "it is a device"
    if defect:
        raise ZooError(
            f"{archive} contains {member.name!r}: {defect}. The archive was not used",
            "Archive plain files only, or unpack it and give the folder.",
        )
    return parts
