"""Encode and decode texts as characters, words, or byte-level BPE; the only user of Hugging Face's ``tokenizers``.

Number 0 is padding and 1 is an unknown token. A vocabulary is one JSON file, stored with the run.
"""

import dataclasses
import functools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from zoo.config.schemas.text import AUTO, TOKENIZERS
from zoo.core.arrays import NDArray, np
from zoo.core.errors import ZooError, unknown
from zoo.data.text import cutting
from zoo.data.text.cutting import Cutting

# Texts of at least this many characters are counted with numpy.
_LONG = 1 << 16
SPECIAL = ("<pad>", "<unknown>")
UNKNOWN = 1
FORMAT = 1
# Chinese, Japanese, Thai, Lao, Tibetan, Burmese and Khmer are written without blanks between words.
_UNSPACED = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")


@dataclasses.dataclass
class Tokenizer:
    """A vocabulary and its way of tokenization.

    Attributes:
        kind: characters, words or bpe.
        lowercase: convert letters to lower case first.
        tokens: text of each number; for BPE its bytes, each written as one character.
        rules: for BPE, the JSON of ``tokenizers``.
    """

    kind: str
    lowercase: bool
    tokens: list[str]
    rules: str = ""

    def __post_init__(self) -> None:
        self._numbers = {token: number for number, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def cutting(self) -> Cutting:
        return Cutting(self.kind, self.lowercase)

    def encode(self, text: str) -> list[int]:
        numbers: list[int] = self.encode_all([text])[0].tolist()
        return numbers

    def encode_all(self, texts: Sequence[str]) -> "list[NDArray[np.int32]]":
        if self.kind == "characters":
            return [self._by_code_point[_code_points(_plain(text, self.lowercase))] for text in texts]
        if self.kind != "bpe":
            lookup, pieces = self._numbers.get, (cutting.pieces_of(text, self.cutting) for text in texts)
            return [np.array([lookup(piece, UNKNOWN) for piece in each], np.int32) for each in pieces]
        encodings = self._bpe.encode_batch([_plain(text, self.lowercase) for text in texts])
        return [np.array(each.ids, np.int32) for each in encodings]

    def missing(self, text: str) -> list[str]:
        """List the distinct tokens of a text that the vocabulary lacks; none for BPE."""
        if self.kind == "bpe":
            return []
        return list(dict.fromkeys(p for p in cutting.pieces_of(text, self.cutting) if p not in self._numbers))

    def token_bytes(self) -> list[str]:
        """Return what each token adds to a text, as bytes written as one character each; the worker joins them."""
        return [added.decode("latin-1") for added in cutting.bytes_of(self.tokens, self.cutting)]

    def save(self, path: Path) -> None:
        content = {
            "format": FORMAT, "kind": self.kind, "lowercase": self.lowercase, "pieces": self.tokens,
            "rules": self.rules,
        }  # fmt: skip
        path.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")

    @functools.cached_property
    def _by_code_point(self) -> "NDArray[np.int32]":
        table = np.full(sys.maxunicode + 1, UNKNOWN, np.int32)
        for token, number in self._numbers.items():
            if len(token) == 1:
                table[ord(token)] = number
        return table

    @functools.cached_property
    def _bpe(self) -> Any:
        from tokenizers import Tokenizer as Engine

        try:
            engine = Engine.from_str(self.rules)
        except Exception as error:  # tokenizers raises plain Exceptions
            raise ZooError(f"The BPE rules cannot be used: {error}", "Train again.") from error
        if engine.get_vocab_size() != len(self.tokens):
            raise ZooError("The BPE rules do not fit their tokens", "Give another run, or train again.")
        return engine


def _code_points(text: str) -> "NDArray[np.uint32]":
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _plain(text: str, lowercase: bool) -> str:
    return text.lower() if lowercase else text


def chosen(texts: Sequence[str]) -> str:
    """Return the kind of tokens for texts: characters if most letters belong to a script without spaces."""
    sample = "".join(text[:1000] for text in texts[:: max(1, len(texts) // 1000)])
    letters = len(re.findall(r"\w", sample))
    return "characters" if 2 * len(_UNSPACED.findall(sample)) > letters else "words"


def is_blank(kind: str, text: str) -> bool:
    """Return True if a text has no tokens: only white space, or for words only HTML tags."""
    if kind in ("words", AUTO) and "<" in text:
        text = re.sub(Cutting("words", False).tag, " ", text)
    return not text.strip()


def learn(kind: str, texts: Iterable[str], size: int, lowercase: bool) -> Tokenizer:
    """Learn a vocabulary of the most frequent tokens, with ties in the order of the tokens.

    ``size`` is the largest number of tokens, including the two special ones.
    """
    if kind not in TOKENIZERS:
        raise unknown("tokenizer", kind, list(TOKENIZERS))
    if kind == "bpe":
        return _learn_bpe(texts, size, lowercase)
    counts, how = Counter[str](), Cutting(kind, lowercase)
    for text in texts:
        if kind == "characters" and len(text) > _LONG:  # ten times as fast as Counter
            points = np.bincount(_code_points(_plain(text, lowercase)))
            counts.update({chr(point): int(points[point]) for point in points.nonzero()[0]})
        else:
            counts.update(cutting.pieces_of(text, how))
    ranked = sorted(counts, key=lambda token: (-counts[token], token))[: size - len(SPECIAL)]
    return Tokenizer(kind, lowercase, [*SPECIAL, *(sorted(ranked) if kind == "characters" else ranked)])


def _learn_bpe(texts: Iterable[str], size: int, lowercase: bool) -> Tokenizer:
    """Learn BPE on bytes, so that no token is unknown (Sennrich et al. 2016, https://arxiv.org/abs/1508.07909).

    Bytes are mapped to letters as in GPT-2.
    """
    from tokenizers import Tokenizer as Engine
    from tokenizers import decoders, models, pre_tokenizers, trainers

    letters = cutting.byte_letters()
    if size < len(letters) + len(SPECIAL):
        raise ZooError(
            f"data.vocabulary={size} is too small for bpe", f"It needs {len(letters) + len(SPECIAL)} or more."
        )
    engine = Engine(models.BPE())
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    engine.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(SPECIAL), initial_alphabet=sorted(letters), show_progress=False
    )
    engine.train_from_iterator((_plain(text, lowercase) for text in texts), trainer)
    tokens = [engine.id_to_token(number) or "" for number in range(engine.get_vocab_size())]
    plain = ["", "\ufffd".encode().decode("latin-1")] + [
        "".join(chr(letters[letter]) for letter in token) for token in tokens[len(SPECIAL) :]
    ]
    return Tokenizer("bpe", lowercase, plain, engine.to_str())


def load(path: Path) -> Tokenizer:
    """Read a vocabulary, which may come from a third party."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        kind, tokens, rules = content["kind"], content["pieces"], content["rules"]
        right = (
            content["format"] == FORMAT and kind in TOKENIZERS and isinstance(rules, str)
            and len(tokens) >= len(SPECIAL)
        )  # fmt: skip
        if not right or not all(isinstance(token, str) for token in tokens):
            raise ValueError("it is not of the format that this zoo writes")
        if kind != "bpe" and len(set(tokens)) < len(tokens):  # different bytes of BPE may be of one text
            raise ValueError(f"it lists {Counter(tokens).most_common(1)[0][0]!r} twice or more")
        return Tokenizer(kind, bool(content["lowercase"]), tokens, rules)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ZooError(f"The vocabulary {path} cannot be used: {error}", "Give another run, or train again.") from error
