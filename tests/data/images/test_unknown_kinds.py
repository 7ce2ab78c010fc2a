"""zoo.data.images.unknown_kinds: what a file is that is no image, and what makes images of it."""

import os
from pathlib import Path

import pytest
from PIL import Image

from zoo.config.schemas.image_classification import DataSettings
from zoo.core.errors import ZooError
from zoo.data.images import folder_scan, image_table, unknown_kinds

TRANSPORT = b"G" + bytes(187) + b"G"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\0\0\0\x18ftypheic", "it is HEIC"),
        (b"\0\0\0\x18ftypavif", "it is AVIF"),
        (b"\0\0\0\x18ftypisom", "it is a video; extract its frames: mkdir frames && ffmpeg -i 'a b'"),
        (b"\x1aE\xdf\xa3", "it is a video"),
        (b"RIFF\0\0\0\0AVI ", "it is a video"),
        (b"RIFF\0\0\0\0WAVE", "it is a sound recording; it is not an image"),
        (b"II*\0" + bytes(99), "it is a TIFF that cannot be read, such as one of more than 4 bands"),
        (bytes(128) + b"DICM", "it is a medical image"),
        (TRANSPORT, "it is a video"),
        (TRANSPORT[:-1], "it is not an image"),
        (b"GIF8" + TRANSPORT[4:], "it is not an image"),
        (b"  %PDF-1.7", "it is a PDF document; save it as PNG"),
        (b"<svg", "it is an SVG drawing"),
        (b"version https://git-lfs.github.com/spec/v1", "it is a pointer to a file that git-lfs did not fetch"),
        (b"<!DOCTYPE html>", "it is a web page; download the image itself"),
        (b"", "it is not an image of a supported format"),
    ],
)
def test_a_file_is_named_by_its_first_bytes(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "a b"
    path.write_bytes(content)
    assert unknown_kinds.describe(path).startswith(words)


@pytest.mark.usefixtures("without_heif")
def test_heic_without_its_decoder(tmp_path: Path) -> None:
    (tmp_path / "a b").write_bytes(b"\0\0\0\x18ftypheic")
    reason = unknown_kinds.describe(tmp_path / "a b")
    assert "[heic]" in reason
    assert "or save it as JPEG: `sips -s format jpeg 'a b' --out 'a b.jpg'` on macOS" in reason


def test_a_suffix_of_heic_is_believed_where_the_content_says_nothing(tmp_path: Path) -> None:
    for name, words in (("a.HEIC", "it is HEIC"), ("a.heif", "it is HEIC"), ("a.png", "it is not an image")):
        (tmp_path / name).write_bytes(b"?")
        assert unknown_kinds.describe(tmp_path / name).startswith(words)
    (tmp_path / "b.heic").write_bytes(b"\0\0\0\x18ftypisom")
    assert unknown_kinds.describe(tmp_path / "b.heic").startswith("it is a video")


@pytest.mark.parametrize("source", ["clip.mp4", "CLIP.MOV", "a/b c.mkv", "none.webm"])
def test_a_video_is_known_by_its_suffix(source: str) -> None:
    answer = unknown_kinds.moving(source)
    assert answer is not None
    assert answer[0] == f"{source} is a video, and images are classified"
    assert answer[1].startswith("Make images of its frames: mkdir frames && ffmpeg -i ")
    assert answer[1].endswith(" -vf fps=1 frames/%05d.png")


def test_a_video_without_its_suffix_is_known_by_its_content(tmp_path: Path) -> None:
    for content, is_video in (
        (TRANSPORT, True),
        (b"\0\0\0\x18ftypisom", True),
        (b"\0\0\0\x18ftypheic", False),
        (b"", False),
    ):
        (tmp_path / "file").write_bytes(content)
        assert (unknown_kinds.moving(str(tmp_path / "file")) is not None) == is_video


@pytest.mark.parametrize(
    ("source", "is_camera"),
    [
        ("camera", True), ("Webcam:1", True), ("/dev/video0", True), ("0", True), ("rtsp://host/a", True),
        ("10", False), ("cameras", False), ("https://example.org/a.mp4", False), ("photo.png", False),
    ],
)  # fmt: skip
def test_a_camera_is_known_by_its_name(source: str, is_camera: bool) -> None:
    answer = unknown_kinds.moving(source)
    assert (answer is not None) == is_camera
    if answer:
        assert answer[0] == f"{source} is a camera or a stream, and images are classified"
        assert "ffmpeg -i clip.mp4" in answer[1]


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_file_or_folder_that_is_called_like_a_camera_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("camera").mkdir() if kind == "folder" else Path("camera").touch()
    assert unknown_kinds.moving("camera") is None


@pytest.mark.parametrize(
    "content",
    ["label,pixel0,pixel1\n3,0,0\n", "pixel0,pixel1\n0,0\n", '"label","1x1","1x2"\n3,0,0\n', "5" + ",0" * 784 + "\n",
     "emotion,pixels,Usage\n0,70 80 82,Training\n"],
)  # fmt: skip
def test_a_table_of_pixels_is_named(tmp_path: Path, content: str) -> None:
    table = tmp_path / "train.csv"
    table.write_text(content)
    assert unknown_kinds.of_file(table)[0] == "is a table of pixels, not a folder"
    for scan in (lambda: folder_scan.scan(str(tmp_path)), lambda: folder_scan.scan(str(table)),
                 lambda: image_table.scan(DataSettings(name="image_table", root=str(table)))):  # fmt: skip
        with pytest.raises(ZooError, match="is a table of pixels") as caught:
            scan()
        assert caught.value.remedy.startswith(
            "Write each row as an image into the folder of its class: python scripts/im"
        )


def test_a_table_of_words_is_not_one_of_pixels(tmp_path: Path) -> None:
    table = tmp_path / "train.csv"
    table.write_text("label,text\n1,pixels are small\n")
    assert unknown_kinds.of_file(table)[0] == "is a table, not a folder"


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.bin")
    with pytest.raises(ZooError, match="which is an array or a table of images"):
        folder_scan.scan(str(tmp_path))


def test_the_kind_of_most_files_explains_a_folder(tmp_path: Path) -> None:
    for name in ("pos/1.txt", "pos/2.txt", "neg/1.txt", "metadata.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a text")
    with pytest.raises(ZooError, match="is a text") as caught:
        folder_scan.scan(str(tmp_path))
    assert "data=text_folder" in caught.value.remedy


@pytest.mark.parametrize("name", ["train", "set.pkl"])
def test_a_pickle_is_not_opened_and_a_way_out_is_printed(tmp_path: Path, name: str) -> None:
    """CIFAR-100: pickles without a suffix."""
    (tmp_path / name).write_bytes(b"\x80\x02}q\x00." if name == "train" else b"x")
    with pytest.raises(ZooError, match=r"which is a Python pickle") as caught:
        folder_scan.scan(str(tmp_path))
    for words in ("keras.datasets.cifar100.load_data()", "python scripts/images_of_arrays.py set.npz FOLDER"):
        assert words in caught.value.remedy


def test_a_picture_next_to_records_does_not_hide_them(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "pieces.tfrecord").write_bytes(bytes(99))
    Image.new("RGB", (9, 9)).save(tmp_path / "preview.jpg")
    with pytest.raises(
        ZooError, match=r"has few images, such as 'preview.jpg', but files such as train/pieces.tfrecord"
    ):
        folder_scan.scan(str(tmp_path))
