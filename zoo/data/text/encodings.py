"""Detect the encoding of a text: by its byte-order mark, UTF-8 if valid, else a Windows encoding."""

import codecs
import re

AUTO = "auto"
# UTF-32 first: its mark begins with the mark of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_HIGH = bytes(range(0x80, 0x100))
_LETTERS = bytes(range(0x41, 0x5B)) + bytes(range(0x61, 0x7B))
_UTF8_SIGN = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_UNUSED_IN_CP1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_RUNS = re.compile(rb"[\x80-\xff]{4,}")
_SAMPLE = 1 << 16
# Largest share of accented letters in a text in a Western language.
_MOST_ACCENTS = 0.5
# Codecs that Python counts as encodings, for host names and for source code.
NOT_PLAIN = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")


def detect(content: bytes) -> str:
    """Return the encoding of a text, or ``utf-8`` if it cannot be detected; decoding then fails."""
    for mark, name in _MARKS:
        if content.startswith(mark):
            return name
    if b"\0" in content[:_SAMPLE]:
        return _unmarked_utf16(content[:_SAMPLE]) if len(content) % 2 == 0 else "utf-8"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return _of_one_byte(content)
    return "utf-8"


def proposed(content: bytes) -> list[str]:
    """Return at most two likely encodings of a text, the most likely first; none for damaged UTF-8."""
    if _is_mostly_utf8(content):
        return []
    import charset_normalizer

    lines = content[: content.rfind(b"\n", 0, _SAMPLE) + 1] or content
    likely = [match.encoding for match in charset_normalizer.from_bytes(lines)][:2]
    return likely or sorted(("gb18030", "shift_jis", "euc-kr"), key=lambda name: damage(lines, name))[:2]


def damage(content: bytes, encoding: str) -> int:
    """Return the number of places that are not valid in an encoding."""
    return content.decode(encoding, "replace").count("\ufffd")


def _is_mostly_utf8(content: bytes) -> bool:
    in_signs = len(content) - len(_UTF8_SIGN.sub(b"", content))
    return in_signs > _count(content, _HIGH) - in_signs


def _unmarked_utf16(sample: bytes) -> str:
    """Detect UTF-16 by its zeros, which are every other byte of Western letters."""
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) * 4 < len(sample) or min(even, odd) * 20 > max(even, odd):
        return "utf-8"
    return "utf-16-le" if odd > even else "utf-16-be"


def _of_one_byte(content: bytes) -> str:
    """Distinguish a Western text from damaged UTF-8, and from another script."""
    high = _count(content, _HIGH)
    in_runs = sum(map(len, _RUNS.findall(content)))  # words of another script
    foreign = high > _MOST_ACCENTS * (high + _count(content, _LETTERS)) or in_runs > _MOST_ACCENTS * high
    if foreign or _is_mostly_utf8(content):
        return "utf-8"
    return "latin-1" if _UNUSED_IN_CP1252.search(content) else "cp1252"


def _count(content: bytes, kinds: bytes) -> int:
    return len(content) - len(content.translate(None, kinds))
