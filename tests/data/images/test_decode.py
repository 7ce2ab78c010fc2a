"""Decoding pictures: every common kind, and files made to hurt."""

import os
import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pillow_heif
import pytest
from PIL import Image

from zoo.config.schemas.common import RESIZES
from zoo.data.images import decode

SIZE = (40, 60)


def half_red(mode: str = "RGB") -> Image.Image:
    """80 rows by 120 columns: the left half red, the right half blue."""
    array = np.zeros((80, 120, 3), np.uint8)
    array[:, :60, 0], array[:, 60:, 2] = 255, 255
    return Image.fromarray(array).convert(mode)


def is_half_red(array: np.ndarray) -> bool:
    left, right = array[:, 5:25].mean(axis=(0, 1)), array[:, 35:55].mean(axis=(0, 1))
    return bool(left[0] > 225 and left[2] < 40 and right[2] > 200 and right[0] < 40)


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.bmp", "a.gif", "a.tif", "a.webp", "a.ppm", "a.avif"])
def test_common_formats(tmp_path: Path, name: str) -> None:
    path = tmp_path / "ünï code" / name
    path.parent.mkdir()
    try:
        half_red().save(path)
    except (KeyError, ValueError, OSError) as error:
        pytest.skip(f"this Pillow cannot write it: {error}")
    decoded = decode.decode(path, SIZE)
    assert decoded.shape == (*SIZE, 3)
    assert decoded.dtype == np.uint8
    assert decoded.flags.writeable
    assert is_half_red(decoded)


@pytest.mark.parametrize(
    ("mode", "name"), [("P", "a.png"), ("RGBA", "a.png"), ("CMYK", "a.jpg"), ("CMYK", "a.tif"), ("YCbCr", "a.tif")]
)
def test_colours_of_other_modes(tmp_path: Path, mode: str, name: str) -> None:
    half_red(mode).save(tmp_path / name)
    assert is_half_red(decode.decode(tmp_path / name, SIZE))


def test_greys_of_every_depth(tmp_path: Path) -> None:
    slope = np.linspace(0, 1, 60)[None].repeat(40, axis=0)
    wanted = np.rint(slope * 255)[..., None]
    Image.fromarray((slope * 255).round().astype(np.uint8)).save(tmp_path / "8.png")
    Image.fromarray((slope * 65535).round().astype(np.uint16)).save(tmp_path / "16.png")
    Image.fromarray(slope.astype(np.float32)).save(tmp_path / "f.tif")
    Image.fromarray(slope > 0.5).save(tmp_path / "1.png")
    for name, off in (("8.png", 0), ("16.png", 1), ("f.tif", 1), ("1.png", 128)):
        decoded = decode.decode(tmp_path / name, SIZE).astype(float)
        assert np.abs(decoded - wanted).max() <= off, name
    Image.fromarray(np.full((9, 9), 1e6, np.float32)).save(tmp_path / "wide.tif")
    with pytest.raises(decode.UnreadableError, match="gray values go from 1e\\+06"):
        decode.decode(tmp_path / "wide.tif", SIZE)


def test_clear_parts_are_white(tmp_path: Path) -> None:
    clear = np.zeros((80, 120, 4), np.uint8)
    Image.fromarray(clear).save(tmp_path / "a.png")
    Image.fromarray(clear[..., [0, 3]], "LA").save(tmp_path / "la.png")
    for name in ("a.png", "la.png"):
        assert (decode.decode(tmp_path / name, SIZE) == 255).all()


@pytest.mark.parametrize("turn", range(1, 9))
def test_pictures_are_turned_as_their_exif_says(tmp_path: Path, turn: int) -> None:
    undo = {
        2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }  # fmt: skip
    stored = half_red().transpose(undo[turn]) if turn in undo else half_red()
    exif = Image.Exif()
    exif[0x0112] = turn
    stored.save(tmp_path / "a.jpg", exif=exif, quality=95)
    assert is_half_red(decode.decode(tmp_path / "a.jpg", SIZE))


def test_damaged_exif_drops_no_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(_: Image.Image) -> None:
        raise SyntaxError("not a TIFF file")

    Image.new("RGB", (20, 10), "teal").save(tmp_path / "a.jpg")
    monkeypatch.setattr(Image.Image, "getexif", damaged)
    assert decode.decode(tmp_path / "a.jpg", (10, 20)).shape == (10, 20, 3)


def test_ways_of_resizing(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    rows = np.zeros((100, 200, 3), np.uint8)
    rows[:, 50:150] = 255  # the middle square is white, what is beside it black
    Image.fromarray(rows).save(path)
    assert (decode.decode(path, (50, 50), "crop") == 255).all()
    assert decode.decode(path, (50, 50))[:, :5].max() == 0
    near = np.asarray(Image.open(path).resize((50, 50), Image.Resampling.NEAREST))
    np.testing.assert_array_equal(decode.decode(path, (50, 50), "nearest"), near)
    for resize in RESIZES:
        for shape in ((1, 1), (1, 3000), (3000, 1), (224, 224)):
            Image.new("RGB", (shape[1], shape[0]), (9, 9, 9)).save(tmp_path / "b.png")
            assert (decode.decode(tmp_path / "b.png", (224, 224), resize) == 9).all()
    with pytest.raises(ValueError, match="must be one of stretch"):
        decode.decode(path, (50, 50), "squeeze")


def test_a_large_jpeg_is_decoded_small_and_looks_the_same(tmp_path: Path) -> None:
    small = np.random.default_rng(0).integers(0, 256, (12, 16, 3), np.uint8)
    large = Image.fromarray(small).resize((3200, 2400), Image.Resampling.BICUBIC)
    large.save(tmp_path / "a.jpg", quality=92)
    large.save(tmp_path / "a.png")
    hinted, whole = decode.decode(tmp_path / "a.jpg", (224, 224)), decode.decode(tmp_path / "a.png", (224, 224))
    assert np.abs(hinted.astype(int) - whole).mean() < 1.5
    assert decode.open_upright(tmp_path / "a.jpg", 448).size == (800, 600)


def bomb(path: Path, side: int) -> Path:
    """A PNG of a few hundred bytes that says it is ``side`` by ``side`` pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(bytes(10**6))) + chunk(b"IEND", b""))
    return path


@pytest.mark.usefixtures("without_heif")
def test_hostile_files_are_refused_with_a_reason(tmp_path: Path) -> None:
    half_red().resize((800, 600)).save(tmp_path / "whole.jpg")
    whole = (tmp_path / "whole.jpg").read_bytes()
    (tmp_path / "text.jpg").write_text("not a picture\n" * 100)
    (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.png").touch()
    (tmp_path / "program.jpg").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    (tmp_path / "photo.heic").write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(200))
    os.mkfifo(tmp_path / "pipe.jpg")
    with (tmp_path / "sparse.jpg").open("wb") as sparse:
        sparse.write(whole)
        sparse.truncate(20 << 30)
    (tmp_path / "folder.jpg").mkdir()
    (tmp_path / "link.jpg").symlink_to(tmp_path / "nowhere.jpg")
    bomb(tmp_path / "bomb.png", 20_000)
    bomb(tmp_path / "odd.png", 10_000)
    reasons = {
        "text.jpg": "not an image", "cut.jpg": "damaged.*truncated", "empty.png": "is empty",
        "program.jpg": "PostScript document", "photo.heic": "sips -s format jpeg photo.heic",
        "pipe.jpg": "not a file", "folder.jpg": "not a file", "link.jpg": "no such file",
        "bomb.png": "more than 89,478,485 pixels", "odd.png": "10,000 x 10,000",
        "sparse.jpg": "larger than 1 GiB",
    }  # fmt: skip
    tracemalloc.start()
    for name, reason in reasons.items():
        with pytest.raises(decode.UnreadableError, match=reason):
            decode.decode(tmp_path / name, SIZE)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_pictures_below_a_folder_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    names = ["b/2.JPG", "b/1.png", "b.png", "a/ä é.webp", "a b.gif", "c/d/e/f.tiff"]
    for name in [*names, ".hidden.png", "b/._1.png", "b/.ipynb_checkpoints/1-checkpoint.png", "notes.txt"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "round").symlink_to(tmp_path)
    closed: list[tuple[str, str]] = []
    assert list(decode.iter_images(tmp_path, closed)) == sorted(names)
    assert not closed


def test_images_without_a_usual_suffix_are_found_by_their_first_bytes(tmp_path: Path) -> None:
    image = Image.new("RGB", (8, 8), "red")
    names = {"0001": "PNG", "photo.jpg_large": "JPEG", "scan.1": "TIFF", "x": "WEBP", "y": "BMP", "z": "GIF"}
    names["subject01.happy"] = "GIF"
    for name, kind in names.items():
        image.save(tmp_path / name, kind)
    for name in ("a.txt", "a.png.bak", "a.png~", "a.json"):
        image.save(tmp_path / name, "PNG")
    for name, content in {
        "README": b"BMW is no image",
        "clip": b"RIFF....AVI ",
        "empty": b"",
        "v": b"....ftypisom",
    }.items():
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe")
    assert list(decode.iter_images(tmp_path)) == sorted(names)


def test_a_folder_that_may_not_be_listed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "a.png").touch()
    (tmp_path / "shut").mkdir()
    plain = os.scandir

    def scandir(path: Path) -> object:
        if Path(path).name == "shut":
            raise PermissionError(13, "Permission denied")
        return plain(path)

    monkeypatch.setattr(os, "scandir", scandir)
    closed: list[tuple[str, str]] = []
    assert list(decode.iter_images(tmp_path, closed)) == ["open/a.png"]
    assert closed == [(str(tmp_path / "shut"), "Permission denied")]


def test_decoding_has_a_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a JPEG with a long comment, Pillow reads the same bytes again and again."""
    Image.new("RGB", (40, 40)).save(tmp_path / "a.jpg")
    content = (tmp_path / "a.jpg").read_bytes()
    comment = b"\xff\xfe\xff\xff" + bytes(65_533)
    (tmp_path / "slow.jpg").write_bytes(content[:2] + comment * 300 + content[2:])
    assert decode.decode(tmp_path / "slow.jpg", (8, 8)).shape == (8, 8, 3)
    monkeypatch.setattr(decode, "MOST_SECONDS", 0.001)
    with pytest.raises(decode.UnreadableError, match=r"it takes longer than 0\.001 s to decode"):
        decode.decode(tmp_path / "slow.jpg", (8, 8))


def test_photos_of_a_phone(tmp_path: Path) -> None:
    """HEIC, as pillow-heif writes and reads it, stored turned as phones do."""
    photo = half_red().resize((80, 60))
    exif = Image.Exif()
    exif[0x0112] = 6
    pillow_heif.from_pillow(photo.rotate(90, expand=True)).save(tmp_path / "a.HEIC", quality=95, exif=exif.tobytes())
    pixels = decode.decode(tmp_path / "a.HEIC", (60, 80))
    assert np.abs(pixels.astype(int) - np.asarray(photo, int)).mean() < 4
    (tmp_path / "cut.heic").write_bytes((tmp_path / "a.HEIC").read_bytes()[:200])
    with pytest.raises(decode.UnreadableError, match="damaged"):
        decode.decode(tmp_path / "cut.heic", SIZE)
