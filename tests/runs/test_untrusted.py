"""zoo.runs.untrusted: files of a stranger's folder are read as far as they are small, plain and whole."""

import os
from pathlib import Path

import pytest

from zoo.core.errors import ZooError
from zoo.runs import untrusted


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (1, 1.0), (0.5, 0.5), (-1e29, -1e29), (True, None), ("1", None), (None, None), (1e30, None), (10**31, None),
        (float("nan"), None), (float("-inf"), None),
    ],
)  # fmt: skip
def test_numbers_are_finite(value: object, number: float | None) -> None:
    assert untrusted.finite(value) == number


@pytest.mark.parametrize(
    ("text", "number"), [("2.5", 2.5), ("", None), (None, None), ("x", None), ("inf", None), ("1e31", None)]
)
def test_numbers_in_cells(text: str | None, number: float | None) -> None:
    assert untrusted.number_in(text) == number


def test_long_texts_are_cut() -> None:
    assert untrusted.cut("abcde", 5) == "abcde"
    assert untrusted.cut("abcdef" + "x" * 1000, 5) == "abcde … (1,001 more characters)"


def test_only_small_regular_files_of_the_folder_count(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert untrusted.own_file(tmp_path, "a", 5) == tmp_path / "a"
    assert untrusted.own_file(tmp_path, "a", 4) is None
    for name in ("link", "folder", "pipe", "none", "a\0"):
        assert untrusted.own_file(tmp_path, name) is None


def test_tables_have_few_rows_and_cells_that_are_short(tmp_path: Path) -> None:
    assert untrusted.table(tmp_path, "a.csv") == []
    (tmp_path / "a.csv").write_bytes(b"a,'=b\n1,'=2,3\n\xff,\n4\n")
    assert untrusted.table(tmp_path, "a.csv") == [{"a": "1", "=b": "=2"}, {"a": "\ufffd", "=b": ""}, {"a": "4"}]
    assert len(untrusted.table(tmp_path, "a.csv", 2)) == 2
    names = [str(number) for number in range(untrusted.MOST_CELLS + 5)]
    (tmp_path / "b.csv").write_text(",".join(names) + "\n" + ",".join(names) + "\n")
    assert len(untrusted.table(tmp_path, "b.csv")[0]) == untrusted.MOST_CELLS


def test_texts_and_names_are_the_first_ones(tmp_path: Path) -> None:
    assert untrusted.text_file(tmp_path, "a.txt") == ""
    (tmp_path / "a.txt").write_bytes(b"ab\xffdef")
    assert untrusted.text_file(tmp_path, "a.txt", 4) == "ab\ufffdd"
    for number in range(60):
        (tmp_path / f"{number:02}.PNG").touch()
    (tmp_path / "99.png").symlink_to("00.PNG")
    result = untrusted.names(tmp_path, ".png", ".jpg")
    assert result == [f"{number:02}.PNG" for number in range(48)]
    assert untrusted.names(tmp_path / "none", ".png") == []


def test_json_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    assert untrusted.read_json(tmp_path, "a.json").value is None
    (tmp_path / "a.json").write_text('{"a": [1, 2.5, true, "x", 1e40]}')
    content = untrusted.read_json(tmp_path, "a.json")
    assert [row.number() for row in content.rows("a")] == [1.0, 2.5, None, None, None]
    for text in ("{", "[" * 100_000):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(ZooError, match=r"a\.json cannot be read"):
            untrusted.read_json(tmp_path, "a.json")


def test_a_record_that_is_too_long_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.json").write_text("{}    ")
    monkeypatch.setattr(untrusted, "MOST_RECORD_BYTES", 6)
    with pytest.raises(ZooError, match=r"run\.json is not the record of a run"):
        untrusted.read_record(tmp_path)
    monkeypatch.setattr(untrusted, "MOST_RECORD_BYTES", 5)
    with pytest.raises(ZooError, match="has 6 bytes and is not the record of a run"):
        untrusted.read_record(tmp_path)


def test_values_of_json_read_as_empty_where_they_are_of_another_type() -> None:
    content = untrusted.Untrusted(
        {"text": "a", "flag": True, "number": 2.5, "small": 10**29, "large": 10**30, "none": None,
         "list": ["x", 1, None, {}, "", False], "table": {"a": 1, "b": "2", "c": {"d": 3}}}
    )  # fmt: skip
    shown = {name: content.text(name) for name in ("text", "flag", "number", "small", "large", "none", "list", "x")}
    assert shown == {"text": "a", "flag": "true", "number": "2.5", "small": str(10**29), "large": "", "none": "",
                     "list": "", "x": ""}  # fmt: skip
    assert (content.number("number"), content.number("flag"), content.number("text")) == (2.5, None, None)
    assert content.part("table", "c", "d").value == content.number("table", "c", "d") == 3
    assert content.part("table", "a", "d").value is None
    assert [(name, row.value) for name, row in content.items("table")][:2] == [("a", 1), ("b", "2")]
    assert content.numbers("table") == [("a", 1.0)]
    assert content.words("list") == ["x", "1", "false"]
    assert content.items("list") == content.rows("table") == content.words("text") == []


def test_tables_and_lists_of_json_are_read_to_a_limit() -> None:
    many = untrusted.MOST_ROWS + 3
    content = untrusted.Untrusted({"list": list(range(many)), "table": {"x" * 3000 + str(n): n for n in range(many)}})
    assert len(content.rows("list")) == len(content.items("table")) == untrusted.MOST_ROWS
    assert content.items("table")[0][0].endswith("… (1,001 more characters)")
