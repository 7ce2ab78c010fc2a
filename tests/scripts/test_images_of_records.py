"""scripts/images_of_records.py: images in TFRecord files as files in class folders."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from scripts import images_of_records
from zoo.data.images import unknown_kinds
from zoo.runs import event_files

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d494844520000000200000002080000000057dd52f80000000e49444154089963606060606000000006000185c2"
    "99bc0000000049454e44ae426082"
)
# Written by tf.io.TFRecordWriter of TensorFlow 2.21: image/encoded, image/height, bbox (floats), and a label as a
# number (-1 and 300) and as a word (daisy and rose).
OF_TENSORFLOW = bytes.fromhex(
    "d2000000000000002653d0da0acf010a150a0c696d6167652f68656967687412051a030a01080a5c0a0d696d6167652f656e636f6465641"
    "24b0a490a4789504e470d0a1a0a0000000d494844520000000200000002080000000057dd52f80000000e4944415408996360606060600000"
    "0006000185c299bc0000000049454e44ae4260820a230a11696d6167652f636c6173732f6c6162656c120e1a0c0a0affffffffffffffffff0"
    "10a1d0a10696d6167652f636c6173732f7465787412090a070a0564616973790a140a0462626f78120c120a0a080000003f0000803fd2e7d4"
    "0ec900000000000000353dc6ce0ac6010a150a0c696d6167652f68656967687412051a030a01080a5c0a0d696d6167652f656e636f64656412"
    "4b0a490a4789504e470d0a1a0a0000000d494844520000000200000002080000000057dd52f80000000e49444154089963606060606000000"
    "006000185c299bc0000000049454e44ae4260820a1b0a11696d6167652f636c6173732f6c6162656c12061a040a02ac020a1c0a10696d6167"
    "652f636c6173732f7465787412080a060a04726f73650a140a0462626f78120c120a0a080000003f0000803fc37afc32"
)


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, *varint(len(content))]) + content


def varint(value: int) -> bytes:
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + varint(rest) if rest else bytes([low])


def example(**features: bytes | int) -> bytes:
    entries = []
    for name, value in features.items():
        values = field(1, field(1, value)) if isinstance(value, bytes) else field(3, field(1, varint(value)))
        entries.append(field(1, field(1, name.encode()) + field(2, values)))
    return field(1, b"".join(entries))


def records(path: Path, contents: Iterable[bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        for content in contents:
            size = len(content).to_bytes(8, "little")
            out.write(size + event_files.masked_crc(size) + content + bytes(4))
    return path


def folders(root: Path) -> dict[str, int]:
    files = [path for path in root.rglob("*") if path.is_file()]
    names = {str(path.parent.relative_to(root)) for path in files}
    return {name: sum(path.parent == root / name for path in files) for name in sorted(names)}


def test_a_file_of_tensorflow_itself(tmp_path: Path) -> None:
    """The word is the class, or the number if it is named; a number may be negative."""
    (tmp_path / "flowers-train.tfrecord").write_bytes(OF_TENSORFLOW)
    source = str(tmp_path / "flowers-train.tfrecord")
    assert images_of_records.main([source, str(tmp_path / "words")]) == 0
    assert folders(tmp_path / "words") == {"train/daisy": 1, "train/rose": 1}
    (image,) = (tmp_path / "words/train/rose").iterdir()
    assert (image.read_bytes(), image.suffix) == (PNG, ".png")
    assert images_of_records.main([source, str(tmp_path / "numbers"), "--label", "image/class/label"]) == 0
    assert folders(tmp_path / "numbers") == {"train/-1": 1, "train/300": 1}


def test_shards_parts_and_names_of_tensorflow_datasets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "beans/0.1.0"
    for shard in range(2):
        name = f"beans-train.tfrecord-0000{shard}-of-00002"
        records(root / name, (example(image=PNG, label=n % 2) for n in range(4)))
    records(root / "beans-test.tfrecord-00000-of-00001", [example(image=PNG, label=1)])
    (root / "label.labels.txt").write_text("healthy\nrust\n")
    assert images_of_records.main([str(tmp_path), str(tmp_path / "out")]) == 0
    assert folders(tmp_path / "out") == {"test/rust": 1, "train/healthy": 4, "train/rust": 4}
    assert f"data.root={tmp_path / 'out'}" in capsys.readouterr().err
    about, remedy = unknown_kinds.instead(root) or ("", "")
    assert "a TFRecord file of images or other records" in about
    assert "scripts/images_of_records.py" in remedy


def test_images_without_a_label_are_counted_and_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Kaggle's Cassava: the test part has names only."""
    records(tmp_path / "set/train_tfrecords/a.tfrec", [example(image=PNG, target=n % 3) for n in range(6)])
    records(tmp_path / "set/test_tfrecords/b.tfrec", [example(image=PNG, image_name=b"1.jpg")])
    assert images_of_records.main([str(tmp_path / "set"), str(tmp_path / "out")]) == 0
    assert folders(tmp_path / "out") == {"train/0": 2, "train/1": 2, "train/2": 2}
    assert "1 image without a label: not written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not a record at all", "is not a TFRecord file, or is damaged"),
        (OF_TENSORFLOW[:-40], "is truncated"),
        (None, "has no TFRecord file"),
    ],
)
def test_other_files_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, words: str
) -> None:
    if content is not None:
        (tmp_path / "a.tfrecord").write_bytes(content)
    assert images_of_records.main([str(tmp_path), str(tmp_path / "out")]) == 1
    assert words in capsys.readouterr().err


def test_records_without_an_image_a_label_or_a_usable_class_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for content, words in (
        (example(text=b"fine", label=1), "record 1: no feature is an image: label (1 int), text (1 bytes)"),
        (example(image=PNG, height=3), "has no image with a label: height (1 int), image (1 bytes)"),
        (example(image=PNG, label=b"../up"), "the class '../up' cannot be the name of a file or folder"),
        (b"\xff\xff\xff", "record 1 is not a tf.train.Example"),
    ):
        file = records(tmp_path / "a.tfrecord", [content])
        assert images_of_records.main([str(file), str(tmp_path / "out")]) == 1
        assert words in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.png"))
    (tmp_path / "there").mkdir()
    assert images_of_records.main([str(tmp_path / "a.tfrecord"), str(tmp_path / "there")]) == 1
    assert "already exists" in capsys.readouterr().err


def test_an_empty_file_is_named_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.tfrecord").touch()
    assert images_of_records.main([str(tmp_path / "a.tfrecord"), str(tmp_path / "out")]) == 1
    assert "a.tfrecord has no records" in capsys.readouterr().err


def test_nothing_is_left_of_an_interrupted_or_failed_conversion(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    records(tmp_path / "set" / "a.tfrecord", [example(image=PNG, label=1)] * 2)
    (tmp_path / "set" / "b.tfrecord").write_bytes(OF_TENSORFLOW[:-40])
    given = [str(tmp_path / "set"), str(tmp_path / "out")]
    assert images_of_records.main(given) == 1
    assert "b.tfrecord is truncated" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["set"]
    assert images_of_records.main([str(tmp_path / "none"), given[1]]) == 1
    assert "There is no file or folder" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr(images_of_records, "parsed", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert images_of_records.main(given) == 130
    assert "Interrupted." in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["set"]
