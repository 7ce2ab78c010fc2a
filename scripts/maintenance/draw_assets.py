"""Draw the project's own pictures: a landscape as content and three styles.

    python scripts/maintenance/draw_assets.py [FOLDER]

All are drawn by this program alone, from a seed, and may be used for any purpose.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WIDTH, HEIGHT = 640, 426
# Drawn larger and scaled down: smooth edges.
FINE = 2


def main(argv: list[str]) -> int:
    """Write all pictures into a folder, by default ``assets``."""
    if argv and argv[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    folder = Path(argv[0]) if argv else Path(__file__).resolve().parent.parent.parent / "assets"
    folder.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        picture = draw(np.random.default_rng(7)).resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
        path = folder / f"{name}.jpg"
        picture.save(path, quality=90)
        print(f"{path} {path.stat().st_size:,} bytes")
    return 0


def landscape(random: np.random.Generator) -> Image.Image:
    """Draw hills in the evening, a lake, a house, trees and a sun."""
    width, height = WIDTH * FINE, HEIGHT * FINE
    sky = _gradient(width, height, [(0.0, (52, 92, 160)), (0.35, (150, 180, 215)), (0.58, (250, 205, 150))])
    image = Image.fromarray(sky)
    pen = ImageDraw.Draw(image)
    sun = (int(0.73 * width), int(0.4 * height), int(0.055 * width))
    pen.ellipse([sun[0] - sun[2], sun[1] - sun[2], sun[0] + sun[2], sun[1] + sun[2]], fill=(255, 240, 190))
    _clouds(image, random)
    pen = ImageDraw.Draw(image)
    for base, swing, color in (
        (0.5, 0.13, (96, 112, 150)),
        (0.56, 0.1, (78, 104, 110)),
        (0.63, 0.06, (70, 110, 70)),
    ):
        _hill(pen, random, width, height, base * height, swing * height, color)
    _lake(pen, random, width, height)
    _house(pen, 0.2 * width, 0.68 * height, 0.1 * width)
    for x, y, size in (
        (0.08, 0.8, 0.2),
        (0.37, 0.72, 0.12),
        (0.42, 0.74, 0.15),
        (0.88, 0.86, 0.33),
        (0.96, 0.8, 0.24),
    ):
        _tree(pen, random, x * width, y * height, size * height)
    grain = random.normal(0, 5, (height, width, 1))
    return Image.fromarray(np.clip(np.asarray(image) + grain, 0, 255).astype(np.uint8))


def _gradient(width: int, height: int, stops: list[tuple[float, tuple[int, int, int]]]) -> "NDArray[np.uint8]":
    rows = np.linspace(0, 1, height)
    channels = [np.interp(rows, [at for at, _ in stops], [color[index] for _, color in stops]) for index in range(3)]
    return np.repeat(np.stack(channels, -1)[:, None], width, axis=1).astype(np.uint8)


def _clouds(image: Image.Image, random: np.random.Generator) -> None:
    veil = Image.new("L", image.size, 0)
    pen = ImageDraw.Draw(veil)
    for _ in range(9):
        x, y = random.uniform(0, image.width), random.uniform(0.05, 0.3) * image.height
        for _ in range(14):
            left, top = x + random.normal(0, 70), y + random.normal(0, 9)
            wide, high = random.uniform(40, 110), random.uniform(10, 26)
            pen.ellipse([left - wide, top - high, left + wide, top + high], fill=150)
    image.paste((255, 245, 235), mask=veil.filter(ImageFilter.GaussianBlur(9)))


def _hill(
    pen: ImageDraw.ImageDraw,
    random: np.random.Generator,
    width: int,
    height: int,
    base: float,
    swing: float,
    color: tuple[int, int, int],
) -> None:
    x = np.linspace(0, 1, 200)
    waves = [
        random.uniform(0.3, 1) / turns * np.sin(turns * 6.28 * x + random.uniform(0, 6)) for turns in (0.8, 1.7, 4, 9)
    ]
    ridge = base - swing * np.sum(waves, axis=0)
    pen.polygon([(0, height), *zip(x * width, ridge, strict=True), (width, height)], fill=color)


def _lake(pen: ImageDraw.ImageDraw, random: np.random.Generator, width: int, height: int) -> None:
    pen.polygon([(0, height), (0, 0.76 * height), (width, 0.7 * height), (width, height)], fill=(58, 96, 60))
    box = [0.3 * width, 0.76 * height, 0.86 * width, 0.95 * height]
    pen.ellipse(box, fill=(120, 160, 190))
    for _ in range(70):
        angle, share = random.uniform(0, 6.28), random.uniform(0, 0.9)
        x = (box[0] + box[2]) / 2 + share * np.cos(angle) * (box[2] - box[0]) / 2
        y = (box[1] + box[3]) / 2 + share * np.sin(angle) * (box[3] - box[1]) / 2
        long = random.uniform(8, 40)
        color = (235, 215, 185) if abs(x - 0.73 * width) < 70 else (160, 192, 212)
        pen.line([(x - long, y), (x + long, y)], fill=color, width=3)


def _house(pen: ImageDraw.ImageDraw, x: float, y: float, size: float) -> None:
    pen.rectangle([x, y, x + size, y + 0.6 * size], fill=(225, 205, 175))
    pen.polygon([(x - 0.12 * size, y), (x + 0.5 * size, y - 0.5 * size), (x + 1.12 * size, y)], fill=(160, 66, 50))
    pen.rectangle([x + 0.42 * size, y + 0.25 * size, x + 0.6 * size, y + 0.6 * size], fill=(92, 62, 46))
    for left in (0.12, 0.72):
        pen.rectangle(
            [x + left * size, y + 0.18 * size, x + (left + 0.17) * size, y + 0.36 * size], fill=(88, 120, 150)
        )


def _tree(pen: ImageDraw.ImageDraw, random: np.random.Generator, x: float, y: float, size: float) -> None:
    pen.rectangle([x - 0.04 * size, y - 0.3 * size, x + 0.04 * size, y], fill=(84, 60, 44))
    for _ in range(90):
        angle, share = random.uniform(0, 6.28), random.uniform(0, 1) ** 0.5
        left, top = x + 0.3 * size * share * np.cos(angle), y - 0.62 * size + 0.36 * size * share * np.sin(angle)
        blob, light = 0.07 * size, random.uniform(-1, 1) + 0.5 * np.cos(angle - 5.5)
        color = (int(60 + 22 * light), int(104 + 30 * light), int(54 + 16 * light))
        pen.ellipse([left - blob, top - blob, left + blob, top + blob], fill=color)


def waves(random: np.random.Generator) -> Image.Image:
    """Draw swirling strokes of thick paint, blue and gold, along a flow."""
    width, height = WIDTH * FINE, HEIGHT * FINE
    centres = [(random.uniform(0, width), random.uniform(0, height), random.choice([-1, 1])) for _ in range(7)]
    image = Image.new("RGB", (width, height), (18, 32, 78))
    pen = ImageDraw.Draw(image)
    palette = [
        (20, 44, 110),
        (36, 84, 160),
        (66, 130, 190),
        (150, 190, 205),
        (240, 205, 90),
        (250, 235, 170),
        (12, 22, 50),
    ]
    for number in range(5200):
        x, y = random.uniform(0, width), random.uniform(0, height)
        near = min(np.hypot(x - cx, y - cy) for cx, cy, _ in centres)
        chance = np.exp(-np.arange(7) * 0.3) if near > 130 else np.array([0.2, 0.4, 1, 1.4, 2.6, 2.0, 0.1])
        color = palette[random.choice(7, p=chance / chance.sum())]
        shade = random.integers(-14, 15)
        path = [(x, y)]
        for _ in range(9):
            flow = sum(
                np.array([-(y - cy), x - cx]) * turn / (1 + ((x - cx) ** 2 + (y - cy) ** 2) / 160**2) / 160
                for cx, cy, turn in centres
            ) + np.array([0.5, 0.12])
            x, y = np.array([x, y]) + 7 * flow / (np.hypot(*flow) + 1e-9)
            path.append((x, y))
        pen.line(
            path,
            fill=tuple(int(np.clip(part + shade, 0, 255)) for part in color),
            width=int(6 + 5 * (number % 3)),
            joint="curve",
        )
    return image


def mosaic(random: np.random.Generator) -> Image.Image:
    """Draw stained glass: cells of saturated colors with dark lead between them."""
    width, height, count = WIDTH * FINE, HEIGHT * FINE, 420
    points = random.uniform(0, 1, (count, 2)) * [width, height]
    palette = np.array(
        [(200, 30, 44), (240, 150, 30), (248, 214, 70), (34, 120, 90), (26, 80, 160), (110, 40, 120), (240, 232, 210)]
    )
    hue = (points[:, 0] / width * 5 + points[:, 1] / height * 3 + random.normal(0, 0.7, count)).astype(int) % len(
        palette
    )
    colors = np.clip(palette[hue] + random.normal(0, 14, (count, 3)), 0, 255)
    rows, columns = np.mgrid[0:height, 0:width]
    first, second, nearest = (
        np.full((height, width), 1e9),
        np.full((height, width), 1e9),
        np.zeros((height, width), int),
    )
    for index, (x, y) in enumerate(points):
        away = np.hypot(columns - x, rows - y)
        closer = away < first
        second = np.where(closer, first, np.minimum(second, away))
        nearest[closer], first = index, np.minimum(first, away)
    lead = np.clip((second - first) / 9 - 0.35, 0, 1)[..., None]
    glow = 1.12 - 0.3 * (first / 60)[..., None]
    return Image.fromarray(np.clip(colors[nearest] * glow * lead + (1 - lead) * 16, 0, 255).astype(np.uint8))


def hatching(random: np.random.Generator) -> Image.Image:
    """Draw ink on rough paper: crossed strokes of a pen, denser where it is dark, and washes of red and ochre."""
    width, height = WIDTH * FINE, HEIGHT * FINE
    image = Image.new("RGB", (width, height), (238, 226, 200))
    pen = ImageDraw.Draw(image)
    for _ in range(26):
        x, y, size = random.uniform(0, width), random.uniform(0, height), random.uniform(40, 150)
        wash = [(214, 96, 62), (222, 170, 92), (150, 170, 160)][random.integers(3)]
        pen.ellipse([x - size, y - 0.7 * size, x + size, y + 0.7 * size], fill=wash)
    image = image.filter(ImageFilter.GaussianBlur(14))
    pen = ImageDraw.Draw(image)
    field = np.asarray(
        Image.fromarray(random.uniform(0, 255, (6, 9)).astype(np.uint8)).resize(
            (width, height), Image.Resampling.BICUBIC
        )
    )
    for _ in range(9000):
        column, row = int(random.integers(width)), int(random.integers(height))
        dark = 1 - field[row, column] / 255
        if random.uniform() > dark**1.5 + 0.05:
            continue
        angle = (0.7 if random.uniform() < 0.6 else 2.3) + random.normal(0, 0.08)
        long = random.uniform(14, 46)
        end = (column + long * np.cos(angle), row + long * np.sin(angle))
        pen.line([(column, row), end], fill=(34, 28, 36), width=int(random.integers(2, 5)))
    return image


PICTURES = {"landscape": landscape, "style_waves": waves, "style_mosaic": mosaic, "style_hatching": hatching}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
