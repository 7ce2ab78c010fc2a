"""scripts/table_of.py: tables of names, of COCO's JSON, of two tables, and of lists."""

import csv
import json
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
    ("kind", "options", "has"), [("both", ["--columns", "a", "b"], "no tables"), ("texts", [], "no Parquet files")]
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
    assert "There is nothing to write" in capsys.readouterr().err
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
        ("labels", "ID,Label\na_x,1\n", ["--column", "Id"], "has no key or column 'Id'"),
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
