"""Contact sheets: pages of small images with their predictions, as PNG."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.core import paths
from zoo.core.arrays import Bytes, Image

if TYPE_CHECKING:
    from PIL import ImageDraw, ImageFont

COLUMNS = 5
ROWS = 4
PER_PAGE = COLUMNS * ROWS
CELL = 224
MARGIN = 12
LINE = 17
LINES = 4
PAPER, INK, FAINT, BAR = "#ffffff", "#1a1a1a", "#6a6a6a", "#c9d8f0"


@dataclass(frozen=True)
class Entry:
    """An image on a sheet: thumbnail, uint8 (height, width, 3), name, (label, probability or None), best first."""

    thumb: "Bytes"
    name: str
    labels: Sequence[tuple[str, float | None]]


def draw(entries: list[Entry], title: str, path: Path) -> None:
    """Draw a page of at most ``PER_PAGE`` images, with a title above them, as PNG."""
    from PIL import ImageDraw

    thumbs = [_fitting(Image.fromarray(entry.thumb)) for entry in entries]
    rows = [thumbs[begin : begin + COLUMNS] for begin in range(0, len(thumbs), COLUMNS)]
    highest = [max(thumb.height for thumb in row) for row in rows]
    width = max(min(COLUMNS, len(entries)) * (CELL + MARGIN) + MARGIN, 560)
    height = sum(highest) + len(rows) * (LINES * LINE + 2 * MARGIN) + 3 * MARGIN + LINE
    page = Image.new("RGB", (width, height), PAPER)
    pen, letters, heading = ImageDraw.Draw(page), _font(12), _font(15)
    pen.text((MARGIN, MARGIN), _fitted(pen, title, heading, width - 2 * MARGIN), INK, heading)
    foot = 3 * MARGIN + LINE
    for number, row in enumerate(rows):
        foot += highest[number]
        for column, thumb in enumerate(row):
            left = MARGIN + column * (CELL + MARGIN)
            # Align images of any aspect ratio at the bottom of the row, next to their labels.
            page.paste(thumb, (left, foot - thumb.height))
            _label(pen, letters, entries[number * COLUMNS + column], left, foot + 3)
        foot += LINES * LINE + 2 * MARGIN
    page.save(path, optimize=False, compress_level=3)


def _fitting(thumb: "Image.Image") -> "Image.Image":
    """Enlarge tiny images by an integer factor, pixel by pixel; reduce large ones."""
    if max(thumb.size) > CELL:
        thumb.thumbnail((CELL, CELL), Image.Resampling.BILINEAR)
    times = CELL // max(thumb.size)
    if times < 2:
        return thumb
    return thumb.resize((thumb.width * times, thumb.height * times), Image.Resampling.NEAREST)


def _label(pen: "ImageDraw.ImageDraw", letters: "ImageFont.FreeTypeFont", entry: Entry, left: int, top: int) -> None:
    # The end of a path matters more than its start: the text is reversed, so that the start is cut.
    name = _fitted(pen, entry.name[::-1], letters, CELL)[::-1]
    pen.text((left, top), name, FAINT, letters)
    for number, (label, share) in enumerate(entry.labels[: LINES - 1], 1):
        y = top + number * LINE
        if share is None:
            pen.text((left + 3, y), _fitted(pen, label, letters, CELL), INK, letters)
            continue
        pen.rectangle((left, y, left + max(1, round(share * CELL)), y + LINE - 3), BAR)
        percentage = f"{share:.0%}"
        room = CELL - pen.textlength(percentage, letters) - 8
        pen.text((left + 3, y), _fitted(pen, label.replace("_", " "), letters, room), INK, letters)
        pen.text((left + CELL - 3, y), percentage, INK, letters, anchor="ra")


def _fitted(pen: "ImageDraw.ImageDraw", text: str, letters: "ImageFont.FreeTypeFont", room: float) -> str:
    # Replace line breaks in names by spaces.
    text = " ".join(text.split())
    if pen.textlength(text, letters) <= room:
        return text
    while text and pen.textlength(text + "…", letters) > room:
        text = text[:-1]
    return text + "…"


def _font(size: int) -> "ImageFont.FreeTypeFont":
    """Return DejaVu Sans, which comes with matplotlib and has more letters than Pillow's own font."""
    from PIL import ImageFont

    fonts = paths.package_folder("matplotlib") / "mpl-data" / "fonts" / "ttf"
    return ImageFont.truetype(fonts / "DejaVuSans.ttf", size)
