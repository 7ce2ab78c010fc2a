"""Read a long text in pieces, for constant memory use; no token crosses the end of a piece.

The line ends of all systems are read as one line feed.
"""

import codecs
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from zoo.core.files import storage_error
from zoo.data.text import encodings, files

# Approximate bytes or characters of a piece.
PIECE = 1 << 22
_BLANKS = " \t\r\n"
# Longer than any tag that `tokenization` removes.
_TAG = 256


def read_and_tell(path: Path, encoding: str) -> tuple[Callable[[], Iterator[str]], str]:
    """Like :func:`zoo.data.text.files.read`, but without loading all of a long UTF-8 file.

    Returns:
        A function that reads the text from its beginning on each call, and the encoding.
    """
    named = encoding.lower() in (encodings.AUTO, "utf-8", "utf8")
    try:
        if named and path.suffix.lower() != files.PACKED and path.stat().st_size > PIECE:
            files.require_size(path)
            for _ in _decoded(path):
                pass
            return lambda: _cut(_decoded(path)), "utf-8"
    except UnicodeError:
        pass  # another encoding, or not a text: the whole content decides
    except OSError as error:
        raise storage_error("read", path, error) from error
    text, chosen = files.read(path, encoding)
    text = io.IncrementalNewlineDecoder(None, translate=True).decode(text, final=True)
    return lambda: _cut([text]), chosen


def _decoded(path: Path) -> Iterator[str]:
    """Decode a file; raise UnicodeError if it is not UTF-8 or contains a NUL byte."""
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8-sig")("strict"), translate=True)
    begins = True
    with path.open("rb") as source:
        while content := source.read(PIECE):
            text = decoder.decode(content)
            if "\0" in text:
                raise UnicodeError("a NUL byte")
            yield text.removeprefix("\ufeff") if begins else text
            begins = False
    yield decoder.decode(b"", final=True)


def _cut(chunks: Iterable[str]) -> Iterator[str]:
    """Cut a text, read in chunks, between tokens."""
    parts: list[str] = []
    size, wanted = 0, PIECE
    for part in chunks:
        parts.append(part)
        size += len(part)
        if size < wanted:
            continue
        text, begin = "".join(parts), 0
        while len(text) - begin >= PIECE and (place := _place(text, begin, min(len(text), begin + 2 * PIECE))):
            yield text[begin:place]
            begin = place
        parts = [text[begin:]]
        size = len(parts[0])
        wanted = max(PIECE, 2 * size)  # there may be no blank for long
    if size:
        yield "".join(parts)


def _place(text: str, begin: int, end: int) -> int:
    """Return the start of the last blanks before ``end``, preferably with a line end, or 0.

    BPE joins a blank to the next word; tags, which word tokenization removes, contain blanks but no line end.
    """
    for sign in "\n ":
        last = end
        while (place := text.rfind(sign, begin + 1, last)) > begin:
            while place > begin and text[place - 1] in _BLANKS:
                place -= 1
            in_tag = sign == " " and "<" in text[max(begin, place - _TAG) : place]
            if place > begin and not text[place - 1].isspace() and not in_tag:
                return place
            last = place
    return 0
