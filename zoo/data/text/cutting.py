"""Cut texts into tokens: the code that the program runs, and that ``export`` copies into ``predict.py``.

BPE is the exception: the program uses ``tokenizers``, which is faster and gives the same tokens.
"""

import json
import re
import unicodedata
from typing import Any, NamedTuple


class Cutting(NamedTuple):
    """The rules of a tokenizer; ``model.json`` of an export has the same fields.

    Attributes:
        tokenizer: ``characters``, ``words`` or ``bpe``.
        lowercase: convert letters to lower case first.
        word: regular expression of a token, for words.
        tag: regular expression of an HTML tag, which counts as a blank, for words.
        padding: number after the end of a text.
        unknown: number of every token that is not in the vocabulary.
    """

    tokenizer: str
    lowercase: bool
    # Words with their apostrophes, line ends, and every other character by itself.
    word: str = r"\w+(?:['\u2019]\w+)*|\n|[^\w\s]"
    tag: str = r"</?[A-Za-z][^<>\n]{0,200}>"
    padding: int = 0
    unknown: int = 1


def numbers_of(text: str, vocabulary: Any, how: Any) -> list[int]:
    """Return the number of each token; ``vocabulary`` is the content of ``vocabulary.json``."""
    numbers = {piece: number for number, piece in enumerate(vocabulary["pieces"])}
    pieces = merged(text, vocabulary["rules"], how) if how.tokenizer == "bpe" else pieces_of(text, how)
    return [numbers.get(piece, how.unknown) for piece in pieces]


def pieces_of(text: str, how: Any) -> list[str]:
    """Return the tokens of a text, as characters or words."""
    text = text.lower() if how.lowercase else text
    return list(text) if how.tokenizer == "characters" else re.findall(how.word, re.sub(how.tag, " ", text))


def bytes_of(pieces: list[str], how: Any) -> list[bytes]:
    """Return what each token of a vocabulary adds to a text."""
    if how.tokenizer == "bpe":
        return [piece.encode("latin-1") for piece in pieces]
    spaced = how.tokenizer == "words"
    return [
        b"",
        "\ufffd".encode(),
        *((" " * (spaced and bool(re.match(r"\w", piece))) + piece).encode() for piece in pieces[2:]),
    ]


def merged(text: str, rules: str, how: Any) -> list[str]:
    """Return the tokens of byte-level BPE, their bytes written as one character each.

    Words are cut as by GPT-2; ``rules`` is the JSON of Hugging Face's ``tokenizers``.
    """
    letters = byte_letters()
    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in json.loads(rules)["model"]["merges"]]
    ranks = {tuple("".join(chr(letters[c]) for c in part) for part in pair): rank for rank, pair in enumerate(pairs)}
    kinds = {"L": "a", "N": "0"}
    text = text.lower() if how.lowercase else text
    coded = "".join(
        c if c in " 'strevmld" else "\t" if c.isspace() else kinds.get(unicodedata.category(c)[0], "!") for c in text
    )
    pieces = []
    pattern = r"'(?:s|t|re|ve|m|ll|d)| ?[a-z]+| ?0+| ?['!]+|[ \t]+(?![^ \t])|[ \t]+"
    for match in re.finditer(pattern, coded):
        parts = [chr(byte) for byte in text[match.start() : match.end()].encode()]
        while len(parts) > 1:
            known = [ranks.get((parts[place], parts[place + 1]), len(ranks)) for place in range(len(parts) - 1)]
            rank, place = min((rank, place) for place, rank in enumerate(known))
            if rank == len(ranks):
                break
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        pieces += parts
    return pieces


def byte_letters() -> dict[str, int]:
    """Map the letters of byte-level BPE to bytes: printable bytes to themselves, the rest from U+0100."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    rest = [number for number in range(256) if number not in seen]
    return {chr(n): n for n in seen} | {chr(256 + place): n for place, n in enumerate(rest)}
