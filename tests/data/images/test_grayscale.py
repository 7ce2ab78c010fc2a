"""zoo.data.images.grayscale: pictures, folders and arrays as a model was trained on, or refused with a reason."""

import contextlib
import io
import os
import struct
import tempfile
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from zoo.core.errors import ZooError
from zoo.data.images import grayscale, reading

SHAPE = (28, 28, 1)
FUZZ = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def seven(width: int = 200, height: int = 260, ink: int = 0, paper: int = 255) -> Image.Image:
    """A written 7, off the centre of its page."""
    page = Image.new("L", (width, height), paper)
    lines = [(30, 40), (110, 40), (60, 170)]
    ImageDraw.Draw(page).line(lines, fill=ink, width=14, joint="curve")
    return page


def load(path: Path, style: str = "digits") -> np.ndarray:
    inputs = grayscale.load(str(path), SHAPE, style)
    return whole(inputs)


def whole(inputs: grayscale.Inputs) -> np.ndarray:
    """All of the pictures, through the file that a worker reads."""
    with tempfile.TemporaryDirectory() as folder:
        inputs.save(Path(folder) / "x.npy")
        array: np.ndarray = np.load(Path(folder) / "x.npy")
    assert array.shape == (len(inputs.names), *SHAPE)
    assert array.dtype == np.uint8
    return array


def one(picture: Image.Image, path: Path, style: str = "digits", **options: object) -> np.ndarray:
    picture.save(path, **options)
    return load(path, style)[0, ..., 0].astype(int)


def difference(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.abs(first - second).mean())


# Style digits


def test_a_grey_picture_of_the_size_is_used_byte_for_byte(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (28, 28), np.uint8)
    for style in reading.STYLES:
        assert np.array_equal(one(Image.fromarray(noise), tmp_path / "noise.png", style), noise)


def test_drawn_like_mnist(tmp_path: Path) -> None:
    drawn = one(seven(), tmp_path / "7.png")
    rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
    assert max(np.ptp(rows), np.ptp(columns)) + 1 == 20
    assert drawn.max() == 255
    mass = drawn.sum()
    assert abs(drawn.sum(axis=1) @ np.arange(28) / mass - 14) < 0.6
    assert abs(drawn.sum(axis=0) @ np.arange(28) / mass - 14) < 0.6
    assert (columns.max() - columns.min()) < (rows.max() - rows.min())


@pytest.mark.parametrize(
    "page",
    [
        seven(ink=255, paper=0),
        seven(ink=60, paper=200),
        seven(700, 300),
        seven(200, 260).resize((800, 1040), Image.Resampling.LANCZOS),
    ],
    ids=["white on black", "grey on grey", "wide page", "large"],
)
def test_ink_paper_place_and_size_do_not_matter(tmp_path: Path, page: Image.Image) -> None:
    reference = one(seven(), tmp_path / "reference.png")
    assert difference(one(page, tmp_path / "page.png"), reference) < 2.0


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "I;16", "I", "F"])
def test_modes_do_not_matter(tmp_path: Path, mode: str) -> None:
    reference = one(seven(), tmp_path / "reference.png")
    page, suffix = seven(), ".tif"
    if mode in ("I;16", "I"):
        page = Image.fromarray(np.asarray(page).astype(np.uint16 if mode == "I;16" else np.int32) * 257)
    elif mode == "F":
        page = Image.fromarray(np.asarray(page).astype(np.float32) / 255)
    else:
        page = page.convert(mode)
    assert page.mode == mode
    assert difference(one(page, tmp_path / f"page{suffix}"), reference) < 1.0


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".bmp", ".gif", ".tiff", ".webp", ".ppm", ".JPEG"])
def test_formats_do_not_matter(tmp_path: Path, suffix: str) -> None:
    reference = one(seven(), tmp_path / "reference.png")
    assert difference(one(seven().convert("RGB"), tmp_path / f"page{suffix}"), reference) < 3.0


@pytest.mark.parametrize("kind", ["alpha", "palette"])
def test_transparent_parts_are_white(tmp_path: Path, kind: str) -> None:
    reference = one(seven(), tmp_path / "reference.png")
    alpha = Image.eval(seven(), lambda value: 255 - value)
    page = Image.merge("RGBA", [*Image.new("RGB", alpha.size, "black").split(), alpha])
    if kind == "alpha":
        assert difference(one(page, tmp_path / "page.png"), reference) < 1.0
    else:
        clear = seven().convert("1").convert("P")
        clear.putpalette([0, 0, 0] * 256)
        assert difference(one(clear, tmp_path / "page.gif", transparency=255), reference) < 2.0


def test_the_camera_says_which_way_is_up(tmp_path: Path) -> None:
    reference = one(seven(), tmp_path / "reference.png")
    lying = seven().transpose(Image.Transpose.ROTATE_90)
    exif = Image.Exif()
    exif[0x0112] = 6
    assert difference(one(lying, tmp_path / "lying.jpg", exif=exif), reference) < 3.0
    assert difference(one(lying, tmp_path / "as-it-is.jpg"), reference) > 20.0


@pytest.mark.parametrize("size", [(1, 1), (1, 400), (400, 1), (3, 3), (28, 28), (29, 27)])
def test_any_size(tmp_path: Path, size: tuple[int, int]) -> None:
    page = Image.new("RGB", size, "white")
    page.putpixel((size[0] // 2, size[1] // 2), (0, 0, 0))
    one(page, tmp_path / "page.png")
    one(page, tmp_path / "page.png", "plain")


def test_a_blank_page_is_said_to_be_blank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not one(Image.new("RGB", (40, 50), "grey"), tmp_path / "page.png").any()
    assert "page.png is blank" in capsys.readouterr().err


def test_a_photo_of_shaded_paper(tmp_path: Path) -> None:
    reference = one(seven(), tmp_path / "reference.png")
    shade = np.linspace(0, 25, 260)[:, None] + np.random.default_rng(0).normal(0, 4, (260, 200))
    photo = 205 - shade - (255 - np.asarray(seven(), np.float64)) * 0.55
    taken = one(Image.fromarray(photo.clip(0, 255).astype(np.uint8)), tmp_path / "photo.jpg")
    assert difference(taken, reference) < 8.0


def test_real_digits_survive_printing_and_scanning(shared_data: Path, tmp_path: Path) -> None:
    from zoo.data import idx

    originals = idx.read(shared_data / "mnist" / "t10k-images-idx3-ubyte.gz", (28, 28))[:40]
    for index, original in enumerate(originals):
        printed = Image.fromarray(255 - original).resize((280, 280), Image.Resampling.LANCZOS)
        printed.convert("RGB").save(tmp_path / f"{index:02}.png")
    scanned = load(tmp_path)[..., 0].astype(int)
    assert difference(scanned, originals) < 10.0
    distances = np.abs(scanned[:, None] - originals[None]).mean(axis=(2, 3))
    # Slim ones look so alike that two may be taken for each other.
    assert (distances.argmin(axis=1) == np.arange(40)).sum() >= 38


# Style plain


def test_plain_resizes_and_never_inverts(tmp_path: Path) -> None:
    page = Image.new("RGB", (280, 140), "white")
    page.paste((0, 0, 0), (0, 0, 140, 140))
    drawn = one(page, tmp_path / "page.png", "plain")
    assert (drawn[:, :13] < 5).all()
    assert (drawn[:, 15:] > 250).all()


# Folders


def test_folders_are_read_in_order_and_through(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("c.png", "b/2.jpg", "b/1.PNG", "a.bmp"):
        seven().save(tmp_path / name)
    for name in ("notes.txt", "._c.png", "array.npy"):
        (tmp_path / name).write_bytes(b"other things")
    inputs = grayscale.load(str(tmp_path), SHAPE, "digits")
    assert inputs.names == ["a.bmp", "b/1.PNG", "b/2.jpg", "c.png"]
    assert whole(inputs).shape == (4, *SHAPE)
    assert inputs.skipped == []


def test_unreadable_pictures_are_left_out_with_their_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seven().save(tmp_path / "good.png")
    whole = (tmp_path / "good.png").read_bytes()
    bad = {"cut.png": whole[: len(whole) // 2], "empty.png": b"", "text.png": b"I am a text file.\n"}
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
    inputs = grayscale.load(str(tmp_path), SHAPE, "digits")
    assert inputs.names == ["good.png"]
    reasons = dict(inputs.skipped)
    assert set(reasons) == set(bad)
    assert "damaged" in reasons["cut.png"]
    assert "empty" in reasons["empty.png"]
    assert "not an image" in reasons["text.png"]
    assert [line.startswith("WARNING: Skipped ") for line in capsys.readouterr().err.splitlines()][-3:] == [True] * 3
    (tmp_path / "good.png").unlink()
    with pytest.raises(ZooError, match=r"No usable images(.|\n)*cut.png: it is damaged(.|\n)*text.png"):
        load(tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in bad} == bad


def test_a_folder_without_pictures(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(ZooError, match="No images in"):
        load(tmp_path)


# Refused


def test_missing_and_odd_paths(tmp_path: Path) -> None:
    seven().save(tmp_path / "seven.png")
    with pytest.raises(ZooError, match=r"no file or folder .*did you mean 'seven.png'"):
        load(tmp_path / "sevne.png")
    with pytest.raises(ZooError, match="no file or folder"):
        load(tmp_path / "absent" / "x.png")
    for odd in ("a" * 300, "nul\0.png", "~nobody-here/x.png"):
        with pytest.raises(ZooError):
            grayscale.load(odd, SHAPE, "digits")
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(ZooError, match="neither a file nor a folder"):
        load(tmp_path / "pipe.png")


@pytest.mark.parametrize("content", [b"", b"I am a text file.\n", b"\x89PNG\r\n\x1a\n", b"%!PS-Adobe-3.0 EPSF-3.0\n"])
def test_what_is_no_picture(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "page.png").write_bytes(content)
    with pytest.raises(
        ZooError,
        match=r"page.png cannot be used: (the file is empty|it is not an image|it is damaged|it is a PostScript)",
    ):
        load(tmp_path / "page.png")


def test_a_decompression_bomb_is_refused_before_it_unpacks(tmp_path: Path) -> None:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    for side in (10_000, 60_000):
        header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
        content = chunk(b"IDAT", zlib.compress(bytes(1_000_000))) + chunk(b"IEND", b"")
        (tmp_path / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + header + content)
        tracemalloc.start()
        with pytest.raises(ZooError, match="more than 89,478,485 pixels"):
            load(tmp_path / "bomb.png")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
        tracemalloc.stop()


def test_grey_values_out_of_range(tmp_path: Path) -> None:
    for values in (np.full((30, 30), 1000.0), np.full((30, 30), -1.0), np.full((30, 30), np.nan)):
        Image.fromarray(values.astype(np.float32)).save(tmp_path / "page.tif")
        with pytest.raises(ZooError, match="gray values go from"):
            load(tmp_path / "page.tif")


def test_unknown_styles_and_shapes(tmp_path: Path) -> None:
    seven().save(tmp_path / "page.png")
    with pytest.raises(ZooError, match="did you mean 'digits'"):
        load(tmp_path / "page.png", "digit")
    with pytest.raises(ZooError, match=r"inputs of shape \(28, 28, 3\)"):
        grayscale.load(str(tmp_path / "page.png"), (28, 28, 3), "plain")


# Arrays

BYTES = np.random.default_rng(1).integers(0, 256, (3, 28, 28), np.uint8)


@pytest.mark.parametrize("shape", [(3, 28, 28), (3, 28, 28, 1), (3, 784)])
@pytest.mark.parametrize("kind", ["u1", "<f4", ">f8", "<f2"])
def test_arrays_are_taken_as_they_are(tmp_path: Path, shape: tuple[int, ...], kind: str) -> None:
    values = BYTES if kind == "u1" else BYTES / 255
    np.save(tmp_path / "x.npy", np.asfortranarray(values.reshape(shape).astype(kind)))
    inputs = grayscale.load(str(tmp_path / "x.npy"), SHAPE, "digits")
    assert np.array_equal(whole(inputs)[..., 0], BYTES)
    assert inputs.names == ["x.npy[0]", "x.npy[1]", "x.npy[2]"]


def test_one_picture_as_an_array(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", BYTES[0])
    inputs = grayscale.load(str(tmp_path / "x.npy"), SHAPE, "plain")
    assert inputs.names == ["x.npy"]
    assert np.array_equal(whole(inputs)[0, ..., 0], BYTES[0])


def test_a_large_array_is_read_in_parts(tmp_path: Path) -> None:
    many = np.random.default_rng(1).integers(0, 256, (20_000, 28, 28), np.uint8)
    np.save(tmp_path / "x.npy", many)
    tracemalloc.start()
    inputs = grayscale.load(str(tmp_path / "x.npy"), SHAPE, "digits")
    inputs.save(tmp_path / "copy.npy")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < many.nbytes
    assert np.array_equal(np.load(tmp_path / "copy.npy")[..., 0], many)
    np.save(tmp_path / "y.npy", np.concatenate([many[:6000] / 255, np.full((1, 28, 28), np.nan)]))
    with pytest.raises(ZooError, match="go from nan to nan"):
        grayscale.load(str(tmp_path / "y.npy"), SHAPE, "digits")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((3, 32, 32), np.uint8), r"shape \(3, 32, 32\)"),
        (np.zeros((0, 28, 28), np.uint8), r"shape \(0, 28, 28\)"),
        (np.zeros((28, 28, 3), np.uint8), r"shape \(28, 28, 3\)"),
        (np.zeros((), np.uint8), r"shape \(\)"),
        (np.zeros((3, 28, 28), np.int64), "type int64"),
        (np.zeros((3, 28, 28), bool), "type bool"),
        (np.zeros((3, 28, 28), complex), "type complex128"),
        (np.zeros((3, 28, 28), [("r", "u1")]), "type "),
        (np.full((3, 28, 28), 255.0), "go from 255 to 255"),
        (np.full((3, 28, 28), -0.5), "go from -0.5 to -0.5"),
        (np.full((3, 28, 28), np.nan), "go from nan to nan"),
        (np.full((3, 28, 28), np.inf, np.float16), "go from inf to inf"),
    ],
)
def test_other_arrays_are_refused(tmp_path: Path, array: np.ndarray, words: str) -> None:
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(ZooError, match=words):
        load(tmp_path / "x.npy")


class Trap:
    """Leaves a mark when it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (os.environ["ZOO_TRAP"],)


def test_objects_are_never_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_TRAP", str(tmp_path / "sprung"))
    np.save(tmp_path / "x.npy", np.array([Trap()] * 784, dtype=object).reshape(1, 784), allow_pickle=True)
    with pytest.raises(ZooError, match="cannot be read"):
        load(tmp_path / "x.npy")
    assert not (tmp_path / "sprung").exists()


def npy(header: str, content: bytes = b"") -> bytes:
    padded = header.encode() + b" " * (117 - len(header) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded + content


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04 an archive",
        npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3, 28, 28)}", bytes(100)),
        npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1099511627776, 28, 28)}", bytes(100)),
        npy("{'descr': '|u1', 'fortran_order': False, 'shape': (9223372036854775807, 28, 28)}", bytes(100)),
        npy("{'descr': '|u1', 'fortran_order': False, 'shape': (-1, 28, 28)}", bytes(784)),
        npy("__import__('os').abort()"),
        b"\x93NUMPY\x01\x00\xff\xff{",
        b"\x93NUMPY\x09\x00\x10\x00{",
    ],
)
def test_damaged_arrays_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.npy").write_bytes(content)
    tracemalloc.start()
    with pytest.raises(ZooError, match=r"x.npy (is not a .npy array|cannot be read)"):
        load(tmp_path / "x.npy")
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


# Arbitrary bytes: an array or a ZooError, never anything else

HEADER = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 28, 28), }", bytes(1568))


@FUZZ
@given(head=st.sampled_from([b"", b"\x93NUMPY", b"\x93NUMPY\x01\x00\x76\x00", HEADER[:30]]), tail=st.binary())
def test_any_bytes_as_an_array(tmp_path: Path, head: bytes, tail: bytes) -> None:
    survive(tmp_path / "x.npy", head + tail)


@FUZZ
@given(data=st.data())
def test_any_damage_to_an_array(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(HEADER)
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(6, 80))] = data.draw(st.one_of(st.integers(32, 126), st.integers(0, 255)))
    survive(tmp_path / "x.npy", bytes(content[: data.draw(st.integers(100, len(content)))]))


def encoded(kind: str) -> bytes:
    stream = io.BytesIO()
    seven(60, 60).save(stream, kind)
    return stream.getvalue()


ENCODED = {kind: encoded(kind) for kind in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")}


@FUZZ
@given(data=st.data(), kind=st.sampled_from(sorted(ENCODED)))
def test_any_damage_to_a_picture(tmp_path: Path, data: st.DataObject, kind: str) -> None:
    content = bytearray(ENCODED[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    survive(tmp_path / "page.png", bytes(content[: data.draw(st.integers(0, len(content)))]))


def survive(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with contextlib.suppress(ZooError):
        load(path)


def test_paths_on_standard_input_are_for_photos() -> None:
    with pytest.raises(ZooError, match="input=- is only for models of color photos"):
        grayscale.load("-", SHAPE, "digits")
