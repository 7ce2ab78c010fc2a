"""Names of classes: from a file of any usual kind, from one beside the weights, or ImageNet's."""

import hashlib
import json
from pathlib import Path

import pytest

from zoo.core.errors import ZooError
from zoo.weights import class_names

WANTED = ["no person", "person", "-= cat"]
INDEX = {name: number for number, name in enumerate(WANTED)}


def test_imagenet_has_its_own() -> None:
    # The checksum that Keras itself holds the file against.
    index = hashlib.md5(class_names.CLASS_INDEX.read_bytes(), usedforsecurity=False)
    assert index.hexdigest() == "c2c37ea517e94d9795004a39431a14cb"
    names = class_names.choose(None, Path("w.h5"), 1000)
    assert (names[0], names[281], names[999]) == ("tench", "tabby", "toilet_tissue")
    assert class_names.choose(None, Path("w.h5"), 2) == ["class 0", "class 1"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "no person\nperson\n-= cat\n"),
        ("a.txt", "\ufeffno person\r\nperson\r\n\r\n-= cat"),
        ("a.txt", "0 no person\n1 person\n2 -= cat\n"),
        ("a.names", "no person\nperson\n-= cat\n"),
        ("a.json", json.dumps(WANTED)),
        ("a.json", json.dumps(INDEX)),
        ("a.json", json.dumps({str(number): name for name, number in INDEX.items()})),
        ("a.json", json.dumps({str(number): [f"n{number}", name] for name, number in INDEX.items()})),
        ("config.json", json.dumps({"id2label": dict(enumerate(WANTED)), "label2id": INDEX, "num_channels": 3})),
    ],
)
def test_every_usual_kind_of_file_is_read(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert class_names.choose(str(tmp_path / name), tmp_path / "w.h5", 3) == WANTED


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.txt", b"one\ntwo\n", "names 2 classes, but the network has 3"),
        ("a.json", b'{"cat": 0, "dog": 5, "ox": 2}', "does not contain class names in a known order"),
        ("a.json", b"[1, 2, 3]", "does not contain class names"),
        ("a.json", b"{", "does not contain class names"),
        ("a.json", b"[" * 100_000, "does not contain class names"),
        ("a.txt", b"\xff\xfe\x00", "not text in UTF-8"),
    ],
)
def test_what_does_not_name_the_classes_is_refused(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ZooError, match=words):
        class_names.choose(str(tmp_path / name), tmp_path / "w.h5", 3)


def test_a_file_beside_the_weights_is_used_where_it_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = tmp_path / "w.h5"
    (tmp_path / "labels.txt").write_text("\n".join(WANTED))
    assert class_names.choose(None, weights, 3) == WANTED
    assert "Names of the classes: " in capsys.readouterr().err
    assert class_names.choose(None, weights, 2) == ["class 0", "class 1"]
    assert "labels.txt names 3 classes, but the network has 2: it is not used" in capsys.readouterr().err
    assert class_names.choose(None, weights, 3, published=True)[0] == "class 0"
    (tmp_path / "class_names.json").write_text('["a", "b", "c"]')
    assert class_names.choose(None, weights, 3) == ["a", "b", "c"]


def test_words_mean_classes_by_name_synset_number_or_order(capsys: pytest.CaptureFixture[str]) -> None:
    imagenet, unnamed = (class_names.choose(None, Path("w.h5"), count) for count in (1000, 3))
    of = class_names.labels_of
    assert of(["tench", "tabby"], imagenet, "The folders") == [0, 281]
    assert of(["n02123045", "n01440764"], imagenet, "The folders") == [281, 0]
    assert of(["Egyptian cat", "GREAT-GREY_owl"], imagenet, "The folders") == [285, 24]
    assert of(["281", "0"], imagenet, "The folders", by_number=True) == [281, 0]
    assert of(["a", "b", "c"], unnamed, "The folders") == [0, 1, 2]
    assert "The folders name the classes of the network in their order: a, b, c" in capsys.readouterr().err
    assert class_names.named_after(unnamed, ["b"], [1]) == ["class 0", "b", "class 2"]
    for words in (["281", "0"], ["tench", "n02123045"], ["tench", "maillot"]):
        with pytest.raises(ZooError, match="are not those of the network"):
            of(words, imagenet, "The folders")
    with pytest.raises(ZooError, match="no class of the network is called 'a', 'b'"):
        of(["a", "b"], unnamed, "The folders")
