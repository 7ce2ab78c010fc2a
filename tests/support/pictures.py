"""Drawn pictures in class folders."""

from pathlib import Path

import numpy as np
from PIL import Image


def stripes(root: Path, count: int = 24, size: int = 40) -> Path:
    """Stripes and checks of three widths and random colours, as PNG in class folders."""
    random = np.random.default_rng(0)
    for number, name in enumerate(("coarse", "middle", "fine ü")):
        (root / name).mkdir(parents=True)
        for index in range(count):
            lines = (np.arange(size) // (2 + 4 * (2 - number)) + random.integers(2)) % 2
            picture = np.where(lines[None, :, None], *random.integers(0, 256, (2, 3))).repeat(size, 0)
            Image.fromarray(picture.astype(np.uint8)).save(root / name / f"{index}.png")
    (root / "coarse" / "broken.jpg").write_text("no picture")
    return root
