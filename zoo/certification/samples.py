"""Generate training data: images of shapes, texts of two classes, one long text.

The files are identical on every machine, so their checksum proves that two machines used the same data.
"""

from pathlib import Path

import numpy as np

from zoo.core.arrays import Image
from zoo.core.files import atomic_folder

SHAPES = ("disc", "square", "stripes")
EDGE = 64
PICTURES_OF_A_SHAPE = 60
TEXTS_OF_A_KIND = 200
SENTENCES = 3000
_SEED = 20261122

_SUBJECTS = ("the old sailor", "a small dog", "my neighbour", "the teacher", "a red bird", "the last train")
_VERBS = ("finds", "carries", "forgets", "sees", "follows", "paints")
_OBJECTS = ("a wooden boat", "the blue door", "two apples", "a quiet street", "the long letter", "an empty chair")
_GOOD = ("a wonderful evening", "bright and warm", "I laughed a lot", "the best of the year", "so well done")
_BAD = ("a dull evening", "gray and cold", "I fell asleep", "the worst of the year", "so badly done")


def draw(folder: Path) -> Path:
    """Generate the samples in a folder, if it is missing, atomically; return the folder.

    It contains ``shapes/CLASS/*.bmp`` (64 x 64 pixels, RGB), ``texts/{good,bad}.txt`` and ``sentences.txt``.
    """
    if not folder.is_dir():
        with atomic_folder(folder) as part:
            random = np.random.RandomState(_SEED)
            for shape in SHAPES:
                (part / "shapes" / shape).mkdir(parents=True)
                for number in range(PICTURES_OF_A_SHAPE):
                    # BMP is uncompressed, so the files do not depend on the version of a compressor.
                    picture = Image.fromarray(_picture(shape, random))
                    picture.save(part / "shapes" / shape / f"{number:03}.bmp")
            (part / "texts").mkdir()
            for kind, words in (("good", _GOOD), ("bad", _BAD)):
                lines = [f"{_sentence(random)} {_one(words, random)}" for _ in range(TEXTS_OF_A_KIND)]
                (part / "texts" / f"{kind}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
            sentences = " ".join(_sentence(random) for _ in range(SENTENCES))
            (part / "sentences.txt").write_text(sentences + "\n", encoding="utf-8")
    return folder


def _picture(shape: str, random: np.random.RandomState) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    """Draw an image, (64, 64, 3): a colored shape with random position and size on a background, with noise."""
    y, x = np.mgrid[:EDGE, :EDGE]
    centre, radius = random.randint(20, 44, 2), random.randint(8, 18)
    inside = {
        "disc": (y - centre[0]) ** 2 + (x - centre[1]) ** 2 < radius**2,
        "square": np.maximum(abs(y - centre[0]), abs(x - centre[1])) < radius,
        "stripes": (x + centre[0]) // (radius // 2) % 2 == 0,
    }[shape]
    ground, colour = random.randint(0, 120, 3), random.randint(136, 256, 3)
    noise = random.randint(-12, 13, (EDGE, EDGE, 3))
    return np.clip(np.where(inside[..., None], colour, ground) + noise, 0, 255).astype(np.uint8)


def _sentence(random: np.random.RandomState) -> str:
    return f"{_one(_SUBJECTS, random)} {_one(_VERBS, random)} {_one(_OBJECTS, random)}."


def _one(words: tuple[str, ...], random: np.random.RandomState) -> str:
    return words[random.randint(len(words))]
