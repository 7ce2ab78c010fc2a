"""scripts/table_of.py: tables of names, of COCO's JSON, of two tables, and of lists."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from scripts import table_of


def table(*arguments: object) -> list[dict[str, str]]:
    """Write a table, and return its rows."""
    assert table_of.main([str(each) for each in arguments]) == 0
    target = next(each for each in arguments if str(each).endswith("out.csv"))
    with Path(str(target)).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_folders_and_parts_of_names_are_columns(tmp_path: Path) -> None:
    """KDEF and CORe50: the code is the rest of the name, the session is the outer folder."""
    for name in ("AF01/AF01ANS.jpg", "s1/o2/C_01_02-003.png", "note.txt"):
        (tmp_path / "set" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "set" / name).touch()
    first, second = table("names", tmp_path / "set", tmp_path / "out.csv")
    assert (first["image"], first["folder1"], first["rest"]) == ("AF01/AF01ANS.jpg", "AF01", "ANS")
    assert [second[f"folder{number}"] for number in (1, 2)] == ["s1", "o2"]
    assert [second[f"part{number}"] for number in range(1, 5)] == ["C", "01", "02", "003"]


@pytest.mark.parametrize(
    ("command", "content", "message"),
    [
        (["fasttext"], "good film\nbad film\n", "has no labels such as __label__good"),
        (["both", "--columns", "a", "b"], "a,b,a\n1,2,3\n4,5,6\n", "has several columns with the name 'a'"),
    ],
)
def test_a_table_that_would_lose_its_labels_or_a_column_is_refused(
    command: list[str], content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text(content)
    assert table_of.main([command[0], str(tmp_path / "a.csv"), str(tmp_path / "out.csv"), *command[1:]]) == 1
    assert message in capsys.readouterr().err


def test_a_file_larger_than_texts_are_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(20 << 30)
    assert table_of.main(["coco", str(tmp_path / "a.json"), str(tmp_path / "out.csv")]) == 1
    assert "a.json has 21,474,836,480 bytes" in capsys.readouterr().err


def test_coco_with_several_categories_and_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Caltech Camera Traps: an image without annotation is left out."""
    content = {
        "images": [{"id": str(n), "file_name": f"{n}.jpg", "location": 5, "seq_id": "q"} for n in range(3)],
        "annotations": [{"image_id": "0", "category_id": 1}, {"image_id": "0", "category_id": 2},
                        {"image_id": "1", "category_id": 2}],
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "bob cat"}],
    }  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(content))
    rows = table("coco", tmp_path / "a.json", tmp_path / "out.csv")
    assert [(row["image"], row["label"]) for row in rows] == [("0.jpg", "bob cat|cat"), ("1.jpg", "bob cat")]
    assert rows[0]["location"] == "5"
    assert "1 images have several categories" in capsys.readouterr().err
    (tmp_path / "b.json").write_text('{"images": []}')
    assert table_of.main(["coco", str(tmp_path / "b.json"), str(tmp_path / "c.csv")]) == 1
    assert "lacks annotations, categories" in capsys.readouterr().err


def test_coco_whose_ids_have_the_names_of_their_kinds(tmp_path: Path) -> None:
    """Herbarium 2022."""
    content = {
        "images": [{"image_id": "00_1", "file_name": "1.jpg"}, {"image_id": "00_2", "file_name": "2.jpg"}],
        "annotations": [{"image_id": "00_2", "category_id": 7}],
        "categories": [{"category_id": 7, "scientificName": "Abies alba"}],
    }
    (tmp_path / "a.json").write_text(json.dumps(content))
    assert table("coco", tmp_path / "a.json", tmp_path / "out.csv") == [{"image": "2.jpg", "label": "7"}]


@pytest.mark.parametrize(
    ("kind", "options", "has"),
    [("both", ["--columns", "a", "b"], "no tables"), ("texts", [], "no Parquet or ARFF files")],
)
def test_a_folder_without_files_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, options: list[str], has: str
) -> None:
    (tmp_path / "empty").mkdir()
    assert table_of.main([kind, str(tmp_path / "empty"), str(tmp_path / "out"), *options]) == 1
    assert f"{tmp_path / 'empty'} has {has}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_several_lists_in_json_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text('{"data": {"one": [{"a": 1}], "two": [{"a": 2}]}}')
    assert table_of.main(["texts", str(tmp_path / "a.json"), str(tmp_path / "out.csv")]) == 1
    assert "a.json has no list, or several side by side" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "options", "between"), [("plain", [], "\n"), ("chapters", ["--suffix", ".txt"], "\n\n")]
)
def test_texts_become_one_file(tmp_path: Path, kind: str, options: list[str], between: str) -> None:
    (tmp_path / "set").mkdir()
    for name, text in (("10.txt", "last"), ("2.txt", "first")):
        (tmp_path / "set" / name).write_text(text)
    (tmp_path / "a.json").write_text('{"all": [{"id": 1, "text": "first"}, {"id": 2, "text": "last"}]}')
    source = tmp_path / ("set" if kind == "chapters" else "a.json")
    assert table_of.main([kind, str(source), str(tmp_path / "out.txt"), *options]) == 0
    assert (tmp_path / "out.txt").read_text() == f"first{between}last"


def test_two_tables_with_several_rows_of_a_key(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("key;kind\n1;a\n1;b\n2;c\n")
    (tmp_path / "images.csv").write_text("image,key\nx.png,1\ny.png,2\nz.png,3\n")
    words = ("join", tmp_path / "labels.csv", tmp_path / "images.csv", tmp_path / "out.csv", "--on", "key")
    assert [(row["image"], row["kind"]) for row in table(*words)] == [("x.png", "a"), ("x.png", "b"), ("y.png", "c")]


@pytest.mark.parametrize("lines", [False, True])
def test_lists_of_texts_and_of_words(tmp_path: Path, lines: bool) -> None:
    """The intents of a chatbot, and the ingredients of a recipe."""
    rows = [{"tag": "hi", "patterns": ["good day", "hello you"], "responses": ["ok"]}]
    words = [{"id": 1, "cuisine": "greek", "ingredients": ["salt", "olive oil", "eggs"]}]
    for name, content in (("a.json", rows * 2), ("b.json", words * 2)):
        text = "\n".join(map(json.dumps, content)) if lines else json.dumps({"all": content})
        (tmp_path / name).write_text(text)
    texts = table("texts", tmp_path / "a.json", tmp_path / "out.csv")
    assert texts == [{"text": "good day", "tag": "hi"}, {"text": "hello you", "tag": "hi"}] * 2
    (tmp_path / "out.csv").unlink()
    assert table("texts", tmp_path / "b.json", tmp_path / "out.csv")[0]["ingredients"] == "salt olive oil eggs"


def test_nothing_is_overwritten_and_errors_are_sentences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken.csv").touch()
    assert table_of.main(["names", str(tmp_path), str(tmp_path / "taken.csv")]) == 1
    assert "already exists" in capsys.readouterr().err
    (tmp_path / "bad.json").write_text("{")
    for kind in ("coco", "texts"):
        assert table_of.main([kind, str(tmp_path / "bad.json"), str(tmp_path / "new.csv")]) == 1
        assert "cannot be read" in capsys.readouterr().err
    assert table_of.main(["names", str(tmp_path), str(tmp_path / "new.csv")]) == 1
    assert f"{tmp_path} has no images" in capsys.readouterr().err
    assert not (tmp_path / "new.csv").exists()


def test_two_columns_and_several_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "set").mkdir()
    for name in ("Fake", "True"):
        (tmp_path / "set" / f"{name}.csv").write_text("title,text\na title,a text\n")
    rows = table("files", tmp_path / "set", tmp_path / "out.csv")
    assert [(row["title"], row["class"]) for row in rows] == [("a title", "Fake"), ("a title", "True")]
    (tmp_path / "out.csv").unlink()
    source = tmp_path / "set" / "Fake.csv"
    assert table("both", source, tmp_path / "out.csv", "--columns", "title", "text") == [{"text": "a title a text"}]
    assert table_of.main(["both", str(source), str(tmp_path / "new.csv"), "--columns", "title", "body"]) == 1
    assert "has no columns title and body, but title, text" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "content", "options", "says"),
    [
        ("labels", "ID,Label\na_x,1\n", ["--column", "Id"], "has no column Id, but ID, Label"),
        (
            "coco",
            '{"images": [{"file_name": "a.png"}], "annotations": [], "categories": []}',
            [],
            "an entry of images has no id or image_id, but file_name",
        ),
        ("cvat", "<image", [], "cannot be read"),
    ],
)
def test_a_missing_key_or_half_a_file_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, content: str, options: list[str], says: str
) -> None:
    (tmp_path / "a").write_text(content)
    assert table_of.main([kind, str(tmp_path / "a"), str(tmp_path / "out.csv"), *options]) == 1
    assert says in capsys.readouterr().err


def test_a_table_or_a_folder_is_written_as_the_target_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "all.csv").write_text("title,text,part\na,b,train\nc,d,test\n")
    assert table_of.main(
        ["split", str(tmp_path / "all.csv"), str(tmp_path / "parts.csv"), "--column", "part"]
    ) == 1  # fmt: skip
    assert "parts.csv would be several tables: train, test" in capsys.readouterr().err
    words = ["both", str(tmp_path / "all.csv"), str(tmp_path / "joined"), "--columns", "title", "text"]
    assert table_of.main(words) == 0
    assert (tmp_path / "joined").read_text().splitlines()[1] == "a b,train"


def test_damaged_files_of_matlab_and_missing_label_files_are_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scipy.io.savemat(tmp_path / "a.mat", {"labels": np.arange(500)}, do_compression=True)
    whole = (tmp_path / "a.mat").read_bytes()
    for end in range(0, len(whole) - 1, 50):
        (tmp_path / "a.mat").write_bytes(whole[:end])
        assert table_of.main(["matlab", str(tmp_path / "a.mat"), str(tmp_path / "out.csv")]) == 1
    assert "a.mat cannot be read" in capsys.readouterr().err
    words = ["yolo", str(tmp_path), str(tmp_path / "out.csv"), "--folders", "images", "labels"]
    assert table_of.main(words) == 1
    assert "no label files" in capsys.readouterr().err


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Return the error of a command, which is one of the user's and writes nothing."""
    target = Path(str(next(each for each in arguments if str(each).endswith(("out.csv", "out.txt", "parts")))))
    before = sorted(target.parent.rglob("*"))
    assert table_of.main([str(each) for each in arguments]) == 1
    assert sorted(target.parent.rglob("*")) == before
    return capsys.readouterr().err


@pytest.mark.parametrize(
    "part", ["../notes", "/tmp/notes", "a/b", "a\\b", "..", ".", "", "x" * 300, ".hidden", "{home}/notes"]
)
def test_a_part_that_is_no_plain_name_of_a_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], part: str
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "notes.csv").write_text("of the user")
    part = part.format(home=tmp_path)
    (tmp_path / "all.csv").write_text(f"text,part\na,train\nb,{part}\n")
    printed = refused(capsys, "split", tmp_path / "all.csv", tmp_path / "parts", "--column", "part")
    assert "all.csv: the part" in printed
    assert "cannot be the name of a file" in printed
    assert len(printed) < 500
    assert (tmp_path / "notes.csv").read_text() == "of the user"


def test_parts_become_tables(tmp_path: Path) -> None:
    (tmp_path / "all.csv").write_text("text,part\na,Training\nb,test\nc,fold 1\n")
    words = ["split", str(tmp_path / "all.csv"), str(tmp_path / "new" / "parts"), "--column", "part"]
    assert table_of.main(words) == 0
    files = {path.name: path.read_text().split() for path in (tmp_path / "new").rglob("*") if path.is_file()}
    assert files == {"train.csv": ["text", "a"], "test.csv": ["text", "b"], "fold 1.csv": ["text", "c"]}


def test_a_key_that_a_table_lacks_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "labels.csv").write_text("key,kind\n1,a\n2,b\n,c\n")
    (tmp_path / "images.csv").write_text("image,key\nx.png,1\ny.png,\nz.png,3\n")
    words = ("join", tmp_path / "labels.csv", tmp_path / "images.csv", tmp_path / "out.csv", "--on")
    assert f"{tmp_path / 'labels.csv'} has no column nope, but key, kind" in refused(capsys, *words, "nope")
    assert f"{tmp_path / 'images.csv'} has no column kind, but image, key" in refused(capsys, *words, "kind")
    assert [row["image"] for row in table(*words, "key")] == ["x.png"]
    assert "labels.csv, and not in the table: 2" in capsys.readouterr().err


def boxes(tmp_path: Path, labels: bytes, names: str | None = None) -> tuple[object, ...]:
    """Write an image, its label file, and data.yaml; return the command."""
    for folder in ("images", "labels"):
        (tmp_path / "set" / folder).mkdir(parents=True)
    (tmp_path / "set" / "images" / "1.jpg").touch()
    (tmp_path / "set" / "labels" / "1.txt").write_bytes(labels)
    if names is not None:
        (tmp_path / "set" / "data.yaml").write_text(names)
    return "yolo", tmp_path / "set", tmp_path / "out.csv", "--folders", "images", "labels"


@pytest.mark.parametrize("names", ["names: [cat, dog]", "names: {0: cat, 1: dog}", "train: x\nnames: {1: dog, 0: cat}"])
def test_classes_of_boxes_have_the_names_of_their_numbers(tmp_path: Path, names: str) -> None:
    assert [row["labels"] for row in table(*boxes(tmp_path, b"1 .5 .5 .1 .1\n\n0 1 1 1 1\n", names))] == ["cat|dog"]


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (b"0 1\n-1 .5 .5 .1 .1\n", "1.txt, line 2: '-1' is not the number of 2 named classes"),
        (b"2 .5", "1.txt, line 1: '2' is not the number"),
        (b"cat .5", "1.txt, line 1: 'cat' is not the number"),
        (b"9" * 100_000, f"1.txt, line 1: '{'9' * 80}...' is not the number"),
        (b"0 .5\n\xff\xfe", "1.txt, line 2: byte 0xff in place 1 is not utf-8"),
    ],
)
def test_labels_that_are_no_numbers_of_classes_are_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], labels: bytes, says: str
) -> None:
    printed = refused(capsys, *boxes(tmp_path, labels, "names: [cat, dog]"))
    assert says in printed
    assert len(printed) < 1000


@pytest.mark.parametrize("names", ["names: 3", "names:", "names: []", "names: {a: b}", "names: [[1]]", "- cat", ""])
def test_names_of_classes_of_another_kind_are_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], names: str
) -> None:
    assert f"error: {tmp_path / 'set' / 'data.yaml'}" in refused(capsys, *boxes(tmp_path, b"0 1", names))


@pytest.mark.parametrize("folder", ["/etc", "", "..", "a/b"])
def test_folders_of_labels_are_plain_names(tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: str) -> None:
    *words, _ = boxes(tmp_path, b"0 1")
    assert f"--folders: {folder!r} cannot be the name" in refused(capsys, *words, folder)


def test_no_part_and_no_table_is_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "set").mkdir()
    files = [tmp_path / "set" / name for name in ("train.txt", "train.label", "training.txt", "training.label")]
    for file in files:
        file.write_text("a\n")
    assert f"{files[2]} is a second file of the train part" in refused(capsys, "paired", *files, tmp_path / "parts")
    assert f"{files[2]} has no file of labels" in refused(capsys, "paired", *files[:3], tmp_path / "parts")
    for name in ("a.csv", "a.tsv"):
        (tmp_path / "set" / name).write_text("x,y\n1,2\n".replace(",", "\t" if "tsv" in name else ","))
    words = "both", tmp_path / "set", tmp_path / "parts", "--columns", "x", "y"
    assert "set has two tables called a, such as a.tsv" in refused(capsys, *words)


@pytest.mark.parametrize("cell", ["{outside}", "../outside.txt", "link.txt", "deep/../../outside.txt", "folder/x.txt"])
def test_texts_outside_the_folder_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], cell: str) -> None:
    (tmp_path / "set" / "deep").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    for name in ("outside.txt", "other/x.txt", "set/own.txt"):
        (tmp_path / name).write_text("a text")
    (tmp_path / "set" / "link.txt").symlink_to(tmp_path / "outside.txt")
    (tmp_path / "set" / "folder").symlink_to(tmp_path / "other")
    own, source = tmp_path / "set" / "own.txt", tmp_path / "set" / "all.csv"
    words = "named", source, tmp_path / "out.csv", "--columns", "0", "1"
    source.write_text(f"own.txt,a\n{cell.format(outside=tmp_path / 'outside.txt')},b\n")
    assert f"which is outside of its folder {tmp_path / 'set'}" in refused(capsys, *words)
    source.write_text(f"own.txt,a\n{own},b\nmissing.txt,c\n")
    assert table(*words) == [{"text": "a text", "label": label} for label in "ab"]
    assert "and not in the table: 1" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["coco", "texts", "plain"])
def test_deeply_nested_json_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    (tmp_path / "a.json").write_text("[" * 100_000)
    assert "a.json cannot be read: it is nested too deeply" in refused(
        capsys, kind, tmp_path / "a.json", tmp_path / "out.csv"
    )


def test_a_damaged_line_of_json_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}\n{"a": \n')
    assert "a.json cannot be read: line 2: Expecting" in refused(
        capsys, "texts", tmp_path / "a.json", tmp_path / "out.csv"
    )


@pytest.mark.parametrize("name", ["next", ".hidden", "link"])
def test_a_folder_next_to_the_table_may_contain_all_texts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """TREC: full/index names ../data/inmail.1."""
    (tmp_path / "index").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / name).mkdir(exist_ok=True)
    for number in (1, 2):
        (tmp_path / name / f"{number}.txt").write_text("a text")
    (tmp_path / "index" / "all").write_text(f"../{name}/1.txt,a\n../{name}/2.txt,b\n")
    words = "named", tmp_path / "index" / "all", tmp_path / "out.csv", "--columns", "0", "1"
    if name == "next":
        assert [row["label"] for row in table(*words)] == ["a", "b"]
    else:
        assert f"names '../{name}/1.txt', which is outside" in refused(capsys, *words)


COCO = {"images": [{"id": 1, "file_name": "a.png"}], "annotations": [], "categories": [{"id": 1, "name": "cat"}]}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        *[(each, "lacks images, annotations, categories") for each in ([1, 2], "x", None, 3)],
        (COCO | {"images": [1]}, "an entry of images has no id or image_id, but 1"),
        (COCO | {"images": [{"id": [1], "file_name": "a.png"}]}, "an entry of images has the id '[1]'"),
        (COCO | {"images": [{"id": 1, "file_name": 3}]}, "an entry of images has the file_name '3'"),
        (COCO | {"categories": [{"id": {}}]}, "an entry of categories has the id '{}'"),
        (COCO | {"annotations": [{"image_id": 1, "category_id": [1]}]}, "annotations has the category_id '[1]'"),
        (COCO, "a.json has no annotations of its images"),
    ],
)
def test_other_json_than_that_of_coco_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: object, says: str
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(content))
    assert says in refused(capsys, "coco", tmp_path / "a.json", tmp_path / "out.csv")


def test_digits_of_any_alphabet_sort_chapters(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    for name in ("1٣2.txt", "1a2.txt", "1²2.txt", "10.txt", "9.txt"):
        (tmp_path / "set" / name).write_text(name)
    words = ["chapters", str(tmp_path / "set"), str(tmp_path / "out.txt"), "--suffix", ".txt"]
    assert table_of.main(words) == 0
    order = (tmp_path / "out.txt").read_text().split()
    assert order == ["1a2.txt", "1²2.txt", "1٣2.txt", "9.txt", "10.txt"]


def test_an_encoding_that_does_not_exist_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.xml").write_text('<?xml version="1.0" encoding="utf-99"?><annotations/>')
    assert "a.xml cannot be read: unknown encoding: utf-99" in refused(
        capsys, "cvat", tmp_path / "a.xml", tmp_path / "out.csv"
    )


@pytest.mark.parametrize("kind", ["names", "split"])
@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_interrupted_or_failed_command_leaves_nothing(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    failure: BaseException,
) -> None:
    """The files are written when the last step, renaming, fails."""
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a.jpg").touch()
    (tmp_path / "all.csv").write_text("text,part\na,train\nb,test\n")
    source, options = (tmp_path / "set", []) if kind == "names" else (tmp_path / "all.csv", ["--column", "part"])
    words, before = [kind, str(source), str(tmp_path / "out"), *options], sorted(tmp_path.rglob("*"))

    def fail(*_: object) -> None:
        assert len(list(tmp_path.iterdir())) == 3
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", fail)
        code = table_of.main(words)
    assert sorted(tmp_path.rglob("*")) == before
    expected = (130, "Interrupted.") if isinstance(failure, KeyboardInterrupt) else (1, "Cannot write ")
    printed = capsys.readouterr().err
    assert (code, expected[1] in printed) == (expected[0], True)
    assert code == 130 or f"error: Cannot write {tmp_path / 'out'}: No space left" in printed
    assert table_of.main(words) == 0


@pytest.mark.timeout(60)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize(
    ("command", "pipe"),
    [
        (["coco", "{}/p.json", "{}/out.csv"], "p.json"),
        (["names", "/dev/zero", "{}/out.csv"], "/dev/zero"),
        (["lists", "{}/set", "{}/out.csv", "--files", "{}/train.txt"], "train.txt"),
        (["matlab", "{}/set", "{}/out.csv"], "set/a.mat"),
        (["yolo", "{}/set", "{}/out.csv", "--folders", "images", "labels"], "set/labels/1.txt"),
        (["yolo", "{}/set", "{}/out.csv", "--folders", "images", "labels"], "set/data.yaml"),
        (["yolo", "{}/set", "{}/out.csv", "--folders", "images", "labels"], "set/classes.txt"),
        (["both", "{}/set", "{}/parts", "--columns", "x", "y"], "set/a.tsv"),
        (["files", "{}/set", "{}/out.csv"], "set/a.csv"),
        (["texts", "{}/set", "{}/out.csv"], "set/a.parquet"),
        (["chapters", "{}/set", "{}/out.txt", "--suffix", ".txt"], "set/7.txt"),
        (["named", "{}/set/t", "{}/out.csv", "--columns", "0", "1"], "set/7.txt"),
        (["names", "{}/set", "{}/out.csv"], "out.csv"),
    ],
)
def test_pipes_and_devices_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str], pipe: str
) -> None:
    for folder in ("images", "labels"):
        (tmp_path / "set" / folder).mkdir(parents=True)
    (tmp_path / "set" / "images" / "1.jpg").touch()
    (tmp_path / "set" / "labels" / "2.txt").write_text("0 1")
    (tmp_path / "set" / "t").write_text("7.txt,a\n8.txt,b\n")
    if not pipe.startswith("/"):
        os.mkfifo(tmp_path / pipe)
    printed = refused(capsys, *[argument.format(tmp_path) for argument in command])
    assert f"error: {tmp_path / pipe} is a pipe or a device" in printed


def test_a_target_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("x,y,part\n1,2,train\n")
    command = "both", tmp_path / "a.csv", tmp_path / "missing" / "out.csv", "--columns", "x", "y"
    assert table_of.main(list(map(str, command))) == 1
    assert f"error: Cannot write {tmp_path / 'missing' / 'out.csv'}: No such file" in capsys.readouterr().err
    command = "split", tmp_path / "a.csv", tmp_path / "a.csv" / "parts", "--column", "part"
    assert table_of.main(list(map(str, command))) == 1
    assert f"error: Cannot write {tmp_path / 'a.csv' / 'parts'}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["parts", "out.csv"])
def test_a_dangling_link_is_no_free_target(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (tmp_path / "a.csv").write_text("x,part\n1,train\n")
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    words = "split", tmp_path / "a.csv", tmp_path / name, "--column", "part"
    assert f"{tmp_path / name} already exists" in refused(capsys, *words)


@pytest.mark.parametrize(
    ("kind", "options", "says"),
    [
        ("names", [], "set has no images"),
        ("chapters", ["--suffix", ".tex"], "set has no files whose names end in .tex"),
        ("files", [], "set has no rows in .csv tables"),
        ("named", ["--columns", "0", "1"], "all.csv has no rows whose column 0 names a file below its folder"),
        ("split", ["--column", "part"], "all.csv has no column part, but no row"),
    ],
)
def test_an_error_about_no_content_names_the_path_and_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, options: list[str], says: str
) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "all.csv").write_text("text,part\n")
    source = tmp_path / ("all.csv" if kind in ("named", "split") else "set")
    assert says in refused(capsys, kind, source, tmp_path / "out.txt", *options)


@pytest.mark.parametrize(
    ("images", "parts", "says"),
    [
        ("1 a.jpg\n", "1 2 3\n", "train_test_split.txt: 1 2 3 is not the number of an image"),
        ("1 a.jpg\n", "2 1\n", "train_test_split.txt: 2 1 is not the number of an image"),
        ("1\n", "1 1\n", "images.txt, line 1: '1' is not a new number and a word"),
        ("1 a.jpg\n1 b.jpg", "1 1\n", "images.txt, line 2: '1 b.jpg' is not a new number and a word"),
    ],
)
def test_numbered_lists_of_another_shape_are_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], images: str, parts: str, says: str
) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a.jpg").touch()
    files = tmp_path / "images.txt", tmp_path / "train_test_split.txt"
    for file, content in zip(files, (images, parts), strict=True):
        file.write_text(content)
    assert says in refused(capsys, "lists", tmp_path / "set", tmp_path / "out.csv", "--files", *files)


def test_a_long_line_of_a_list_is_shortened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a.jpg").touch()
    (tmp_path / "train.txt").write_text("1" * 100_000)
    words = "lists", tmp_path / "set", tmp_path / "out.csv", "--files", tmp_path / "train.txt"
    assert len(refused(capsys, *words)) < 600


def test_texts_of_a_small_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("text,part,a,b\nonce upon a time,train,1,2\nthe end,test,3,4\n")
    assert table_of.main(["plain", str(tmp_path / "a.csv"), str(tmp_path / "out.txt")]) == 0
    assert "once upon a time\nthe end" in (tmp_path / "out.txt").read_text()
    (tmp_path / "out.txt").unlink()
    (tmp_path / "b.txt").write_text("Once upon a time, there was\na king.\n")
    assert "b.txt is neither a table nor JSON" in refused(capsys, "plain", tmp_path / "b.txt", tmp_path / "out.txt")


def test_json_lines_are_read_once(tmp_path: Path) -> None:
    lines = [{"messages": [{"text": "one"}, {"text": "two"}]}, {"messages": [{"text": "three"}]}]
    (tmp_path / "a.json").write_text("\n".join(map(json.dumps, lines)))
    assert table_of.main(["plain", str(tmp_path / "a.json"), str(tmp_path / "out.txt")]) == 0
    assert (tmp_path / "out.txt").read_text() == "one\ntwo\nthree"
