"""Tables as they are published: with and without header, quotes, commas in texts, in any encoding, with bad rows."""

import gzip
import json
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import scripts
from zoo.config.overrides import Overrides
from zoo.config.schemas.text import LabelledData
from zoo.core.errors import ZooError
from zoo.data.text import dataset, sources, tables
from zoo.data.text.labelled_texts import LabelledTexts

NUMBERED = {"label_column": "0", "text_column": "1"}


def read(path: Path, content: str | bytes, **settings: object) -> LabelledTexts:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return sources.source_of(LabelledData(name="text_table", root=str(path), **settings)).read()  # type: ignore[arg-type]


def refusal(path: Path, content: str | bytes, **settings: object) -> str:
    with pytest.raises(ZooError) as caught:
        read(path, content, **settings)
    return str(caught.value)


# In the manner of a set of short messages: tabs, no header, quotes that are never closed.
MESSAGES = 'ham\t"Go until jurong, he said\nspam\tFree entry, in 2 a "wkly" comp\nham\tU dun say "so\nspam\tWIN "\n' * 3


def test_messages_with_lone_quotes_and_no_header_are_all_read(tmp_path: Path) -> None:
    texts = read(tmp_path / "Messages", MESSAGES, **NUMBERED)
    assert (len(texts.texts), texts.class_names) == (12, ["ham", "spam"])
    assert texts.texts[:2] == ['"Go until jurong, he said', 'Free entry, in 2 a "wkly" comp']
    note, _ = texts.notes
    assert note.endswith(
        "Messages: separated by tabs, quotes are plain signs; no header; utf-8; text in column 1, label in column 0"
    )


@pytest.mark.parametrize(
    ("name", "row", "said"),
    [
        ("a.csv", '"3","Title, one","He said ""no"", \\\nand left; so | it goes"\n', "separated by commas"),
        ("a.csv", '3;"Titel";"3,50 Euro; ""gut"", 1,20 Euro"\n', "separated by semicolons"),
        ("a.txt", "3|title, one|fine; really, fine; so\n", "separated by pipes"),
        ("a.csv", "3\ttitle, one\tfine, really, fine\n", "separated by tabs"),
        ("a.csv", "3@title, one@fine; really, fine\n", "separated by '@'"),
        ("a.csv", "3\tTitle @user |LBR| one\tfine |LBR| fine\n", "separated by tabs"),
        ("a.txt", "3_!_title one_!_fine: really (fine)\n", "separated by '_!_'"),
        ("a.dat", "3::title one::fine: it's http://a/b\n", "separated by '::'"),
        ("a.txt", "3 ||| title, one ||| fine\n", "separated by '|||'"),
        ("a.txt", "3\t\ttitle, one\t\tfine\n", r"separated by '\t\t'"),
        ("a", '3,t,"he said \\"no\\", and left"\n', "backslashes before quotes within"),
    ],
)
def test_the_delimiter_is_told_from_the_content_and_said(tmp_path: Path, name: str, row: str, said: str) -> None:
    given = {"delimiter": "@"} if "@t" in row else {}
    texts = read(tmp_path / name, row * 5 + row.replace("3", "4", 1) * 5, label_column="0", text_column="2", **given)
    assert (len(texts.texts), texts.class_names) == (10, ["3", "4"])
    assert said in texts.notes[0]


def test_the_words_of_a_text_are_whole_whatever_separates_them(tmp_path: Path) -> None:
    rows = "".join(f"{label},he came, he saw, {label}\n" for label in "ab" * 9)
    assert "3 columns" not in refusal(tmp_path / "a.csv", f"label,text\n{rows}")
    texts = read(tmp_path / "b.csv", f"label;text\n{rows.replace(',', ';', 1)}".replace("b,", "b;").replace("a,", "a;"))
    assert set(texts.texts) == {"he came, he saw, a", "he came, he saw, b"}


def test_a_label_before_the_first_blank(tmp_path: Path) -> None:
    lines = "".join(f"__label__{number % 2} Great: a film, {number}\n" for number in range(8))
    texts = read(tmp_path / "train.ft.txt", lines, **NUMBERED)
    assert (texts.texts[1], texts.class_names) == ("Great: a film, 1", ["__label__0", "__label__1"])
    assert "separated by the first blank of a line" in texts.notes[0]
    assert read(tmp_path / "b", "a x\nb y\n", delimiter="space", **NUMBERED).texts == ["x", "y"]
    lines = "".join(f"{number % 2} Texas#mayor#Lee#some text {number}\n" for number in range(8))
    assert read(tmp_path / "train.txt", lines, **NUMBERED).class_names == ["0", "1"]


def test_numbers_of_columns_say_that_there_is_no_header_unless_the_first_row_is_one(tmp_path: Path) -> None:
    body = "ham,one\nspam,two\nham,three\nspam,four\n"
    assert len(read(tmp_path / "a.csv", body, **NUMBERED).texts) == 4
    texts = read(tmp_path / "a.csv", f"v1,v2\n{body}", **NUMBERED)
    assert (texts.texts[0], texts.class_names) == ("one", ["ham", "spam"])
    assert "; a header;" in texts.notes[0]
    assert len(read(tmp_path / "a.csv", f"v1,v2\n{body}", header=False, **NUMBERED).texts) == 5
    assert len(read(tmp_path / "a.csv", body, header=True, **NUMBERED).texts) == 3
    assert len(read(tmp_path / "a.csv", f"0,1\n{body}", **NUMBERED).texts) == 4


@pytest.mark.parametrize(
    ("content", "settings", "words"),
    [
        ("ham,one\nspam,two\nham,three\nspam,four\nham,five\n", {},
         "it has no header, and you mean data.text_column=1 data.label_column=0"),
        ("sentence,mark\na b c,1\nc d e,0\ne f g,1\nh i j,0\n", {},
         "you mean data.text_column=sentence data.label_column=mark"),
        ("ham,one\nspam,two\n", {"label_column": "0"}, "columns are all numbers or all names"),
        ("ham,one\nspam,two\n", {"label_column": "0", "text_column": "2"}, "its 2 columns are counted from 0"),
        ("".join(f"a text{', and' * (row % 3)} {row}@{'pn'[row % 2]}\n" for row in range(8)), {},
         "it has no header, and you mean data.text_column=0 data.label_column=1"),
        ("".join(f"{word} text {row}\t{row % 2}\n" for row in range(6) for word in ("good", "bad")), {},
         "you mean data.text_column=0 data.label_column=1"),
        ("".join(f"{word} text {row}\n" for row in range(6) for word in ("good", "bad")), {},
         "If the first word of each line, such as 'good', is its label: data.text_column=1 data.label_column=0"),
        ("".join(f"{row % 2},{row},Mon Apr 06 22:19 2009,fine {row}\n" for row in range(8)), {},
         "you mean data.text_column=3 data.label_column=0"),
        ("one\ntwo\n", {}, "only one column"),
        ("one\ntwo\n", NUMBERED, "only one column"),
        ("", {}, "the file is empty"),
        (b"\xef\xbb\xbf\r\n", {}, "the file is empty"),
        ('{"text": "fine", "label": 1}\n', {}, "is JSON, but not a list of objects with two keys or more"),
        ("".join(f"{'mf'[row % 2]},{['joy', 'fear', 'shame'][row % 3]},some words {row}\n" for row in range(12)), {},
         "data.label_column=1 (such as 'fear'); the labels may also be in 0 (such as 'f')"),
        ("sex,emotion,said\n" + "".join(f"{'mf'[row % 2]},{['joy', 'fear', 'shame'][row % 3]},some words {row}\n"
                                        for row in range(12)), {},
         "you mean data.text_column=said data.label_column=emotion"),
        ("sex,diagnosis,said\n" + "".join(f"{'mf'[row % 2]},{['flu', 'cold', 'none'][row % 3]},some words {row}\n"
                                          for row in range(12)), {},
         "you mean data.text_column=said data.label_column=diagnosis"),
        ("".join(f"some words, {row} __label__{'ab'[row % 2]}\n" for row in range(12)), NUMBERED,
         "__label__NAME, at the end of each line"),
        ('["fine", "dull"]', {"delimiter": "comma"}, "has no column 'text'"),
        ('{"train": [["fine", "1"]], "test": []}', {}, "is JSON, one object with the parts train, test, not a table"),
        ('{"val": [["a long text", "1"]]' + " " * 70_000 + "}", {}, "is JSON, one object with the parts val, not a"),
        ('{"text": ["fine", "dull"], "label": [1, 0]}', {}, "as one object a line"),
        (b"PK\x03\x04...", {}, "Save the sheet as CSV"),
        (b"PK\x05\x06" + bytes(18), {}, "an empty zip archive"),
        (b"PAR1....", {}, "read_parquet"),
        ("<?xml version='1.0'?>\n<rows/>", {}, "is XML or HTML"),
        ("text,label\nfine,1\n", {"label_column": "text"}, "texts and labels are one column, 0"),
        ("text,label\nfine\0,1\n", {}, "line 2: a NUL byte"),
    ],
)  # fmt: skip
def test_what_makes_no_table_is_said_with_what_would_do(
    tmp_path: Path, content: str | bytes, settings: dict[str, str], words: str
) -> None:
    assert words in refusal(tmp_path / "a.csv", content, **settings)


def test_rows_of_a_wrong_width_are_counted_and_left_out_or_refused(tmp_path: Path) -> None:
    good = "".join(f"text {number},{'ab'[number % 2]}\n" for number in range(30))
    content = f"text,label\n{good}one, two,a\nshort\nempty,\nlast,b\n,,\n"
    texts = read(tmp_path / "a.csv", content)
    assert len(texts.texts) == 31
    assert [(where.rpartition(", ")[2], reason) for where, reason in texts.skipped] == [
        ("line 32", "3 columns instead of 2"),
        ("line 33", "1 columns instead of 2"),
        ("line 34", "the label is empty"),
    ]  # fmt: skip
    assert "line 32: 3 columns instead of 2" in refusal(tmp_path / "a.csv", content, strict=True)
    many = f"text,label\n{good}" + "one, two,a\n" * 9
    assert "9 of 39 texts cannot be used: 9 times 3 columns instead of 2" in refusal(tmp_path / "a.csv", many)


def test_a_row_with_a_lost_quote_is_left_out_and_those_after_it_are_read(tmp_path: Path) -> None:
    rows = [f'"text, {number}",{"ab"[number % 2]}\n' for number in range(30)]
    rows[4] = '"text" 4,a\n'
    texts = read(tmp_path / "a.csv", "text,label\n" + "".join(rows))
    assert len(texts.texts) == 29
    assert texts.skipped == [(f"{tmp_path / 'a.csv'}, line 6", "',' expected after '\"': a quote is lost")]
    rows[15:] = ['"never closed, a\n', *(f"plain {number},a\n" for number in range(14))]
    assert "16 of 30 texts cannot be used" in refusal(tmp_path / "a.csv", "text,label\n" + "".join(rows))


def test_cells_that_a_spreadsheet_adds_at_the_end_are_no_columns(tmp_path: Path) -> None:
    texts = read(tmp_path / "a.csv", "label,text,,,\nham,one,,,\nspam,two\nham,three,,,\n", strict=True)
    assert texts.texts == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("encoding", "said"),
    [("utf-8-sig", "utf-8-sig"), ("utf-16", "utf-16"), ("utf-16-le", "utf-16-le"), ("utf-16-be", "utf-16-be"),
     ("utf-32", "utf-32"), ("cp1252", "cp1252")],
)  # fmt: skip
def test_encodings_are_told_from_the_bytes_and_said(tmp_path: Path, encoding: str, said: str) -> None:
    content = "text;label\r\nschön für 3,50 €;gut\r\nnaïve;schlecht\r\n".encode(encoding)
    texts = read(tmp_path / "a.csv", content)
    assert texts.texts == ["schön für 3,50 €", "naïve"]
    assert f"; {said}; " in texts.notes[0]


def test_the_delimiter_that_excel_writes_before_the_header_is_read(tmp_path: Path) -> None:
    texts = read(tmp_path / "a.csv", "sep=|\r\ntext|label\r\nfine, good|a\r\ndull, bad|b\r\n")
    assert texts.texts == ["fine, good", "dull, bad"]


def test_packed_tables_and_lines_within_quotes_are_read(tmp_path: Path) -> None:
    content = 'text,label\r\n"fine,\r\nreally ""fine""\r\n",a\r\ndull,b\r\n'
    texts = read(tmp_path / "a.csv.gz", gzip.compress(content.encode()))
    assert texts.texts == ['fine,\r\nreally "fine"\r\n', "dull"]
    assert "damaged" in refusal(tmp_path / "b.csv.gz", b"no gzip")
    assert "damaged" in refusal(tmp_path / "b.csv.gz", gzip.compress(content.encode())[:-12])


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_lines_that_no_table_has_are_refused_with_their_number(tmp_path: Path, name: str) -> None:
    content = b"text,label\nfine,good\nfine," + bytes(18 << 20).replace(b"\0", b"a") + b"\ndull,bad\n"
    content = gzip.compress(content, 1) if name.endswith(".gz") else content
    assert "line 3: it is longer than 16,777,216 bytes" in refusal(tmp_path / name, content)


def test_json_on_one_long_line_is_a_table(tmp_path: Path) -> None:
    rows = [{"text": f"{word} {'a' * (9 << 20)}", "label": word} for word in ("up", "down")]
    assert read(tmp_path / "t.json", json.dumps(rows)).class_names == ["down", "up"]


def test_labels_that_differ_in_capitals_or_blanks_are_one_class(tmp_path: Path) -> None:
    content = "text,label\na,Spam\nb, spam \nc,spam\nd,very  Good\ne,very good\nf,very good\n"
    texts = read(tmp_path / "a.csv", content)
    assert (texts.class_names, texts.labels) == (["spam", "very good"], [0, 0, 0, 1, 1, 1])
    assert "The labels 'spam' (2) and 'Spam' (1) are one class, 'spam'" in texts.notes
    assert "differ in capitals, blanks or codes of accents only" in refusal(tmp_path / "a.csv", content, strict=True)
    assert read(tmp_path / "a.csv", content + "g,other\n", classes=["SPAM", "other"]).class_names == ["other", "spam"]
    said = refusal(tmp_path / "a.csv", content, classes=["spam", "very god"])
    assert "no text of very god, which data.classes names; did you mean 'very" in said


def test_blank_texts_are_counted_and_ends_of_lines_are_none(tmp_path: Path) -> None:
    assert read(tmp_path / "a.csv", "text,label\nfine,a\n  ,a\n<br />,b\ndull,b\n\n\n").blank == 2
    for name, content in (("good.txt", "fine\r\n\r\ngood\r\n"), ("bad.txt", "dull\rbad\r")):
        (tmp_path / name).write_bytes(content.encode())
    texts = sources.source_of(LabelledData(name="text_lines", root=str(tmp_path))).read()
    assert (texts.texts, texts.blank) == (["dull", "bad", "fine", "good"], 1)


def test_parts_of_any_suffix_are_read(tmp_path: Path) -> None:
    for part, rows in (("train", 6), ("test", 4), ("val", 2)):
        (tmp_path / f"{part}.txt").write_text(
            "".join(f"i feel it, {n};{'joy' if n % 2 else 'anger'}\n" for n in range(rows))
        )
    row = LabelledData(name="text_table", root=str(tmp_path), text_column="0", label_column="1")
    (tmp_path / "all.txt").write_text("i feel it, 0;joy\n")
    texts = sources.source_of(row).read()
    assert texts.parts == ["train"] * 6 + ["validation"] * 2 + ["test"] * 4
    assert texts.notes[0] == "Not read: all.txt"
    (tmp_path / "test.txt").write_text("only\n")
    with pytest.raises(ZooError, match=r"test\.txt has only one column") as caught:
        sources.source_of(row).read()
    assert "name the training table alone" in caught.value.remedy


def test_numeric_labels_and_a_column_of_numbers_by_pandas(tmp_path: Path) -> None:
    texts = read(tmp_path / "a.csv", ",text,label\n0,fine,4\n1,dull,0\n2,good,4\n")
    assert (texts.class_names, texts.labels) == (["0", "4"], [1, 0, 1])


def test_json_is_a_table_and_its_damaged_lines_are_problems(tmp_path: Path) -> None:
    lines = [{"text": f"it's fine, {n}\nyes" if n % 2 else f"dull {n}", "label": n % 2 == 1} for n in range(40)]
    texts = read(tmp_path / "a.csv", "\n".join(map(json.dumps, lines)) + "\n{damaged\n")
    assert (texts.class_names, len(texts.texts), texts.texts[1]) == (["false", "true"], 40, "it's fine, 1\nyes")
    assert texts.skipped == [(f"{tmp_path / 'a.csv'}, line 41", "it is not a JSON object")]
    whole = read(tmp_path / "b.csv", json.dumps(lines, indent=1))
    assert (whole.texts, whole.skipped) == (texts.texts, [])
    assert "JSON objects, their keys as columns; utf-8; text in column" in whole.notes[0]


def test_words_of_a_class_are_labels_only_if_each_is_a_class() -> None:
    names = ["Negative", "Extremely Negative", "Positive", "Extremely Positive", "Neutral"]
    assert tables.joined_labels(names) == []
    assert tables.joined_labels(["a", "b", "a b"])
    cards = {
        f"{rank} of {suit}" for rank in ("ace", "two", "king", "ten", "six") for suit in ("clubs", "hearts", "spades")
    }
    assert tables.several_labels(cards) == ""
    assert tables.joined_labels(["a", "b", "a, c", "b, c"])


def test_columns_without_a_title_and_a_second_column_of_texts_are_reported(tmp_path: Path) -> None:
    rows = "".join(f"{'ham' if n % 2 else 'spam'},some words {n}{',and,' if n == 3 else ',,'}\n" for n in range(12))
    texts = read(tmp_path / "a.csv", f"label,text,,\n{rows}")
    assert (len(texts.texts), texts.skipped) == (12, [])
    assert "columns without a title are not used" in texts.notes[0]
    rows = "".join(f"{n % 2},{n},which way is it {n},where do we go {n}\n" for n in range(12))
    notes = read(tmp_path / "b.csv", f"label,id,text,question2\n{rows}").notes
    assert notes[0].endswith("; column question2 contains texts too")


def test_single_quotes_around_texts(tmp_path: Path) -> None:
    """The articles of 10kGNAD."""
    rows = "".join(f"{'Web' if n % 2 else 'Sport'};'it''s; about {n}'\n" for n in range(12))
    plain = "".join(f"{'Web' if n % 2 else 'Sport'};it's about {n}\n" for n in range(12))
    texts = read(tmp_path / "a.csv", rows + plain, text_column="1", label_column="0")
    assert (texts.class_names, texts.skipped) == (["Sport", "Web"], [])
    assert texts.texts[1] == "it's; about 1"
    assert "single quotes around texts" in texts.notes[0]


def test_classes_that_are_not_named_and_doubtful_labels_are_counted(tmp_path: Path) -> None:
    rows = "".join(f"{'-' if n % 4 == 0 else n % 4},some words {n}\n" for n in range(40))
    notes = read(tmp_path / "a.csv", f"label,text\n{rows}").notes
    assert any(note.startswith("'-' is trained as a class. If it means") for note in notes)
    notes = read(tmp_path / "a.csv", f"label,text\n{rows}", classes=["1", "2", "3"]).notes
    assert "Not used: 10 texts of classes that data.classes does not name" in notes
    rows = "".join(f"{n % 3 / 2},some words {n}\n" for n in range(60))
    assert (
        "Labels such as 0.5 are trained as classes, and not as numbers. A table can give a number to predict: "
        "data.target=number" in read(tmp_path / "b.csv", f"label,text\n{rows}").notes
    )
    few = "".join(f"{n % 13 / 5},some words {n}\n" for n in range(40))
    assert "holds numbers as labels, from 0 to 2.4" in refusal(tmp_path / "c.csv", f"label,text\n{few}")


def test_numbers_to_predict_are_refused(tmp_path: Path) -> None:
    rows = "".join(f"{n / 8},some words {n}\n" for n in range(30))
    said = refusal(tmp_path / "a.csv", f"label,text\n{rows}")
    assert "holds numbers as labels, from 0 to 3.625\nTo predict these numbers: data.target=number" in said


def test_numbers_to_predict_are_named_before_missing_labels(tmp_path: Path) -> None:
    rows = "".join(f"{n * 7 if n % 3 else ''},some words {n}\n" for n in range(90))
    assert "holds numbers as labels, from 7 to 623" in refusal(tmp_path / "a.csv", f"label,text\n{rows}")
    few = "".join(f"{n % 25},some words {n}\n" for n in range(300))
    assert len(read(tmp_path / "b.csv", f"label,text\n{few}").class_names) == 25


def test_the_command_for_labels_at_the_end_of_a_line_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = refusal(tmp_path / "a.txt", "".join(f"one, two {row} __label__{'ab'[row % 2]}\n" for row in range(12)))
    monkeypatch.chdir(tmp_path)
    assert scripts.table_written(words) == {"root": "labels.csv"}
    texts = read(tmp_path / "a.csv", (tmp_path / "labels.csv").read_bytes())
    assert (texts.class_names, texts.texts[0].split()) == (["a", "b"], ["one,", "two", "0"])


def test_the_command_for_several_labels_in_a_line_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"__label__{'ab'[row % 2]} __label__c  How is dish {row}\n" for row in range(12))
    words = refusal(tmp_path / "a.txt", lines)
    assert "has several labels in many lines, such as '__label__a __label__c" in words
    monkeypatch.chdir(tmp_path)
    assert scripts.table_written(words) == {"root": "labels.csv", "target": "labels"}
    texts = read(tmp_path / "b.csv", (tmp_path / "labels.csv").read_bytes(), target="labels")
    assert texts.targets is not None
    assert (texts.class_names, texts.texts[0]) == (["a", "b", "c"], "How is dish 0")
    assert texts.targets.values[:2].tolist() == [[1, 0, 1], [0, 1, 1]]


def test_a_first_line_with_the_number_of_rows_is_not_used(tmp_path: Path) -> None:
    rows = "".join(f"some words {row},{'ab'[row % 2]}\n" for row in range(12))
    for text, columns in (
        (f"12\ntext,label\n{rows}", {}),
        (f"12\n{rows}", {"text_column": "0", "label_column": "1"}),
    ):
        texts = read(tmp_path / "a.csv", text, **columns)
        assert (len(texts.texts), texts.class_names) == (12, ["a", "b"])
        assert "line 1, the number of rows, is not used" in texts.notes[0]


def test_items_of_several_lines_are_shown(tmp_path: Path) -> None:
    words = refusal(tmp_path / "a.txt", "".join(f'{n}\t"some words"\nCause\nComment:\n\n' for n in range(9)))
    assert "only one column with each of the supported delimiters; its first lines: '0" in words
    assert "If an item takes several lines, write it into one" in words


def test_the_command_for_trees_works(tmp_path: Path) -> None:
    trees = "".join(f"({n % 2} (2 A) (1 (2 story) (2 {n})))\n" for n in range(12))
    command = refusal(tmp_path / "a.txt", trees).partition("whole text: ")[2].partition("\n")[0]
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)  # noqa: S602
    texts = read(tmp_path / "b.tsv", (tmp_path / "table.tsv").read_bytes(), **NUMBERED)
    assert (texts.class_names, texts.texts[1]) == (["0", "1"], "A story 1")


def test_a_column_of_parts_is_not_ignored_without_a_word(tmp_path: Path) -> None:
    rows = "".join(f"text {row},{row % 2},{'test' if row > 5 else 'train'}\n" for row in range(8))
    note, _ = read(tmp_path / "a.csv", f"text,label,split\n{rows}").notes
    assert "column split is not used. To keep its parts: python scripts/table_of.py split " in note


def test_the_part_may_be_within_the_name_of_a_table(tmp_path: Path) -> None:
    for part in ("train", "test"):
        (tmp_path / f"r8-{part}-all-terms.txt").write_text("acq\ta\nearn\tb\n" * 3)
    texts = sources.source_of(LabelledData(name="text_table", root=str(tmp_path), **NUMBERED)).read()
    assert (texts.parts or []).count("test") == 6
    (tmp_path / "r8-test-all-terms.txt").rename(tmp_path / "train-test-split.txt")
    with pytest.raises(ZooError, match="does not hold one train and one test table"):
        sources.source_of(LabelledData(name="text_table", root=str(tmp_path), **NUMBERED))


@pytest.mark.parametrize(
    ("train", "validation"),
    [("twitter_training", "twitter_validation"), ("train_tweets", "dev_tweets"), ("sent_train", "sent_valid")],
)
def test_a_validation_table_is_used_without_a_test_table(tmp_path: Path, train: str, validation: str) -> None:
    for part, count in ((train, 40), (validation, 8)):
        lines = (f"{part} text {number},{'ab'[number % 2]}\n" for number in range(count))
        (tmp_path / f"{part}.csv").write_text(f"text,label\n{''.join(lines)}")
    row = LabelledData(name="text_table", root=str(tmp_path))
    assert sources.source_of(row).read().parts == ["train"] * 40 + ["validation"] * 8
    prepared = dataset.prepare(row, 1)
    parts = dataset.split_texts(prepared, row, 1)
    assert {part: len(numbers) for part, numbers in parts.items()} == {"train": 36, "validation": 8, "test": 4}
    assert all(text.startswith(validation) for text in dataset.texts_of(prepared, parts["validation"]))
    assert prepared.info.parts == ["validation"]


def test_rows_without_a_label_are_to_be_removed(tmp_path: Path) -> None:
    table = "".join(f"a text {number}\t{('pos', 'neg', 'UNASSIGNED')[number % 3]}\n" for number in range(30))
    words = refusal(tmp_path / "t.tsv", "text\tlabel\n" + table)
    assert "10 of 30 rows in" in words
    assert "Delete these rows" in words
    some = read(tmp_path / "u.tsv", "text\tlabel\n" + table.replace("UNASSIGNED", "unknown"))
    assert any(note.startswith("'unknown' is trained as a class. If") for note in some.notes)


def test_json_in_the_cells_is_refused(tmp_path: Path) -> None:
    table = "".join(f'{{"stars": {number}, "text": "fine"}}\t{("pos", "neg")[number % 2]}\n' for number in range(20))
    words = refusal(tmp_path / "t.tsv", "text\tlabel\n" + table)
    assert "t.tsv, line 2: the text column contains JSON" in words
    assert "Extract the text into its own column" in words


def test_lines_of_comments_between_the_rows_are_not_used(tmp_path: Path) -> None:
    body = "".join(f"###{number}\nA\tfirst, {number}\nB\tsecond {number}\n\n" for number in range(9))
    some = read(tmp_path / "t.txt", body, text_column="1", label_column="0")
    assert (some.class_names, len(some.texts), some.skipped) == (["A", "B"], 18, [])
    assert any("9 comments (#) are not used" in note for note in some.notes)
    tags = "".join(f"#tag {number}\t{'ab'[number % 2]}\n" for number in range(9))
    assert len(read(tmp_path / "u.tsv", tags, text_column="0", label_column="1").texts) == 9


def test_a_column_of_numbers_is_not_one_of_texts(tmp_path: Path) -> None:
    rows = "".join(f"some words {n},{n % 7},{'ab'[n % 2]}\n" for n in range(20))
    said = refusal(tmp_path / "a.csv", f"body,text,label\n{rows}")
    assert "the text column, text, contains only numbers, such as 0" in said
    assert "you mean data.text_column=body data.label_column=label" in said


def test_rare_fractions_are_classes_if_the_data_have_parts(tmp_path: Path) -> None:
    for part in ("train", "test"):
        rows = "".join(f"{n % 3 / 2},some words {part} {n}\n" for n in range(12))
        (tmp_path / f"{part}.csv").write_text(f"label,text\n{rows}")
    texts = sources.source_of(LabelledData(name="text_table", root=str(tmp_path))).read()
    assert texts.class_names == ["0.0", "0.5", "1.0"]


def test_of_many_columns_the_likely_ones_are_listed(tmp_path: Path) -> None:
    titles = ",".join(f"count_{number}" for number in range(20))
    lines = [f"{','.join('123456789' for _ in range(20))},{row * row},a remark of some words {row}" for row in range(9)]
    why = refusal(tmp_path / "a.csv", "\n".join([f"{titles},points,remark", *lines, ""]))
    assert "Its columns are 'remark', 'count_0'" in why
    assert "'count_10' and 10 more" in why


def test_classes_that_may_mean_no_label_can_be_left_out_as_the_note_says(tmp_path: Path) -> None:
    labels = ("good, really", "bad", "Not sure", "skip")
    table = "text,label\n" + "".join(f'some words {n},"{labels[n % 4]}"\n' for n in range(40))
    (note,) = (note for note in read(tmp_path / "a.csv", table).notes if "trained as" in note)
    words, command = note.split("leave these texts out with ")
    assert words == "'Not sure' and 'skip' are trained as classes. If they mean that the label is unknown, "
    ((_, classes),) = ((entry.key, entry.value) for entry in Overrides.parse(shlex.split(command)))
    assert read(tmp_path / "a.csv", table, classes=classes).class_names == ["bad", "good, really"]
    for n in range(8):
        (tmp_path / "folders" / ("good", "Unknown")[n % 2]).mkdir(parents=True, exist_ok=True)
        (tmp_path / "folders" / ("good", "Unknown")[n % 2] / f"{n}.txt").write_text(f"some words {n}")
    notes = sources.source_of(LabelledData(name="text_folder", root=str(tmp_path / "folders"))).read().notes
    assert any(note.startswith("'Unknown' is trained as a class. If it means") for note in notes)


@pytest.mark.parametrize(
    ("cell", "place"),
    [("{}.txt", "{}.txt"), ("docs/{}.txt", "docs/{}.txt"), ("a file {}.txt", "all files/a file {}.txt"),
     ("{}_1.html", "all_files/{}_1.html"), ("{}_1", "all_files/{}_1.txt"), ("00{}", "00{}.txt"),
     ("../mails/inmail.{}", "../mails/inmail.{}")],
)  # fmt: skip
def test_the_command_for_a_column_of_file_names_reads_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: str, place: str
) -> None:
    for number in range(12):
        path = tmp_path / "set" / place.format(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"a text {number}")
    lines = "".join(f'{"ab"[number % 2]}\t"{cell.format(number)}"\n' for number in range(12))
    why = refusal(tmp_path / "set/labels.tsv", f"mark\tfile\n{lines}", text_column="file", label_column="mark")
    assert f"the text column, file, holds file names such as {cell.format(0)!r}, not texts" in why
    monkeypatch.chdir(tmp_path)
    assert scripts.table_written(why) == {"root": "texts.csv"}
    texts = sources.source_of(LabelledData(name="text_table", root=str(tmp_path / "texts.csv"), folds=2)).read()
    assert (texts.class_names, texts.texts) == (["a", "b"], [f"a text {number}" for number in range(12)])


@pytest.mark.parametrize(
    ("cell", "words"),
    [("{}.txt", "These files are not below"), ("img_{}.jpg", "data=image_table data.root="),
     ("https://a.b/{}.pdf", ""), ("{}.pdf", "such as with pdftotext"), ("word{}", "")],
)  # fmt: skip
def test_file_names_are_not_texts_even_without_the_files(tmp_path: Path, cell: str, words: str) -> None:
    lines = "".join(f"{cell.format(number)},{'ab'[number % 2]}\n" for number in range(12))
    if words:
        assert words in refusal(tmp_path / "a.csv", f"text,label\n{lines}")
    else:
        assert len(read(tmp_path / "a.csv", f"text,label\n{lines}").texts) == 12


def test_columns_of_0_and_1_are_proposed_as_labels(tmp_path: Path) -> None:
    rows = "".join(f"paper number {n} on many things,{n % 2},{int(n % 3 == 0)},{int(n % 5 == 0)}\n" for n in range(30))
    said = refusal(tmp_path / "a.csv", f"ABSTRACT,Computer Science,Physics,Maths\n{rows}", text_column="ABSTRACT")
    assert "'data.label_column=Computer Science,Physics,Maths' data.target=labels" in said
    columns = {"text_column": "ABSTRACT", "label_column": "Computer Science,Physics,Maths"}
    assert read(tmp_path / "a.csv", f"ABSTRACT,Computer Science,Physics,Maths\n{rows}", **columns).targets is not None


def test_a_first_row_with_a_number_to_predict_is_no_header(tmp_path: Path) -> None:
    rows = "".join(f"{n}\t{n / 8}\tsome words {n}\n" for n in range(1, 30))
    columns = {"text_column": "2", "label_column": "1", "target": "number"}
    texts = read(tmp_path / "a.txt", rows, **columns)
    assert texts.targets is not None
    assert (len(texts.texts), texts.targets.values[0, 0]) == (29, 0.125)
    assert len(read(tmp_path / "b.txt", f"id\tscore\ttext\n{rows}", **columns).texts) == 29


def test_a_second_column_of_texts_is_named(tmp_path: Path) -> None:
    """As in question pairs: question1, question2."""
    lines = [f"{number},is it number {number},was it number {number % 20},{number % 2}" for number in range(40)]
    content = "\n".join(["id,question1,question2,is_duplicate", *lines])
    pair = "; question1 and question2 belong together: data.text_column=question1,question2 prints how to join them"
    assert pair in refusal(tmp_path / "a.csv", content)
    texts = read(tmp_path / "b.csv", content, text_column="question1", label_column="is_duplicate")
    assert texts.notes[0].endswith(pair)
    spam = "".join(f"{'ham' if n % 3 else 'spam'},free entry {n}\n" for n in range(12))
    assert "belong together" not in refusal(tmp_path / "spam.csv", f"v1,v2\n{spam}")


def test_a_title_above_the_header_is_no_row_of_the_table(tmp_path: Path) -> None:
    lines = [
        "sep=;",
        "Second quarter;;",
        "Kind;Text;Sum",
        *(f"a{number % 2};it came late;{number}" for number in range(9)),
    ]
    assert "line 1: 'Second quarter' is not a row of a table" in refusal(tmp_path / "a.csv", "\n".join(lines))


NAMES = ("ann", "bob", "cid", "dan", "eve")


def test_a_rare_sign_before_labels_outranks_a_comma_in_each_line(tmp_path: Path) -> None:
    """Financial PhraseBank: Kesko , sales rose .@positive"""
    lines = [f"{NAMES[n % 4]} , sales number {n} rose .@{('positive', 'neutral')[n % 2]}" for n in range(40)]
    assert "you mean data.text_column=0 data.label_column=1" in refusal(tmp_path / "a.txt", "\n".join(lines))
    texts = read(tmp_path / "b.txt", "\n".join(lines), text_column="0", label_column="1")
    assert texts.class_names == ["neutral", "positive"]


@pytest.mark.parametrize(
    ("titles", "row", "proposal"),
    [
        pytest.param(
            "ProfileName,Score,Text",
            lambda number: f"{NAMES[number % 5]},{number % 3},it is number {number}",
            "you mean data.text_column=Text data.label_column=Score",
            id="a score before a name",
        ),
        pytest.param(
            "text,date,subject",
            lambda number: f"it is number {number},2017-12-0{1 + number % 3},{('world', 'sport')[number % 2]}",
            "By its content you mean data.text_column=text data.label_column=subject",
            id="no date as label",
        ),
        pytest.param(
            "id,licence,excerpt,target",
            lambda number: (
                f"{number},{'' if number % 6 else 'https://a.org/b'},the text of number {number},{number / 7 - 2:.4f}"
            ),
            "you mean data.text_column=excerpt data.label_column=target data.target=number",
            id="measurements as a number",
        ),
        pytest.param(
            "id,weight,rings,measured,smiles",
            lambda number: (
                f"{number},{100 + number / 3:.2f},{number % 4},{number / 7 - 4:.3f},CC{'OCN'[number % 3]}C{number}"
            ),
            "data.label_column=rings. To predict a number: data.target=number, and data.label_column as 'weight' or "
            "'measured'",
            id="numbers whose titles say nothing",
        ),
        pytest.param(
            "review_date,body,rating,reviewer_email",
            lambda number: (
                f"2024-11-{number % 28 + 1:02} 12:33:{number:02} UTC,a very nice shirt of size {number % 40},"
                f"{1 + number % 5},first.last.name{number}@mail.example.org"
            ),
            "you mean data.text_column=body data.label_column=rating",
            id="texts before dates and addresses",
        ),
        pytest.param(
            "id,intent,utt,annot_utt",
            lambda number: f"{number},{('alarm', 'news')[number % 2]},wake me at {number},wake me at [time : {number}]",
            "you mean data.text_column=utt data.label_column=intent",
            id="no texts with annotations",
        ),
    ],
)
def test_columns_are_proposed_by_titles_and_content(
    tmp_path: Path, titles: str, row: Callable[[int], str], proposal: str
) -> None:
    content = "\n".join([titles, *map(row, range(60))])
    assert proposal in refusal(tmp_path / "a.csv", content)


def test_a_column_of_labels_that_exists_is_kept_in_the_proposal(tmp_path: Path) -> None:
    lines = [f"it is review number {number},{number % 2},{('dress', 'shirt', '')[number % 3]}" for number in range(40)]
    content = "\n".join(["Review Text,Recommended IND,Class Name", *lines])
    said = refusal(tmp_path / "a.csv", content, label_column="Recommended IND")
    assert "you mean 'data.text_column=Review Text' 'data.label_column=Recommended IND'" in said


def test_a_list_inside_of_objects_is_a_table(tmp_path: Path) -> None:
    """Rasa NLU: the examples are two keys deep."""
    rows = [{"text": f"some words {row}", "label": "ab"[row % 2], "entities": []} for row in range(8)]
    content = json.dumps({"rasa_nlu_data": {"common_examples": rows}})
    assert read(tmp_path / "nlu.json", content).class_names == ["a", "b"]
    two = json.dumps({"first": rows, "second": rows})
    assert "is JSON, but not a list of objects" in refusal(tmp_path / "two.json", two)


def test_lists_of_texts_are_written_as_rows_by_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The intents of a chatbot; labels of texts are lists too, but recur."""
    monkeypatch.chdir(tmp_path)
    intents = [{"tag": tag, "patterns": [f'{tag} "so" {n}' for n in range(6)], "responses": ["ok"]} for tag in "ab"]
    said = refusal(tmp_path / "intents.json", json.dumps({"intents": intents}))
    assert "with a list of texts, patterns, for each tag" in said
    assert scripts.table_written(said) == {"root": "table.csv", "label_column": "tag"}
    texts = read(Path("table.csv"), Path("table.csv").read_text(), label_column="tag")
    assert (texts.class_names, len(texts.texts)) == (["a", "b"], 12)
    rows = [{"text": f"some words {row}", "label": ["x", "y", "z"][row % 2 :]} for row in range(8)]
    assert "with a list of texts" not in str(read(tmp_path / "labels.json", json.dumps(rows), target="labels"))


def test_a_column_with_few_blank_texts_is_proposed_and_blank_ones_are_counted(tmp_path: Path) -> None:
    """News Category: many short descriptions are empty, and no headline is."""
    lines = [
        {"link": f"https://x.example/{n}", "headline": f"the {n} news of today", "category": "AB"[n % 2],
         "short_description": f"what happened in the town {n} is written here" * (n % 4 > 0)}
        for n in range(24)
    ]  # fmt: skip
    remedy = refusal(tmp_path / "news.json", "\n".join(map(json.dumps, lines)))
    assert "By its content you mean data.text_column=headline data.label_column=category" in remedy
    both = "data.text_column=headline,short_description"
    assert f"; short_description is empty in 6 of 24 rows. {both} prints how to join both" in remedy
    for line in lines:
        line["headline"] = ""
    remedy = refusal(tmp_path / "news.json", "\n".join(map(json.dumps, lines)))
    assert "data.text_column=short_description data.label_column=category; short_description is empty in 6 of" in remedy


def test_texts_of_one_origin_are_named(tmp_path: Path) -> None:
    """Phrases of Rotten Tomatoes: several phrases of each sentence."""
    rows = "".join(f"{n},{n // 4},phrase {n} here,{'good' if n % 3 else 'bad'}\n" for n in range(80))
    notes = read(tmp_path / "t.csv", "PhraseId,SentenceId,text,label\n" + rows).notes
    assert "texts with the same SentenceId may be in the training part and in the test part" in notes[0]
    assert "same PhraseId" not in notes[0]


def test_long_words_are_texts_and_no_names_of_files(tmp_path: Path) -> None:
    rows = "".join(f"{'ACGT' * 100}{'ACGT'[n % 4]},{'ab'[n % 2]}\n" for n in range(20))
    assert len(read(tmp_path / "dna.csv", "text,label\n" + rows).texts) == 20


def test_classes_are_proposed_only_if_both_parts_have_two(tmp_path: Path) -> None:
    for part, kinds in (("train", "a"), ("test", "abc")):
        rows = "".join(f"text {n} of {kind},{kind}\n" for kind in kinds for n in range(4))
        (tmp_path / f"{part}.csv").write_text("text,label\n" + rows)
    with pytest.raises(ZooError, match="the train part has no text of b, c") as caught:
        sources.source_of(LabelledData(name="text_table", root=str(tmp_path))).read()
    assert caught.value.remedy == "Add texts of these classes to the train part."


def test_numbered_features_are_no_texts(tmp_path: Path) -> None:
    """LIBSVM: a label, and the numbers of features with their values."""
    lines = "".join(f"{number % 2} 3:0.5 {number + 4}:1 99:-2e-3\n" for number in range(20))
    with pytest.raises(ZooError, match=r"column, 1, contains only numbers, such as 3:0\.5 4:1"):
        read(tmp_path / "news20", lines, text_column="1", label_column="0")
