"""Pictures in and out: true colours, EXIF, films, and files made to hurt."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms

from zoo.core.errors import ZooError
from zoo.data.images import decode, files
from zoo.data.images.files import ImageMetadata


def blocks(rows: int = 40, columns: int = 60) -> np.ndarray:
    """Left half red, right half blue."""
    array = np.zeros((rows, columns, 3), np.uint8)
    array[:, : columns // 2, 0], array[:, columns // 2 :, 2] = 200, 220
    return array


def read(path: Path) -> tuple[ImageMetadata, list[np.ndarray]]:
    metadata, frames = files.open_image(path)
    return metadata, list(frames)


@pytest.mark.parametrize("suffix", files.WRITTEN)
def test_every_format_is_written_and_read_again(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "new" / f"a{suffix.upper()}"
    files.write(path, [blocks()], ImageMetadata())
    _, (frame,) = read(path)
    assert frame.shape == (40, 60, 3)
    assert np.abs(frame.astype(int) - blocks())[:, :20].max() <= 8
    assert Image.open(path).format == files.WRITTEN[suffix][0]
    assert sorted(each.name for each in path.parent.iterdir()) == [path.name]


def test_exif_is_kept_and_the_picture_is_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "Maker"  # orientation: turned by a quarter; the camera's maker
    Image.fromarray(blocks()).save(tmp_path / "a.jpg", exif=exif)
    metadata, (frame,) = read(tmp_path / "a.jpg")
    assert frame.shape == (60, 40, 3)
    for name in ("b.jpg", "b.png", "b.webp", "b.tif"):
        files.write(tmp_path / name, [frame], metadata)
        kept = Image.open(tmp_path / name)
        assert kept.getexif()[0x010F] == "Maker"
        assert kept.getexif().get(0x0112, 1) == 1
        assert kept.size == (40, 60)


def test_colour_profiles_become_srgb(tmp_path: Path) -> None:
    """A picture tagged with a profile whose channels are swapped must not keep its numbers."""
    lab = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
    plain = blocks()
    Image.fromarray(plain).save(tmp_path / "srgb.png", icc_profile=lab.tobytes())
    _, (same,) = read(tmp_path / "srgb.png")
    assert np.abs(same.astype(int) - plain).max() <= 2
    Image.fromarray(plain).save(tmp_path / "linear.png", icc_profile=linear_profile())
    _, (lighter,) = read(tmp_path / "linear.png")
    assert lighter[0, 0, 0] > 220  # 200 of linear light is a brighter red in sRGB
    Image.fromarray(plain).save(tmp_path / "broken.png", icc_profile=b"no profile at all")
    _, (kept,) = read(tmp_path / "broken.png")
    np.testing.assert_array_equal(kept, plain)


def linear_profile() -> bytes:
    """sRGB's own profile, its curves replaced by straight ones."""
    raw = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    count = int.from_bytes(raw[128:132], "big")
    for index in range(count):
        entry = raw[132 + 12 * index : 144 + 12 * index]
        if entry[:4] in (b"rTRC", b"gTRC", b"bTRC"):
            at, size = int.from_bytes(entry[4:8], "big"), int.from_bytes(entry[8:12], "big")
            raw[at : at + size] = (b"curv" + bytes(4) + bytes(4)).ljust(size, b"\0")[:size]
    return bytes(raw)


@pytest.mark.parametrize("suffix", [".gif", ".webp", ".png"])
def test_films_keep_their_frames_and_times(tmp_path: Path, suffix: str) -> None:
    frames = [np.roll(blocks(), 5 * number, axis=1) for number in range(4)]
    images = [Image.fromarray(frame) for frame in frames]
    path = tmp_path / f"a{suffix}"
    images[0].save(path, save_all=True, append_images=images[1:], duration=[50, 100, 150, 200], loop=0)
    metadata, decoded = read(path)
    assert metadata.durations == (50, 100, 150, 200)
    off = [float(np.abs(a.astype(int) - b).mean()) for a, b in zip(frames, decoded, strict=True)]
    assert max(off) < 12, off  # frames are 5 columns apart, which is 20 and more; lossy WebP is a few
    files.write(tmp_path / f"b{suffix}", decoded, metadata)
    assert read(tmp_path / f"b{suffix}")[0].durations == metadata.durations


def test_a_film_that_breaks_off_gives_the_frames_before(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    images = [Image.fromarray(random.integers(0, 255, (40, 60, 3), np.uint8)) for _ in range(4)]
    images[0].save(tmp_path / "a.gif", save_all=True, append_images=images[1:], duration=50)
    content = (tmp_path / "a.gif").read_bytes()
    (tmp_path / "a.gif").write_bytes(content[: len(content) * 6 // 10])
    try:
        _, frames = read(tmp_path / "a.gif")
    except decode.UnreadableError:
        return
    assert 1 <= len(frames) < 4


@pytest.mark.parametrize("mode", ["RGBA", "LA", "L", "1", "P", "CMYK", "I;16"])
def test_every_mode_becomes_rgb(tmp_path: Path, mode: str) -> None:
    name = "a.tif" if mode == "CMYK" else "a.png"
    if mode == "I;16":
        Image.fromarray(np.full((4, 6), 40_000, np.uint16)).save(tmp_path / name)
    else:
        Image.fromarray(blocks()).convert("RGBA").convert(mode if mode != "CMYK" else "RGB").convert(mode).save(
            tmp_path / name
        )
    _, (frame,) = read(tmp_path / name)
    assert frame.dtype == np.uint8
    assert frame.shape[2] == 3


def test_what_is_there_survives_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(b"mine")
    with pytest.raises(ZooError, match="another suffix"):
        files.write(path, [np.zeros((70_000, 1, 3), np.uint8)], ImageMetadata())  # JPEG ends at 65,535
    assert path.read_bytes() == b"mine"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ZooError, match=r"End the name in \.jpg"):
        files.write(tmp_path / "a.xyz", [blocks()], ImageMetadata())


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Image.Image, path: Path, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "a.png").write_bytes(b"mine")
    monkeypatch.setattr(Image.Image, "save", full)
    with pytest.raises(ZooError, match="No space left"):
        files.write(tmp_path / "a.png", [blocks()], ImageMetadata())
    assert (tmp_path / "a.png").read_bytes() == b"mine"


def ring(columns: int = 60, rows: int = 40) -> Image.Image:
    """A picture whose right half is transparent."""
    image = Image.fromarray(blocks(rows, columns)).convert("RGBA")
    image.paste((0, 0, 0, 0), (columns // 2, 0, columns, rows))
    return image


@pytest.mark.parametrize("suffix", [".png", ".webp", ".tif", ".gif"])
def test_what_is_transparent_stays_so_at_any_size(tmp_path: Path, suffix: str) -> None:
    ring().save(tmp_path / f"a{suffix}")
    metadata, (frame,) = read(tmp_path / f"a{suffix}")
    files.write(tmp_path / f"b{suffix}", [frame.repeat(2, 0).repeat(2, 1)], metadata)
    alpha = np.asarray(Image.open(tmp_path / f"b{suffix}").convert("RGBA"))[..., 3]
    assert alpha.shape == (80, 120)
    assert (alpha[:, :58] == 255).all()
    assert (alpha[:, 62:] == 0).all()


def test_transparency_becomes_white_where_a_format_has_none_and_is_not_made_up(tmp_path: Path) -> None:
    ring().save(tmp_path / "a.png")
    metadata, frames = read(tmp_path / "a.png")
    files.write(tmp_path / "b.jpg", frames, metadata)
    assert np.asarray(Image.open(tmp_path / "b.jpg"))[20, 50].min() > 240
    Image.fromarray(blocks()).convert("RGBA").save(tmp_path / "opaque.png")
    metadata, frames = read(tmp_path / "opaque.png")
    assert metadata.transparent is None
    files.write(tmp_path / "c.png", frames, metadata)
    assert Image.open(tmp_path / "c.png").mode == "RGB"


@pytest.mark.parametrize("plays", [0, 1, 3])
@pytest.mark.parametrize("suffix", [".gif", ".webp", ".png"])
def test_an_animation_plays_as_often_as_before(tmp_path: Path, suffix: str, plays: int) -> None:
    """GIF counts how often it is shown again, WebP and PNG how often it is shown."""
    loop = {0: {"loop": 0}, 1: {}, 3: {"loop": 2}}[plays] if suffix == ".gif" else {"loop": plays}
    frames = [ring().rotate(90 * turn) for turn in range(3)]
    keys = {"kmin": 1, "kmax": 1}
    frames[0].save(tmp_path / f"a{suffix}", save_all=True, append_images=frames[1:], duration=50, **loop, **keys)
    metadata, pictures = read(tmp_path / f"a{suffix}")
    assert metadata.plays == plays
    for target in (".gif", ".webp", ".png"):
        files.write(tmp_path / f"b{target}", pictures, metadata)
        again, copies = read(tmp_path / f"b{target}")
        assert (again.plays, again.durations, len(copies)) == (plays, (50, 50, 50), 3)
        with Image.open(tmp_path / f"b{target}") as image:
            image.seek(1)
            assert image.convert("RGBA").getchannel("A").getextrema() == (0, 255)


FILM = {
    "a b.mp4": b"\0\0\0\x20ftypisom" + bytes(50),
    "a b.mov": b"\0\0\0\x14ftypqt  " + bytes(50),
    "a b.mkv": b"\x1aE\xdf\xa3" + bytes(50),
    "a b.avi": b"RIFF\0\0\0\0AVI LIST" + bytes(50),
    "a b.ts": (b"G" + bytes(187)) * 3,
}


@pytest.mark.parametrize("name", FILM)
def test_a_video_is_told_with_the_command_that_makes_frames_of_it(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILM[name])
    with pytest.raises(decode.UnreadableError) as caught:
        files.open_image(tmp_path / name)
    assert f"it is a video; extract its frames: mkdir frames && ffmpeg -i '{name}'" in str(caught.value)


@pytest.mark.parametrize("suffix", files.MOVING)
def test_an_animation_has_a_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    images = [Image.new("RGB", (64, 64), (4 * number, 0, 0)) for number in range(60)]
    images[0].save(tmp_path / f"a{suffix}", save_all=True, append_images=images[1:])
    assert len(read(tmp_path / f"a{suffix}")[1]) >= 20
    monkeypatch.setattr(files, "MOST_SECONDS", 0.0)
    with pytest.raises(decode.UnreadableError, match="takes longer than 0 s to decode"):
        files.open_image(tmp_path / f"a{suffix}")
