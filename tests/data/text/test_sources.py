"""Labelled texts from folders, archives, tables and files of lines, and all that can be wrong with them."""

import gzip
import io
import json
import os
import shlex
import subprocess
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from tests.support import scripts
from zoo.config.schemas.text import LabelledData
from zoo.core.errors import ZooError
from zoo.data.text import sources


def row(name: str, root: Path, **settings: object) -> LabelledData:
    return LabelledData(name=name, root=str(root), **settings)  # type: ignore[arg-type]


def folder(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


PARTED = {"train/pos/1.txt": "fine", "train/neg/1.txt": "dull", "test/pos/1.txt": "good", "test/neg/9.txt": "bad",
          "train/urls.md": "no text", "test/neg/2.txt": " \n"}  # fmt: skip


def test_a_folder_and_an_archive_of_it_are_the_same(tmp_path: Path) -> None:
    root = folder(tmp_path / "top", PARTED)
    packed = tmp_path / "top.tar.gz"
    with tarfile.open(packed, "w:gz") as target:
        target.add(root, "top")
    results = [sources.source_of(row("text_folder", place)).read() for place in (root, packed)]
    for texts in results:
        assert sorted(zip(texts.texts, texts.labels, texts.parts or [], strict=True)) == [
            ("bad", 0, "test"), ("dull", 0, "train"), ("fine", 1, "train"), ("good", 1, "test"),
        ]  # fmt: skip
        assert (texts.class_names, texts.blank) == (["neg", "pos"], 1)


def test_a_table_that_is_too_large_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "t.csv").open("wb") as file:
        file.truncate(20 << 30)
    monkeypatch.setattr(sources, "file_sha256", lambda path: pytest.fail(f"reads all of {path}"))
    with pytest.raises(ZooError, match=r"t\.csv has 21,474,836,480 bytes"):
        sources.source_of(row("text_table", tmp_path / "t.csv"))


def test_the_checksum_is_of_the_content(tmp_path: Path) -> None:
    root = folder(tmp_path, PARTED)
    before = sources.source_of(row("text_folder", root)).sha256
    assert sources.source_of(row("text_folder", root)).sha256 == before
    (root / "train/pos/1.txt").write_text("fi ne")
    assert sources.source_of(row("text_folder", root)).sha256 != before


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"pos/1.txt": "fine"}, "one class only, 'pos'"),
        ({"pos/1.txt": "", "neg/1.txt": "  "}, "no text"),
        ({"readme.md": "x"}, "in no class folder"),
        ({"1.txt": "fine"}, "in no class folder"),
        ({"train/1.txt": "fine"}, "in no class folder"),
        ({"train/pos/1.txt": "a", "train/neg/1.txt": "b", "train/unsup/1.txt": "c", "test/pos/1.txt": "a",
          "test/neg/1.txt": "b"}, "the test part has no text of unsup"),
        ({"train/pos/1.txt": "a", "train/neg/1.txt": "b"}, "the test part has no text of neg, pos"),
        ({"train/a/1.txt": "a", "train/b/1.txt": "b", "test/a/1.txt": "a", "test/b/1.txt": "b", "c/a/1.txt": "a"},
         "outside of train/ and test/"),
    ],
)  # fmt: skip
def test_folders_that_make_no_classifier_are_refused(tmp_path: Path, files: dict[str, str], words: str) -> None:
    with pytest.raises(ZooError) as caught:
        sources.source_of(row("text_folder", folder(tmp_path, files))).read()
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("content", "kind"), [(b"%PDF-1.4 plain", "a PDF document"), (b"{\\rtf1 text}", "an RTF document")]
)
def test_documents_are_not_read_as_texts(tmp_path: Path, content: bytes, kind: str) -> None:
    root = folder(tmp_path, {"a/1.doc": "x", "b/1.doc": "y"})
    (root / "b/1.doc").write_bytes(content)
    with pytest.raises(ZooError, match=f"b/1.doc is {kind}, not a text"):
        sources.source_of(row("text_folder", root)).read()


def test_lines_before_the_header_of_a_table_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Survey export\n\ntext,label\n" + "fine,good\ndull,bad\n" * 5)
    with pytest.raises(ZooError, match=r"line 1: 'Survey export' is not a row of a table"):
        sources.source_of(row("text_table", tmp_path / "a.csv")).read()


def test_files_outside_of_class_folders_are_to_be_moved(tmp_path: Path) -> None:
    root = folder(tmp_path, {"pos/1.txt": "a", "neg/1.txt": "b", "urls.txt": "c"})
    with pytest.raises(ZooError, match="it lies in no class folder") as caught:
        sources.source_of(row("text_folder", root)).read()
    assert caught.value.remedy == (
        "Move them into class folders, or elsewhere. Tables are read by data=text_table, files with one text a line "
        "by data=text_lines."
    )


def test_files_about_a_data_set_are_not_classes(tmp_path: Path) -> None:
    for name in ("pos.txt", "neg.txt", "README.txt", "LICENSE.txt"):
        (tmp_path / name).write_text("one\ntwo\n")
    read = sources.source_of(row("text_lines", tmp_path)).read()
    assert read.class_names == ["neg", "pos"]
    assert "Not read: LICENSE.txt, README.txt" in read.notes


def test_a_packed_file_without_its_suffix_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(gzip.compress(b"text,label\nfine,good\ndull,bad\n"))
    with pytest.raises(ZooError, match="packed by gzip"):
        sources.source_of(row("text_table", tmp_path / "a.csv")).read()


def test_a_column_of_identifiers_is_not_one_of_labels(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n" + "".join(f"{number},some text\n" for number in range(30)))
    settings = row("text_table", tmp_path / "a.csv", label_column="id")
    with pytest.raises(ZooError, match="30 different labels for 30 texts") as caught:
        sources.source_of(settings).read()
    assert "data.label_column" in caught.value.remedy


def test_a_class_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    root = folder(tmp_path / "texts", PARTED)
    for part in ("train", "test"):
        os.rename(os.fsencode(root / part / "neg"), os.fsencode(root / part) + b"/n\xe9g")
    with pytest.raises(ZooError, match=r"the folder n\\udce9g in .* is not UTF-8"):
        sources.source_of(row("text_folder", root)).read()


def test_classes_can_be_chosen(tmp_path: Path) -> None:
    root = folder(tmp_path, {"a/1.txt": "x", "b/1.txt": "y", "c/1.txt": "z"})
    assert sources.source_of(row("text_folder", root, classes=["a", "C"])).read().class_names == ["a", "c"]
    with pytest.raises(ZooError, match=r"no text of d, which data\.classes names"):
        sources.source_of(row("text_folder", root, classes=["a", "b", "d"])).read()


def test_parts_may_be_written_with_capitals(tmp_path: Path) -> None:
    root = folder(tmp_path, {f"{part}/{name}/1.txt": f"{part} {name}" for part in ("Train", "TEST") for name in "ab"})
    assert sources.source_of(row("text_folder", root)).read().parts == ["test", "test", "train", "train"]


def test_a_bad_file_in_a_folder_is_named_with_its_line(tmp_path: Path) -> None:
    root = folder(tmp_path, {"pos/1.txt": "fine", "neg/1.txt": "dull"})
    (root / "neg/2.txt").write_bytes(b"dull\ndull \xe9\n")
    with pytest.raises(ZooError, match=r"neg/2\.txt, line 2: byte 0xe9"):
        sources.source_of(row("text_folder", root, encoding="utf-8")).read()
    read = sources.source_of(row("text_folder", root)).read()
    assert "dull\ndull é\n" in read.texts
    assert read.notes == ["1 of 3 files are not UTF-8 and were read as cp1252", "2 classes: neg (2), pos (1)"]


def test_tables_of_commas_and_tabs(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,label,text\n1,good,"fine, really\nfine"\n2,bad,dull\n\n')
    (tmp_path / "a.tsv").write_text("text\tlabel\nfine\tgood\ndull\tbad\n")
    texts = sources.source_of(row("text_table", tmp_path / "a.csv")).read()
    assert (texts.texts, texts.labels, texts.class_names) == (["fine, really\nfine", "dull"], [1, 0], ["bad", "good"])
    assert sources.source_of(row("text_table", tmp_path / "a.tsv")).read().texts == ["fine", "dull"]


def test_a_folder_of_two_tables_tells_what_to_test_on(tmp_path: Path) -> None:
    root = folder(tmp_path, {"train.csv": "text,label\na,1\nb,2\n", "test.csv": "text,label\nc,1\nd,2\n"})
    assert sources.source_of(row("text_table", root)).read().parts == ["train", "train", "test", "test"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title,label\nx,1\n", "no column 'text'"),
        ("Text,label\nx,1\n", "did you mean 'Text'"),
        ("date,label\nx,1\n", "no column 'text'\nIts columns"),
        ("", "the file is empty"),
        ("text,label\nonly\n", "line 2: 1 columns instead of 2"),
        ("text,label\nfine,\n", "the label is empty"),
        ("text,label\nfine,a\nfine,a\n", "one class only"),
        ("text,label\n" + "".join(f"x,{number}\n" for number in range(1001)), "1,001 classes"),
    ],
)
def test_tables_that_cannot_be_used_are_told(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ZooError) as caught:
        sources.source_of(row("text_table", tmp_path / "a.csv")).read()
    assert words in str(caught.value)


def test_a_table_in_another_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("text,label\nfine,a\nnaïve,b\n".encode("latin-1"))
    with pytest.raises(ZooError, match=r"a\.csv, line 3"):
        sources.source_of(row("text_table", tmp_path / "a.csv", encoding="utf-8")).read()
    for encoding in ("latin-1", "auto"):
        read = sources.source_of(row("text_table", tmp_path / "a.csv", encoding=encoding)).read()
        assert read.texts == ["fine", "naïve"]
    assert "; cp1252; " in read.notes[0]


def test_a_line_of_ten_megabytes_is_a_text_like_any_other(tmp_path: Path) -> None:
    long = "word " * 2_000_000
    (tmp_path / "a.csv").write_text(f"text,label\n{long},a\nshort,b\n")
    root = folder(tmp_path, {"a.txt": long + "\n", "b.txt": "short\n"})
    for texts in (sources.source_of(row(name, place)).read() for name, place in
                  (("text_table", tmp_path / "a.csv"), ("text_lines", root))):  # fmt: skip
        assert [len(text) for text in texts.texts] == [len(long), 5]


def test_parts_between_the_name_of_a_set_and_a_class(tmp_path: Path) -> None:
    """Yelp, as used for style transfer of texts: sentiment.train.0, sentiment.dev.1."""
    names = [f"sentiment.{part}.{label}" for part in ("train", "dev", "test") for label in "01"]
    root = folder(tmp_path, {name: f"a line of {name}\nanother one of {name}\n" for name in names})
    texts = sources.source_of(row("text_lines", root)).read()
    assert texts.class_names == ["0", "1"]
    assert "0, validation: one text a line of" in str(texts.notes)


def test_lines_that_end_with_at_and_a_label_are_rows_of_a_table(tmp_path: Path) -> None:
    """Financial PhraseBank: Sentences_50Agree.txt and others, with SENTENCE@positive."""
    for name in ("Sentences_50Agree", "Sentences_AllAgree"):
        lines = [f"profit {n} of {name} .@{('positive', 'neutral', 'negative')[n % 3]}" for n in range(60)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines))
    with pytest.raises(ZooError, match="ends with @ and one of negative, neutral, positive") as caught:
        sources.source_of(row("text_lines", tmp_path)).read()
    assert "data=text_table data.root=" in caught.value.remedy


def test_lines_that_end_with_labels_are_rows_of_a_table(tmp_path: Path) -> None:
    """Sentiment Labelled Sentences: three files of TEXT, tab and 0 or 1."""
    root = tmp_path / "labelled sentences"
    root.mkdir()
    for name in ("amazon", "imdb"):
        lines = [f"a sentence {number} of {name}\t{number % 2}" for number in range(30)]
        (root / f"{name}_labelled.txt").write_text("\n".join(lines))
    with pytest.raises(ZooError, match="ends with a tab and one of 0, 1, as the rows of a table do") as caught:
        sources.source_of(row("text_lines", root)).read()
    subprocess.run(caught.value.remedy.split("`")[1], shell=True, check=True, cwd=tmp_path)  # noqa: S602
    joined = row("text_table", tmp_path / "joined.tsv", text_column="0", label_column="1")
    texts = sources.source_of(joined).read()
    assert texts.class_names == ["0", "1"]
    assert len(texts.texts) == 60


def test_lines_of_one_file_a_class(tmp_path: Path) -> None:
    root = folder(tmp_path, {"set.pos": "fine\r\n\ngood\n", "set.neg": "dull\u2028still the same line\n"})
    texts = sources.source_of(row("text_lines", root, class_files=["set.neg", "set.pos"])).read()
    assert (texts.texts, texts.class_names) == (["dull\u2028still the same line", "fine", "good"], ["neg", "pos"])
    assert texts.blank == 1
    with pytest.raises(ZooError, match=r"one class needs no classifier"):
        sources.source_of(row("text_lines", root, class_files=["set.pos", "set.pos"]))
    with pytest.raises(ZooError, match=r"no file nowhere, \.\./set\.pos"):
        sources.source_of(row("text_lines", root, class_files=["nowhere", "../set.pos"]))


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["x.pos", "x.neg"], ["pos", "neg"]),
        (["good.txt", "bad.txt"], ["good", "bad"]),
        (["a.b.c", "a.d.c"], ["b", "d"]),
        (["a", "a.txt"], ["a", "a.txt"]),
    ],
)
def test_classes_are_named_by_what_tells_the_files_apart(names: list[str], labels: list[str]) -> None:
    assert sources.class_labels(names) == labels


def test_a_stranger_s_archive_is_refused_whole(tmp_path: Path) -> None:
    path = tmp_path / "texts.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("pos/1.txt", "neg/1.txt", "../../neg/2.txt"):
            info = tarfile.TarInfo(name)
            info.size = 4
            archive.addfile(info, io.BytesIO(b"text"))
    with pytest.raises(ZooError, match="leads out of the archive"):
        sources.source_of(row("text_folder", path)).read()


def test_files_without_a_suffix_and_parts_by_the_end_of_a_name(tmp_path: Path) -> None:
    groups = {f"news-{part}/{name}/{n}": f"{name} {n}" for part in ("train", "test") for name in "ab" for n in (51, 52)}
    texts = sources.source_of(row("text_folder", folder(tmp_path, groups))).read()
    assert sorted(zip(texts.parts or [], texts.texts, strict=True))[:2] == [("test", "a 51"), ("test", "a 52")]
    assert texts.class_names == ["a", "b"]


def test_a_stray_file_beside_class_folders_is_left_out_or_refused(tmp_path: Path) -> None:
    files = {f"{name}/{number}.txt": f"text {number}" for name in "ab" for number in range(10)}
    root = folder(tmp_path, files | {"urls.txt": "http://x"})
    texts = sources.source_of(row("text_folder", root)).read()
    assert (len(texts.texts), [where for where, _ in texts.skipped]) == (20, [str(root / "urls.txt")])
    with pytest.raises(ZooError, match="in no class folder"):
        sources.source_of(row("text_folder", root, strict=True)).read()


def test_files_of_one_stem_are_classes_where_none_ends_in_txt(tmp_path: Path) -> None:
    root = folder(tmp_path, {"rt-polarity.pos": "fine\n", "rt-polarity.neg": "dull\n", "README": "about"})
    texts = sources.source_of(row("text_lines", root)).read()
    assert (texts.texts, texts.class_names, texts.notes[2:]) == (
        ["dull", "fine"], ["neg", "pos"], ["2 classes: neg (1), pos (1)"]
    )  # fmt: skip


def test_parts_have_many_names_and_a_validation_part_is_read(tmp_path: Path) -> None:
    texts = {f"{part}/{name}/{number}.txt": f"{name} {part} {number}" for part in ("Training", "validation", "Test")
             for name in ("pos", "neg") for number in range(2)}  # fmt: skip
    result = sources.source_of(row("text_folder", folder(tmp_path / "a", texts))).read()
    assert result.parts == ["test"] * 4 + ["train"] * 4 + ["validation"] * 4
    assert result.notes == ["2 classes: neg (2 train, 2 validation, 2 test), pos (2 train, 2 validation, 2 test)"]
    with pytest.raises(ZooError, match="has dev, but no folder train"):
        sources.source_of(row("text_folder", folder(tmp_path / "b", {"dev/pos/1.txt": "fine"}))).read()


def test_files_of_json_are_no_texts_and_folders_of_persons_are_noted(tmp_path: Path) -> None:
    of_json = {f"{name}/train.json": '{"data": [{"text": "play it"}, {"text": "stop"}]}' for name in ("play", "stop")}
    with pytest.raises(ZooError, match=r"play/train\.json is JSON, and may hold several texts"):
        sources.source_of(row("text_folder", folder(tmp_path / "a", of_json))).read()
    of_persons = {f"s000{person}/{number}.txt": f"text {number}" for person in (1, 2) for number in range(3)}
    notes = sources.source_of(row("text_folder", folder(tmp_path / "b", of_persons))).read().notes
    assert any("Classes such as s0001 look like numbers of persons" in note for note in notes)


@pytest.mark.parametrize("given", ["", "bare"])
def test_the_command_sorts_shares_by_the_names_of_the_texts(tmp_path: Path, given: str) -> None:
    """As in Ling-Spam: bare/part1/spmsga1.txt and bare/part1/3-1msg1.txt."""
    texts = {f"{kind}/part{part}/{name}.txt": "fine" for kind in ("bare", "stop") for part in (1, 2)
             for name in (f"spmsg{'ab'[part - 1]}1", f"{part}-1msg1")}  # fmt: skip
    root = folder(tmp_path / "a b", texts)
    with pytest.raises(ZooError, match="part1, part2, are shares of a set") as caught:
        sources.source_of(row("text_folder", root / given)).read()
    remedy = caught.value.remedy
    assert ("bare, stop may be variants of the same texts: give one" in remedy) == (not given)
    table = scripts.table_written(remedy)["root"]
    assert table == f"{root / given}.csv"
    assert sources.source_of(row("text_table", Path(table))).read().class_names == ["other", "spmsg"]


def test_the_only_table_of_a_folder_is_used(tmp_path: Path) -> None:
    root = folder(tmp_path, {"data.csv": "text,label\nfine,pos\ndull,neg\ngood,pos\nbad,neg\n", "README.txt": "about"})
    result = sources.source_of(row("text_table", root)).read()
    assert (result.class_names, result.parts) == (["neg", "pos"], None)
    assert result.notes[0] == f"The only table of {root}: data.csv"


def test_the_folder_of_the_tables_is_named(tmp_path: Path) -> None:
    root = folder(tmp_path, {"README.md": "about", "data/train-00000-of-00001.parquet": "PAR1"})
    with pytest.raises(ZooError, match=r"has no table, but .*data has train-00000-of-00001\.parquet") as caught:
        sources.source_of(row("text_table", root))
    assert f"data.root={root / 'data'}" in (caught.value.remedy or "")


def test_shares_are_not_classes_and_folders_of_one_name_are_one_class(tmp_path: Path) -> None:
    shares = {f"{name}/fold{fold}/{number}.txt": "fine" for name in ("true", "fake") for fold in (1, 2)
              for number in range(3)}  # fmt: skip
    with pytest.raises(ZooError, match="fold1, fold2, are shares of a set and not classes"):
        sources.source_of(row("text_folder", folder(tmp_path / "a", shares))).read()
    moved = {f"fold{fold}/{name}/1.html": "<html>fine" for name in ("true", "fake") for fold in (1, 2)}
    notes = sources.source_of(row("text_folder", folder(tmp_path / "b", moved))).read().notes
    assert "1.html is XML or HTML: its tags are learned as text" in notes[0]
    assert notes[1].startswith("Folders of one name are one class: fake: fold1/fake, fold2/fake")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.txt", "EU NNP B-ORG\nrejects VBZ O\n\n" * 9, "has a label for each word"),
        ("a.conllu", ("# sent_id = 1\n1\tThe" + "\t_" * 8 + "\n\n") * 9, "has a label for each word"),
        ("a.json", '{"train": [["what", "greet"]],\n"val": []}\n', "is JSON"),
        ("nlu.yml", 'version: "3.1"\nnlu:\n', "is YAML"),
        ("a.csv", "<texts>\n<text>fine</text></texts>\n", "is XML"),
        ("a.csv", "text,label\n" + "fine,NaN\nbad,1\n" * 9, "9 times the label is NaN"),
    ],
)
def test_what_is_not_a_table_of_texts_is_named(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ZooError, match=words):
        sources.source_of(row("text_table", tmp_path / name)).read()


def test_another_script_between_western_words_needs_its_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("text,label\n房间很好 and a long English sentence,1\n".encode("gbk") * 9)
    with pytest.raises(ZooError, match="is not utf-8"):
        sources.source_of(row("text_table", tmp_path / "a.csv")).read()


def test_a_file_about_the_set_above_the_classes_is_skipped(tmp_path: Path) -> None:
    texts = {f"bbc/{name}/{number}.txt": "news" for name in ("tech", "sport") for number in range(9)}
    root = folder(tmp_path, texts | {"bbc/README.TXT": "About."})
    assert sources.source_of(row("text_folder", root)).read().class_names == ["sport", "tech"]


def test_lists_of_labels_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\n" + "fine,['a']\nbad,['b']\n" * 9)
    notes = sources.source_of(row("text_table", tmp_path / "a.csv")).read().notes
    assert (
        "A label such as \"['a']\" may be several: each combination is a class; data.target=labels learns each label"
        in notes
    )


def test_tables_of_parts_have_longer_names(tmp_path: Path) -> None:
    for name in ("train_data.csv", "test_data.csv"):
        (tmp_path / name).write_text("text,label\n" + "fine,1\nbad,0\n" * 9)
    result = sources.source_of(row("text_table", tmp_path)).read()
    assert result.parts is not None
    assert result.parts.count("train") == 18


def test_files_of_classes_may_be_further_down_and_next_to_a_file_about_them(tmp_path: Path) -> None:
    below = "rt/data/rt-polarity"
    lines = {
        f"{below}.pos": "### 1\nfine\ngood\n",
        f"{below}.neg": "bad\n",
        "rt/data/rt-data.README.1.0.txt": "x\ny\n",
    }
    texts = sources.source_of(row("text_lines", folder(tmp_path, lines))).read()
    assert (texts.class_names, sorted(texts.texts)) == (["neg", "pos"], ["bad", "fine", "good"])
    assert any("1 lines that begin with ### are not texts" in note for note in texts.notes)
    with pytest.raises(ZooError, match="in no class folder") as caught:
        sources.source_of(row("text_folder", tmp_path / "rt/data")).read()
    assert "data=text_lines" in caught.value.remedy


def test_each_part_of_a_table_may_have_a_folder(tmp_path: Path) -> None:
    table = "text,label\n" + "".join(f"text {number},{'ab'[number % 2]}\n" for number in range(8))
    texts = sources.source_of(row("text_table", folder(tmp_path, {"train/x.csv": table, "test/x.csv": table}))).read()
    assert texts.parts == ["train"] * 8 + ["test"] * 8


def test_tables_in_class_folders_are_not_texts_and_other_files_are_named(tmp_path: Path) -> None:
    root = folder(tmp_path / "a", {f"{name}/{number}.csv": "x,y\n1,2\n" for name in "ab" for number in range(2)})
    with pytest.raises(ZooError, match=r"tables in class folders, such as .*a/0\.csv") as caught:
        sources.source_of(row("text_folder", root)).read()
    assert "data=text_table" in caught.value.remedy
    texts = {f"{name}/{number}.txt": f"{name} {number}" for name in "ab" for number in range(2)}
    root = folder(tmp_path / "b", texts | {"labels.csv": "id,label\n", "a/page.html": "<p>"})
    note, _ = sources.source_of(row("text_folder", root)).read().notes
    assert note == "Not used: 2 files without the ending .txt, such as a/page.html"


def test_a_license_in_a_class_folder_is_no_text(tmp_path: Path) -> None:
    root = folder(
        tmp_path, {f"{name}/{each}.txt": f"{name} {each}" for name in "ab" for each in (*range(12), "LICENSE")}
    )
    texts = sources.source_of(row("text_folder", root, folds=5)).read()
    assert [why for _, why in texts.skipped] == ["it describes the data set"] * 2


def test_few_files_next_to_class_folders_are_not_a_class(tmp_path: Path) -> None:
    mails = {f"enron/{name}/{number}.txt": f"{name} {number}" for name in ("ham", "spam") for number in range(8)}
    root = folder(tmp_path / "mails", {**mails, "enron/Summary.txt": "ham, spam"})
    packed = tmp_path / "mails.tar.gz"
    with tarfile.open(packed, "w:gz") as target:
        target.add(root / "enron", "enron")
    for place in (root, packed):
        texts = sources.source_of(row("text_folder", place)).read()
        assert texts.class_names == ["ham", "spam"]
        ((where, why),) = texts.skipped
        assert where.endswith("enron/Summary.txt")
        assert why == "it lies next to class folders, and in none of them"


@pytest.mark.parametrize("pattern", ["{part}_{label}.txt", "{part}/{label}.txt", "set/{part}/{label}.txt"])
def test_class_files_may_name_their_parts(tmp_path: Path, pattern: str) -> None:
    for part in ("train", "test", "dev"):
        for label in ("good", "bad"):
            folder(tmp_path, {pattern.format(part=part, label=label): f"{part} {label} one\n{part} {label} two\n"})
    texts = sources.source_of(row("text_lines", tmp_path)).read()
    assert texts.class_names == ["bad", "good"]
    assert sorted(texts.parts or []) == ["test"] * 4 + ["train"] * 4 + ["validation"] * 4
    read = dict(zip(texts.texts, texts.parts or [], strict=True))
    assert (read["dev good two"], read["test bad one"]) == ("validation", "test")


def test_folders_named_like_parts_are_no_classes_of_texts(tmp_path: Path) -> None:
    names = ("all_files", "sampled_train", "sampled_test")
    root = folder(tmp_path, {f"{name}/{number}.txt": f"text {number}" for name in names for number in range(12)})
    (root / "labels.csv").write_text("file,label\n1,a\n")
    with pytest.raises(ZooError, match="sampled_test, sampled_train, which are names of parts") as caught:
        sources.source_of(row("text_folder", root)).read()
    assert "Their labels may be in labels.csv" in caught.value.remedy


def test_classes_may_be_the_outer_folders_of_texts(tmp_path: Path) -> None:
    kinds, places = ("course", "student"), ("cornell", "texas")
    root = folder(tmp_path / "web", {f"{kind}/{place}/{number}.txt": f"{kind} {number}"
                                     for kind in kinds for place in places for number in range(6)})  # fmt: skip
    with pytest.raises(ZooError, match="such as course/cornell: either may be the classes") as caught:
        sources.source_of(row("text_folder", root)).read()
    command = caught.value.remedy.partition("`")[2].partition("`")[0]
    subprocess.run(command, shell=True, check=True)  # noqa: S602
    assert sources.source_of(row("text_folder", tmp_path / "outer")).read().class_names == ["course", "student"]


def test_combinations_of_labels_that_one_part_lacks_suggest_labels(tmp_path: Path) -> None:
    """GoEmotions."""
    kinds = {"train.tsv": ("0", "3", "0,3"), "test.tsv": ("0", "3", "0,3", "3,7")}
    for name, cells in kinds.items():
        lines = (f"text {number} of {len(cells)}\t{cells[number % len(cells)]}\n" for number in range(40))
        (tmp_path / name).write_text("".join(lines))
    given: dict[str, object] = {"text_column": "0", "label_column": "1"}
    with pytest.raises(ZooError, match="the train part has no text of 3,7") as caught:
        sources.source_of(row("text_table", tmp_path, **given)).read()
    assert caught.value.remedy == "To learn each label of a text: data.target=labels"
    texts = sources.source_of(row("text_table", tmp_path, target="labels", **given)).read()
    assert texts.class_names == ["0", "3", "7"]
    assert texts.notes[-1] == "3 labels: 0 (47), 3 (56), 7 (10); 33 have several, 0 have none"


@pytest.mark.parametrize("sign", ["/", "_"])
def test_labels_in_a_second_file_are_joined_by_the_command(
    tmp_path: Path, sign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts in folders; as in TweetEval, parts in the names of files."""
    for part, count in (("train", 40), ("dev", 12), ("test", 12)):
        texts = "".join(f"text {part} {number}\n" for number in range(count))
        labels = "0\n1\n" * (count // 2)
        folder(tmp_path / "set", {f"{part}{sign}sents.txt": texts, f"{part}{sign}moods.txt": labels})
    with pytest.raises(ZooError, match=r"moods\.txt may hold the labels of .*sents\.txt") as caught:
        sources.source_of(row("text_lines", tmp_path / "set")).read()
    monkeypatch.chdir(tmp_path)
    assert scripts.table_written(caught.value.remedy) == {"root": "joined"}
    assert caught.value.remedy.endswith(" data=text_table")
    texts = sources.source_of(row("text_table", tmp_path / "joined")).read()
    assert texts.class_names == ["0", "1"]
    assert Counter(texts.parts or []) == {"train": 40, "validation": 12, "test": 12}


@pytest.mark.parametrize("kind", ["text_folder", "text_lines"])
def test_files_of_texts_and_labels_without_suffix_are_joined_by_the_command(tmp_path: Path, kind: str) -> None:
    """ATIS: three files with as many lines in the folder of each part."""
    for part, count in (("train", 40), ("valid", 12), ("test", 12)):
        texts = "".join(f"fly {part} {number}\n" for number in range(count))
        tags = "".join(f"O {part} B-{number}\n" for number in range(count))
        folder(tmp_path / "set", {f"{part}/{name}": text for name, text in (
            ("label", "flight\nfare\n" * (count // 2)), ("seq.in", texts), ("seq.out", tags))})  # fmt: skip
    with pytest.raises(ZooError, match=r"label may hold the labels of seq\.in") as caught:
        sources.source_of(row(kind, tmp_path / "set")).read()
    assert f"paired {tmp_path}/set/test/seq.in {tmp_path}/set/test/label {tmp_path}/set/train" in caught.value.remedy


def test_tables_are_not_read_as_one_text_a_line(tmp_path: Path) -> None:
    """Fake and real news: with data.class_files, each row and the header would be a text."""
    rows = "".join(f"title {n},words {n},News\n" for n in range(20))
    for name in ("Fake.csv", "True.csv"):
        (tmp_path / name).write_text(f"title,text,subject\n{rows}")
    lines = row("text_lines", tmp_path, class_files=["Fake.csv", "True.csv"])
    with pytest.raises(ZooError, match=r"are tables with a header, not files with one text a line") as caught:
        sources.source_of(lines).read()
    assert "data.root=joined.csv data.label_column=class" in caught.value.remedy


def test_two_columns_of_texts_are_joined_by_the_printed_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SNLI: premise and hypothesis, and the same tables as JSON lines and as text."""
    for part in ("train", "dev", "test"):
        names = ["no", "yes"]
        kept = [{"sentence1": f"a {n}", "sentence2": f"b {n}", "gold_label": names[n % 2]} for n in range(20)]
        (tmp_path / f"snli_1.0_{part}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in kept))
        (tmp_path / f"snli_1.0_{part}.txt").write_text("gold_label\tsentence1\n" + "no\ta\n" * 9)
    both = row("text_table", tmp_path, text_column="sentence1,sentence2", label_column="gold_label")
    with pytest.raises(ZooError, match=r"data\.text_column takes one column, not 'sentence1,sentence2'") as caught:
        sources.source_of(both).read()
    monkeypatch.chdir(tmp_path)
    assert scripts.table_written(caught.value.remedy) == {"root": "joined", "label_column": "gold_label"}
    joined = sources.source_of(row("text_table", tmp_path / "joined", text_column="text", label_column="gold_label"))
    texts = joined.read()
    assert texts.texts[3] == "a 3 b 3"
    assert texts.parts
    assert [texts.parts.count(part) for part in ("train", "validation", "test")] == [20, 20, 20]
    one = sources.source_of(row("text_table", tmp_path, text_column="sentence2", label_column="gold_label")).read()
    assert one.parts
    assert [one.parts.count(part) for part in ("train", "validation", "test")] == [20, 20, 20]


def test_another_file_next_to_parts_makes_them_no_classes(tmp_path: Path) -> None:
    """THUCNews: a vocabulary next to the three parts."""
    for name in ("train", "val", "test", "vocab"):
        (tmp_path / f"cnews.{name}.txt").write_text("".join(f"word {n}\n" for n in range(9)))
    with pytest.raises(ZooError, match=r"which are named as parts and not as classes"):
        sources.source_of(row("text_lines", tmp_path)).read()


def test_a_class_without_a_text_is_named(tmp_path: Path) -> None:
    """In an empty file, in rows without a text, and where only one class is left."""
    for name in ("cat", "bird"):
        (tmp_path / f"{name}.txt").write_text("".join(f"the {name} number {n}\n" for n in range(20)))
    (tmp_path / "dog.txt").write_text("")
    row = LabelledData(name="text_lines", root=str(tmp_path))
    texts = sources.source_of(row).read()
    assert texts.class_names == ["bird", "cat"]
    assert "Not a class, since all its texts are empty: dog" in texts.notes
    (tmp_path / "bird.txt").unlink()
    with pytest.raises(ZooError, match=r"one class only, 'cat'\. Not a class, since all its texts are empty: dog"):
        sources.source_of(row).read()
    table = tmp_path / "rows.csv"
    table.write_text(
        "text,label\n" + "".join(f"{f'a cat {n}' * (n % 2)},{'cat' if n % 2 else 'dog'}\n" for n in range(40))
    )
    row = LabelledData(name="text_table", root=str(table))
    with pytest.raises(ZooError, match="all its texts are empty: dog"):
        sources.source_of(row).read()
    table.write_text("text,label\n" + "".join(f"a cat {n},cat\n" for n in range(40)) + 'a dog,dog,"\n')
    with pytest.raises(ZooError, match=r"one class only, 'cat'\. .*rows\.csv, line 42: "):
        sources.source_of(row).read()


def test_a_label_as_long_as_a_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "".join(f"words {n},{'ab'[n % 2] * 4000}\n" for n in range(40)))
    with pytest.raises(ZooError, match=r"a label has 4,000 characters, .a{40}. and so on") as error:
        sources.source_of(LabelledData(name="text_table", root=str(path))).read()
    assert "Is data.label_column the column of the labels?" in error.value.remedy


def test_equal_texts_in_several_classes_are_named(tmp_path: Path) -> None:
    """Ohsumed: a document of several diseases is in the folder of each."""
    files = {f"{name}/{number}.txt": f"text {name} {number}" for name in "ab" for number in range(12)}
    folder(tmp_path, files | {"a/20.txt": "the same", "b/20.txt": "the same"})
    notes = sources.source_of(row("text_folder", tmp_path)).read().notes
    assert any(note.startswith("1 text in several classes, such as a and b") for note in notes)


@pytest.mark.parametrize(
    ("content", "message"),
    [("<review>\n<title>\nGood {}\n</title>\n</review>\n", "holds marks such as '<review>'"),
     ("Newsgroup: sci.{}\n\nI think so.\n\nSubject: a\n", "holds texts of several lines")],
)  # fmt: skip
def test_files_of_longer_texts_are_not_read_by_line(tmp_path: Path, content: str, message: str) -> None:
    files = {f"{name}.txt": "".join(content.format(f"{name}{n}") for n in range(9)) for name in "ab"}
    with pytest.raises(ZooError, match=message):
        sources.source_of(row("text_lines", folder(tmp_path, files))).read()


def test_a_column_of_parts_in_a_table_of_texts_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"text {n},{'ab'[n % 2]},{('train', 'dev', 'test')[n % 3]}\n" for n in range(24))
    path = tmp_path / "all.csv"
    path.write_text(f"text,label,Fold name\n{rows}")
    (note, *_) = sources.source_of(row("text_table", path)).read().notes
    command = note.partition("column Fold name is not used. To keep its parts: ")[2].partition("\n")[0]
    monkeypatch.chdir(tmp_path)
    assert scripts.load("table_of").main(shlex.split(command)[2:]) == 0
    assert Counter(sources.source_of(row("text_table", tmp_path / "parts")).read().parts) == dict.fromkeys(
        ("train", "validation", "test"), 8
    )


def test_several_columns_of_0_and_1_are_labels_of_which_a_text_may_have_several(tmp_path: Path) -> None:
    lines = "".join(f"comment number {n},{n % 2},{int(n % 3 == 0)}\n" for n in range(12))
    (tmp_path / "a.csv").write_text(f"text,toxic,insult\n{lines}")
    texts = sources.source_of(row("text_table", tmp_path / "a.csv", label_column="toxic,insult")).read()
    assert texts.targets is not None
    assert (texts.targets.kind, texts.class_names) == ("labels", ["insult", "toxic"])
    assert texts.targets.values[:4].tolist() == [[1, 0], [0, 1], [0, 0], [1, 1]]
    assert "2 labels: insult (4), toxic (6); 2 have several, 4 have none" in texts.notes


def test_a_number_for_each_text_skips_rows_without_one(tmp_path: Path) -> None:
    lines = "".join(f"review number {n},{n / 4}\n" for n in range(20))
    (tmp_path / "a.csv").write_text(f"text,stars\n{lines}no stars here,\n")
    texts = sources.source_of(row("text_table", tmp_path / "a.csv", label_column="stars", target="number")).read()
    assert texts.targets is not None
    assert texts.targets.values[:, 0].tolist() == [n / 4 for n in range(20)]
    assert len(texts.skipped) == 1


def test_the_sign_between_labels_is_that_of_the_training_table(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,tags\none text,New York|Rome\nother text,Rome\n")
    (tmp_path / "test.csv").write_text("text,tags\na third text,New York\n")
    texts = sources.source_of(row("text_table", tmp_path, label_column="tags", target="labels")).read()
    assert texts.class_names == ["New York", "Rome"]


def test_files_of_parts_are_no_classes(tmp_path: Path) -> None:
    """fastText: train.ft.txt and test.ft.txt."""
    root = folder(tmp_path, {f"{part}.ft.txt": "__label__2 fine\n__label__1 poor\n" * 9 for part in ("train", "test")})
    with pytest.raises(ZooError, match="which are named as parts and not as classes") as caught:
        sources.source_of(row("text_lines", root)).read()
    assert "data=text_table" in caught.value.remedy


def test_tables_of_one_class_each_are_joined_by_the_printed_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f'"a text, number {number}",news\n' for number in range(8))
    folder(tmp_path, {"my news/Fake.csv": f"text,subject\n{rows}", "my news/True.csv": f"text,subject\n{rows}"})
    with pytest.raises(ZooError) as caught:
        sources.source_of(row("text_table", tmp_path / "my news"))
    assert str(caught.value.remedy).startswith("If each file is a class, join them: ")
    monkeypatch.chdir(tmp_path)
    assert scripts.table_written(caught.value.remedy) == {"root": "joined.csv", "label_column": "class"}
    texts = sources.source_of(row("text_table", tmp_path / "joined.csv", label_column="class")).read()
    assert (texts.class_names, Counter(texts.labels)) == (["Fake", "True"], {0: 8, 1: 8})


def test_tables_with_a_column_of_labels_are_joined_without_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """YouTube Spam Collection: a table of comments for each video."""
    rows = "".join(f'z{number},"a text, number {number}",{number % 2}\n' for number in range(8))
    more = rows.replace("text", "comment")
    folder(
        tmp_path,
        {"videos/Youtube01.csv": f"ID,CONTENT,CLASS\n{rows}", "videos/You02.csv": f"ID,CONTENT,CLASS\n{more}"},
    )
    with pytest.raises(ZooError) as caught:
        sources.source_of(row("text_table", tmp_path / "videos"))
    monkeypatch.chdir(tmp_path)
    assert scripts.table_written(caught.value.remedy)["root"] == "joined.csv"
    texts = sources.source_of(row("text_table", tmp_path / "joined.csv", text_column="CONTENT", label_column="CLASS"))
    assert Counter(texts.read().labels) == {0: 8, 1: 8}


def test_json_with_parts_becomes_a_folder_of_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLINC150: pairs of texts and intents; those out of scope have parts of their own."""
    texts = [[f"please do it {number}", ("alarm", "news")[number % 2]] for number in range(8)]
    parts = {
        "train": texts,
        "oos_train": [[f"who won {n}", "oos"] for n in range(4)],
        "val": texts[:4],
        "test": [*texts[4:], ["who lost", "oos"]],
    }
    (tmp_path / "data.json").write_text(json.dumps(parts))
    with pytest.raises(ZooError, match="one object with the parts") as caught:
        sources.source_of(row("text_table", tmp_path / "data.json")).read()
    monkeypatch.chdir(tmp_path)
    assert scripts.table_written(caught.value.remedy) == {"root": "parts"}
    read = sources.source_of(row("text_table", tmp_path / "parts")).read()
    assert read.class_names == ["alarm", "news", "oos"]


def test_the_test_table_next_to_a_training_table_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"text {number},{number % 2}\n" for number in range(8))
    folder(tmp_path, dict.fromkeys(("train.csv", "test.csv", "other.csv"), f"text,label\n{rows}"))
    for name, said in (
        ("train.csv", f"Not used: test.csv. If these have labels too: data.root={tmp_path}"),
        ("test.csv", ""),
    ):
        sources.source_of(row("text_table", tmp_path / name)).read()
        assert " ".join(capsys.readouterr().err.split()) == said


def test_files_of_classes_without_a_usual_ending_are_named(tmp_path: Path) -> None:
    """SUBJ: quote.tok.gt9.5000 and plot.tok.gt9.5000, next to a description."""
    for name in ("quote.tok.gt9.5000", "plot.tok.gt9.5000", "subjdata.README.1.0"):
        (tmp_path / name).write_text("a text\nanother text\n")
    with pytest.raises(ZooError) as caught:
        sources.source_of(LabelledData(name="text_lines", root=str(tmp_path))).read()
    assert caught.value.remedy.endswith("such as 'data.class_files=[plot.tok.gt9.5000,quote.tok.gt9.5000]'.")


def test_a_list_of_commands_among_numbered_texts_is_skipped_with_a_reason(tmp_path: Path) -> None:
    """SpamAssassin: e-mails without a suffix, and a file cmds in each folder."""
    files = {f"{kind}/{n:05}.{n * 7919:032x}": f"{kind} mail {n}" for kind in ("easy_ham", "spam") for n in range(30)}
    commands = {f"{kind}/cmds": "mv a b\nmv c d\n" for kind in ("easy_ham", "spam")}
    texts = sources.source_of(row("text_folder", folder(tmp_path, {**files, **commands}))).read()
    assert len(texts.texts) == 60
    assert [where.rpartition("/")[2] for where, _ in texts.skipped] == ["cmds", "cmds"]
    assert "its name has no number" in texts.skipped[0][1]
    few = {f"{kind}/{name}": f"{kind} {name}" for kind in "ab" for name in ("one", "two", "3", "4")}
    assert len(sources.source_of(row("text_folder", folder(tmp_path / "few", few))).read().texts) == 8


def test_a_table_like_the_training_table_is_the_validation_part(tmp_path: Path) -> None:
    """CoLA: in_domain_train.tsv, in_domain_dev.tsv and out_of_domain_dev.tsv."""
    for name, count in (("in_domain_train", 40), ("in_domain_dev", 8), ("out_of_domain_dev", 6)):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{name} {n}\t{n % 2}\n" for n in range(count)))
    texts = sources.source_of(row("text_table", tmp_path, text_column="0", label_column="1")).read()
    assert Counter(texts.parts or []) == {"train": 40, "validation": 8}
    assert "Not read: out_of_domain_dev.tsv" in texts.notes


def test_tables_without_headers_are_joined_by_the_printed_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sentiment Labelled Sentences, with a readme."""
    monkeypatch.chdir(tmp_path)
    files = {f"{name}_labelled.txt": f"fine {name}\t1\ndull {name}\t0" for name in ("amazon", "imdb")}
    folder(tmp_path / "a b", {**files, "readme.txt": "About\tthis"})
    table = row("text_table", Path("a b"), text_column="0", label_column="1")
    with pytest.raises(ZooError, match=r"but amazon_labelled\.txt, imdb_labelled\.txt\n") as caught:
        sources.source_of(table)
    command = caught.value.remedy.partition("`")[2].partition("`")[0]
    subprocess.run(command, shell=True, check=True)  # noqa: S602
    joined = sources.source_of(row("text_table", Path("joined.tsv"), text_column="0", label_column="1")).read()
    assert len(joined.texts) == 4


def test_labels_of_texts_outrank_those_of_words(tmp_path: Path) -> None:
    """SNIPS: most words have the same label O, and there are more classes of texts."""
    texts = "".join(f"play song {number}\n" for number in range(30))
    names = {"seq.in": texts, "seq.out": "O O O\n" * 30, "label": "".join(f"{number % 12}\n" for number in range(30))}
    folder(tmp_path / "set", {f"{part}/{name}": text for part in ("train", "test") for name, text in names.items()})
    with pytest.raises(ZooError, match=r"label may hold the labels of seq\.in"):
        sources.source_of(row("text_lines", tmp_path / "set")).read()


def test_folders_around_shares_become_columns_by_the_command(tmp_path: Path) -> None:
    """Deceptive opinion spam: positive/truthful/fold1/1.txt."""
    texts = {f"{first}/{second}/fold{fold}/{number}.txt": f"fine {fold} {number}" for first in ("good", "bad")
             for second in ("true", "fake") for fold in (1, 2) for number in range(3)}  # fmt: skip
    root = folder(tmp_path / "set", texts)
    with pytest.raises(ZooError, match="fold1, fold2, are shares") as caught:
        sources.source_of(row("text_folder", root)).read()
    given = scripts.table_written(caught.value.remedy.partition("If outer folders")[2])
    assert given == {"root": f"{root}.csv", "label_column": "folder1"}
    assert "data.label_column=folder1, or data.label_column=folder2" in caught.value.remedy
    for title, names in (("folder1", ["bad", "good"]), ("folder2", ["fake", "true"])):
        table = sources.source_of(row("text_table", Path(given["root"]), label_column=title)).read()
        assert (table.class_names, len(table.texts)) == (names, 24)


@pytest.mark.parametrize("several", [False, True])
def test_tables_of_weka_are_written_by_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, several: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    begin = "% about\n@relation 'a set'\n\n@attribute Text string\n@ATTRIBUTE 'a class' {0,1}\n\n@data\n"
    lines = "".join(f"'It\\'s, well\\n number {number}',{number % 2}\n" for number in range(20))
    files = ["a-train.arff", "a-test.arff"] if several else ["a.arff"]
    folder(tmp_path, dict.fromkeys(files, f"{begin}{lines}"))
    settings = {"text_column": "Text", "label_column": "a class"}
    source = row("text_table", tmp_path if several else tmp_path / "a.arff", **settings)
    with pytest.raises(ZooError, match="is ARFF, a table as Weka writes it") as caught:
        sources.source_of(source).read()
    root = scripts.table_written(caught.value.remedy)["root"]
    texts = sources.source_of(row("text_table", Path(root), **settings)).read()
    assert texts.texts[1] == "It's, well  number 1"
    assert (texts.class_names, len(texts.texts)) == (["0", "1"], 40 if several else 20)
