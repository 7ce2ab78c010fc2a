"""zoo.reports.images: pictures of a run folder are embedded, reduced or left out with the reason."""

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from zoo.data.images import decode
from zoo.reports import images


def saved(path: Path, width: int, height: int, frames: int = 1) -> Path:
    pages = [Image.new("RGB", (width, height), (n, 0, 0)) for n in range(frames)]
    more = {"save_all": True, "append_images": pages[1:]} if frames > 1 else {}
    pages[0].save(path, **more)  # type: ignore[arg-type]
    return path


def opened(address: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2])))


@pytest.mark.parametrize(("name", "kind"), [("a.png", "image/png"), ("a.jpg", "image/jpeg"), ("a.gif", "image/gif"),
                                            ("a.webp", "image/webp")])  # fmt: skip
def test_a_small_picture_is_embedded_as_it_is(tmp_path: Path, name: str, kind: str) -> None:
    path = saved(tmp_path / name, 30, 20)
    picture = images.read(path)
    assert picture.address == f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
    assert (picture.width, picture.height, picture.note) == (30, 20, "")


def test_a_large_picture_is_reduced(tmp_path: Path) -> None:
    assert images.read(saved(tmp_path / "a.png", 1600, 10)).note == ""
    picture = images.read(saved(tmp_path / "b.png", 3200, 20))
    assert (picture.width, picture.height) == opened(picture.address).size == (1600, 10)
    assert picture.address.startswith("data:image/jpeg;base64,")
    assert picture.note == "reduced for this page; the file has 3,200 x 20 pixels"


def test_a_picture_of_many_bytes_is_reduced_and_one_that_moves_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    still, moving = saved(tmp_path / "a.gif", 30, 20), saved(tmp_path / "b.gif", 30, 20, 3)
    monkeypatch.setattr(images, "KEPT_BYTES", still.stat().st_size)
    assert images.read(still).note == ""
    monkeypatch.setattr(images, "KEPT_BYTES", still.stat().st_size - 1)
    assert images.read(still).note.startswith("reduced for this page")
    assert (images.read(moving).address[:14], images.read(moving).note) == ("data:image/gif", "")


def test_pictures_that_are_too_large_or_damaged_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "a.gif", 30, 20, 4)
    monkeypatch.setattr(decode, "MOST_PIXELS", 2400)
    images.read(path)
    monkeypatch.setattr(decode, "MOST_PIXELS", 2399)
    with pytest.raises(decode.UnreadableError, match="it has 30 x 20 pixels and 4 frames: too many"):
        images.read(path)
    monkeypatch.setattr(decode, "MOST_PIXELS", 10**9)
    monkeypatch.setattr(images, "MOST_FRAMES", 3)
    with pytest.raises(decode.UnreadableError, match="4 frames: too many"):
        images.read(path)
    (tmp_path / "b.png").write_bytes(b"\x89PNG")
    with pytest.raises(decode.UnreadableError, match="it is damaged, or its format cannot be shown in a page"):
        images.read(tmp_path / "b.png")


def test_a_picture_is_shown_with_its_words_or_the_reason(tmp_path: Path) -> None:
    saved(tmp_path / "a.png", 30, 20)
    shown = images.shown(tmp_path, "a.png", "what <it> is")
    assert shown.startswith('<figure class="picture"><img src="data:image/png;base64,')
    assert 'width="30" height="20" alt="what &lt;it&gt; is"' in shown
    assert "<figcaption>what &lt;it&gt; is <code>a.png</code></figcaption>" in shown
    saved(tmp_path / "b.png", 1700, 20)
    assert "<code>b.png</code> (reduced for this page;" in images.shown(tmp_path, "b.png", "x")
    (tmp_path / "c.png").write_bytes(b"x")
    assert images.shown(tmp_path, "c.png", "x").startswith("<p>c.png: not shown, it is damaged")
    assert "not a regular file" in images.shown(tmp_path, "none.png", "x")


def test_thumbnails_are_small_pictures_of_the_first_items(tmp_path: Path) -> None:
    np.save(tmp_path / "gray.npy", np.full((3, 100, 50, 1), 7, np.uint8))
    np.save(tmp_path / "color.npy", np.full((3, 8, 8, 3), 7, np.uint8))
    gray, color = (images.thumbnails(tmp_path, name, 2) for name in ("gray.npy", "color.npy"))
    assert len(gray) == len(color) == 2
    assert 'alt="network input 1"' in gray[0]
    assert 'alt="network input 2"' in gray[1]
    sizes = [opened(each.split('"')[1]).size for each in (gray[0], color[0])]
    assert sizes == [(32, 64), (8, 8)]
    assert len(images.thumbnails(tmp_path, "gray.npy", 9)) == 3


@pytest.mark.parametrize(
    "array",
    [np.zeros((2, 8, 8, 3), np.float32), np.zeros((2, 8, 8, 2), np.uint8), np.zeros((8, 8, 3), np.uint8),
     np.zeros((1, 1, 4097, 1), np.uint8), np.zeros((2, 0, 0, 3), np.uint8)],
)  # fmt: skip
def test_what_is_no_array_of_pictures_has_no_thumbnails(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", array)
    assert images.thumbnails(tmp_path, "x.npy", 5) == []
    (tmp_path / "y.npy").write_bytes(b"no array")
    assert images.thumbnails(tmp_path, "y.npy", 5) == images.thumbnails(tmp_path, "none.npy", 5) == []
    np.save(tmp_path / "z.npy", np.zeros((1, 1, 4096, 1), np.uint8))
    assert len(images.thumbnails(tmp_path, "z.npy", 5)) == 1
