"""Texts prepared once: arrays by content, splits that stay the same, folds that cover everything."""

import dataclasses
import json
import shlex
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from tests.support import scripts
from zoo.config.schemas.text import LabelledData, LanguageData
from zoo.core.errors import ZooError
from zoo.data.text import dataset, labelled_texts, pieces, tokenization


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))


def lines(root: Path, count: int = 40) -> LabelledData:
    root.mkdir(exist_ok=True)
    for name, word in (("good", "fine"), ("bad", "dull")):
        (root / f"{name}.txt").write_text("".join(f"{word} film {number}\n" for number in range(count)))
    return LabelledData(name="text_lines", root=str(root), folds=4)


def test_arrays_hold_the_texts(tmp_path: Path) -> None:
    texts = dataset.prepare(lines(tmp_path / "texts"), 1)
    tokens, offsets = np.load(texts.folder / "tokens.npy"), np.load(texts.folder / "offsets.npy")
    labels = np.load(texts.folder / "labels.npy")
    assert (len(offsets), len(labels), tokens.dtype) == (81, 80, np.uint16)
    words = [texts.tokenizer.tokens[number] for number in tokens[offsets[79] : offsets[80]]]
    assert words[:2] == ["fine", "film"]
    assert texts.info.class_names == ["bad", "good"]


def test_what_is_tested_on_is_not_learnt_from(tmp_path: Path) -> None:
    row = lines(tmp_path / "texts")
    texts = dataset.prepare(row, 1)
    test = np.load(texts.folder / "test.npy")
    assert test.sum() == 20
    unknown = {number for number in range(40) if str(number) not in texts.tokenizer.tokens}
    assert unknown <= {number % 40 for number in np.flatnonzero(test)}
    assert unknown


def test_the_second_time_nothing_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = lines(tmp_path / "texts")
    first = dataset.prepare(row, 1)
    monkeypatch.setattr(labelled_texts, "collect", lambda *_: pytest.fail("it was read again"))
    assert dataset.prepare(row, 1).folder == first.folder
    monkeypatch.undo()
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    row.vocabulary = 10
    assert dataset.prepare(row, 1).folder != first.folder
    (tmp_path / "texts" / "good.txt").write_text("fine\n" * 30)
    row.vocabulary = 20_000
    assert dataset.prepare(row, 1).folder != first.folder


def test_notes_name_the_place_of_this_time(tmp_path: Path) -> None:
    for place in ("first", "second"):
        (tmp_path / place).mkdir()
        path = tmp_path / place / "table.csv"
        path.write_text("text,label\n" + "".join(f"film {number},{'ab'[number % 2]}\n" for number in range(20)))
        texts = dataset.prepare(LabelledData(name="text_table", root=str(path)), 1)
        assert texts.info.notes[0].startswith(f"Read {path}: ")
        assert not any("first" in note for note in texts.info.notes) or place == "first"


def test_one_text_is_prepared_once_for_all_seeds_and_places(tmp_path: Path) -> None:
    path = tmp_path / "play.txt"
    path.write_text("to be or not to be\n" * 10)
    row = LanguageData(name="text_file", root=str(path))
    first = dataset.prepare(row, 1).folder
    row.placement, row.train_limit = "device", 50
    assert dataset.prepare(row, 2).folder == first
    row.validation = 0.5
    assert dataset.prepare(row, 2).folder != first


def test_an_interrupted_preparation_is_made_again(tmp_path: Path) -> None:
    row = lines(tmp_path / "texts")
    texts = dataset.prepare(row, 1)
    (texts.folder / dataset.ABOUT).unlink()
    assert (dataset.prepare(row, 1).folder / "tokens.npy").is_file()


@pytest.mark.parametrize("name", ["labels.npy", "tokens.npy", "about.json", "vocabulary.json"])
def test_prepared_texts_that_were_replaced_are_prepared_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    row = lines(tmp_path / "texts")
    file = dataset.prepare(row, 1).folder / name
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert (dataset.prepare(row, 1).folder / name).read_bytes() == whole
    assert "were damaged; they are prepared again" in capsys.readouterr().err


def test_folds_cover_every_text_once_and_every_class_alike(tmp_path: Path) -> None:
    row, tested = lines(tmp_path / "texts"), []
    for row.fold in range(4):
        texts = dataset.prepare(row, 1)
        parts = dataset.split_texts(texts, row, seed=row.fold)
        labels = np.load(texts.folder / "labels.npy")
        assert np.bincount(labels[parts["test"]]).tolist() == [10, 10]
        assert not set(parts["test"]) & (set(parts["train"]) | set(parts["validation"]))
        tested += parts["test"].tolist()
    assert sorted(tested) == list(range(80))


def test_the_only_text_of_a_label_is_for_training(tmp_path: Path) -> None:
    """Reuters."""
    tags = (f"text {number},{'often' if number else 'once'}\n" for number in range(20))
    (tmp_path / "t.csv").write_text(f"text,label\n{''.join(tags)}")
    row = LabelledData(name="text_table", root=str(tmp_path / "t.csv"), target="labels", folds=4)
    tested = {number for row.fold in range(4) for number in np.flatnonzero(np.load(_test_part(row)))}
    assert tested == {*range(1, 20)}


def _test_part(row: LabelledData) -> Path:
    return dataset.prepare(row, 1).folder / "test.npy"


def test_rare_labels_are_spread_over_the_folds() -> None:
    alone = dataset.folds(np.arange(40), 10, [])
    assert np.bincount(alone).tolist() == [4] * 10
    assert dataset.folds(np.array([0] * 20 + [1]), 10, [])[20] != 0  # the first fold is the usual test part
    assert sorted(dataset.folds(np.zeros(6, np.int64), 10, []).tolist()) == list(range(6))


def test_splits_are_the_seed_s(tmp_path: Path) -> None:
    row = lines(tmp_path / "texts")
    texts = dataset.prepare(row, 1)
    one, same, other = (dataset.split_texts(texts, row, seed) for seed in (1, 1, 2))
    assert all((one[name] == same[name]).all() for name in one)
    assert set(one["validation"]) != set(other["validation"])
    row.train_limit, row.test_limit = 30, 5
    few = dataset.split_texts(texts, row, 1)
    assert [len(few[name]) for name in ("train", "validation", "test")] == [27, 3, 5]


def test_too_few_texts_for_the_folds_are_told(tmp_path: Path) -> None:
    row = lines(tmp_path / "texts", count=3)
    with pytest.raises(ZooError, match="The class 'bad' has 3 texts, fewer than the 4 folds"):
        dataset.prepare(row, 1)


def test_a_class_of_one_text_is_left_out_by_the_printed_settings(tmp_path: Path) -> None:
    sizes = {"a": 9, "b": 5, "c": 1}
    texts = "".join(f"text {number} of {name},{name}\n" for name, size in sizes.items() for number in range(size))
    (tmp_path / "t.csv").write_text(f"text,label\n{texts}")
    row = LabelledData(name="text_table", root=str(tmp_path / "t.csv"), folds=10)
    with pytest.raises(ZooError, match="The class 'c' has 1 text, fewer than the 10 folds") as caught:
        dataset.prepare(row, 1)
    assert "such as data.folds=5 with 'data.classes=[a,b]'" in (caught.value.remedy or "")
    chosen = dataclasses.replace(row, folds=5, classes=["a", "b"])
    assert dataset.prepare(chosen, 1).info.class_names == ["a", "b"]


def test_folds_are_not_proposed_in_place_of_texts(tmp_path: Path) -> None:
    for sizes, remedy in (
        ({"a": 20, "b": 30, "c": 1}, "Leave it out with 'data.classes=[a,b]', add texts, or"),
        ({"a": 20, "c": 1}, "Add texts, or choose"),
        ({"a": 20, "c": 4}, "Lower data.folds, such as data.folds=4, add texts, or choose"),
    ):
        texts = "".join(f"text {number} of {name},{name}\n" for name, size in sizes.items() for number in range(size))
        (tmp_path / "t.csv").write_text(f"text,label\n{texts}")
        with pytest.raises(ZooError, match="fewer than the 10 folds") as caught:
            dataset.prepare(LabelledData(name="text_table", root=str(tmp_path / "t.csv"), folds=10), 1)
        assert caught.value.remedy.startswith(remedy)


def test_a_text_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "l.txt").open("wb") as out:
        out.truncate(30_000_000_000)
    began = time.monotonic()
    with pytest.raises(ZooError, match="has 30,000,000,000 bytes"):
        dataset.prepare(LanguageData(name="text_file", root=str(tmp_path / "l.txt")), 1)
    assert time.monotonic() - began < 2


def test_one_text_is_cut_near_its_end(tmp_path: Path) -> None:
    path = tmp_path / "play.txt"
    path.write_text("to be or not to be\n" * 10)
    row = LanguageData(name="text_file", root=str(path))
    texts = dataset.prepare(row, 1)
    assert texts.tokenizer.tokens == [*tokenization.SPECIAL, *sorted(set("to be or not to be\n"))]
    assert dataset.split_tokens(texts, row) == {"train": [0, 171], "validation": [171, 190]}
    row.validation = 0.0
    assert dataset.split_tokens(texts, row) == {"train": [0, 190], "validation": [190, 190]}


def test_so_much_of_a_long_text_is_validated_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "MOST_VALIDATED", 5)
    (tmp_path / "play.txt").write_text("to be or not to be\n" * 10)
    row = LanguageData(name="text_file", root=str(tmp_path / "play.txt"))
    texts = dataset.prepare(row, 1)
    assert dataset.split_tokens(texts, row) == {"train": [0, 171], "validation": [171, 176]}
    row.test_limit = 10
    assert dataset.split_tokens(texts, row) == {"train": [0, 171], "validation": [171, 181]}


@pytest.mark.parametrize("tokenizer", ["characters", "words", "bpe"])
def test_memory_does_not_grow_with_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokenizer: str) -> None:
    monkeypatch.setattr(pieces, "PIECE", 1 << 16)
    peaks = []
    for lines_of_it in (10_000, 80_000):
        path = tmp_path / f"{lines_of_it}.txt"
        path.write_text("".join(f"line {number % 97} of it, to be or not\n" for number in range(lines_of_it)))
        tracemalloc.start()
        texts = dataset.prepare(LanguageData(name="text_file", root=str(path), tokenizer=tokenizer, vocabulary=400), 1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        tokens = np.load(texts.folder / "tokens.npy")
        assert tokens.tolist() == texts.tokenizer.encode(path.read_text())
    assert peaks[1] < 1.5 * peaks[0]


@pytest.mark.parametrize(("text", "words"), [("", "is empty"), (" \n\n", "is empty"), ("ab", "only 2 tokens")])
def test_a_text_that_is_none_is_told(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    row = LanguageData(name="text_file", root=str(tmp_path / "a.txt"))
    with pytest.raises(ZooError, match=words):
        dataset.split_tokens(dataset.prepare(row, 1), row)


def test_a_text_after_many_blank_lines_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n" * 70_000 + "to be or not to be")
    assert dataset.prepare(LanguageData(name="text_file", root=str(tmp_path / "a.txt")), 1).info.notes == []


@pytest.mark.parametrize(
    ("names", "remedy"),
    [
        (("wiki.test.tokens", "wiki.train.tokens"), "one, such as data.root={0}/wiki.train.tokens. To join"),
        (("b.txt", "readme.txt"), "Give data.root={0}/b.txt"), (("train.parquet",), "is a Parquet file"),
        (("README.md",), "It contains no text."), (("logo.png", "a.py"), "Give data.root={0}/a.py"),
    ],
)  # fmt: skip
def test_for_a_folder_one_of_its_files_is_named(tmp_path: Path, names: tuple[str, ...], remedy: str) -> None:
    for name in names:
        (tmp_path / name).write_text("to be or not to be")
    with pytest.raises(ZooError, match="is a folder") as caught:
        dataset.prepare(LanguageData(name="text_file", root=str(tmp_path)), 1)
    assert remedy.format(tmp_path) in (caught.value.remedy or "")


def test_chapters_are_joined_by_the_printed_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, encoding in ((1, "utf-8-sig"), (2, "cp1252"), (10, "utf-8")):
        (tmp_path / f"Chapter {number}.txt").write_bytes(f"K\xe4the {number}".encode(encoding))
    with pytest.raises(ZooError) as caught:
        dataset.prepare(LanguageData(name="text_file", root=str(tmp_path)), 1)
    monkeypatch.chdir(tmp_path)
    assert scripts.table_written(str(caught.value.remedy)) == {"root": "all.txt"}
    assert (tmp_path / "all.txt").read_text(encoding="utf-8") == "K\xe4the 1\n\nK\xe4the 2\n\nK\xe4the 10"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"text": "to be"}\n', "JSON lines: names and quotation marks"),
        ("<!DOCTYPE html>\n<p>to be", "HTML: its tags"),
        (
            "artist,song,text\n" + 'ABBA,a,"one day\n\nat night, the"\n' * 12,
            "a table of 3 columns: its delimiters and other columns",
        ),
        (
            '[\n  {\n    "instruction": "Say it",\n    "output": "' + "it " * 400_000 + '"\n  }\n]',
            "JSON: names and quotation marks",
        ),
        ("1,Henry IV,KING,to be\n" * 12, "a table of 4 columns: its delimiters and other columns"),
    ],
)
def test_markup_is_read_as_a_text_with_a_note(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.txt").write_text(text * 9)
    (note,) = dataset.prepare(LanguageData(name="text_file", root=str(tmp_path / "a.txt")), 1).info.notes
    assert f"{words} are learned as text" in note


def followed(note: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Execute the command that a note prints."""
    monkeypatch.chdir(folder)
    command, _, then = note.partition("alone: python scripts/table_of.py ")[2].partition("\nThen give ")
    assert scripts.load("table_of").main(shlex.split(command)) == 0
    assert then == "data.root=texts.txt"


def test_a_command_takes_the_texts_out_of_a_table_for_a_language_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """abcnews-date-text.csv."""
    table = tmp_path / "news.csv"
    table.write_text("date,headline\n" + "".join(f'2003021{n % 9},"rain, and wind {n}"\n' for n in range(90)))
    (note,) = dataset.prepare(LanguageData(name="text_file", root=str(table)), 1).info.notes
    assert "a table of 2 columns: its delimiters and other columns are learned as text" in note
    followed(note, monkeypatch, tmp_path)
    assert (tmp_path / "texts.txt").read_text().splitlines()[:2] == ["headline", "rain, and wind 0"]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"name": "A", "messages": [{"id": n, "text": f'a "message" {n}'} for n in range(20)]}, indent=1),
        json.dumps(
            {
                "messages": [
                    {
                        "from": "A",
                        "text": [f'a "message" {n}', {"type": "b", "text": ""}],
                        "parts": [{"text": f'a "message" {n}'}],
                    }
                    for n in range(20)
                ]
            }
        ),
        "".join(json.dumps({"id": n, "text": f'a "message" {n}'}) + "\n" for n in range(20)),
    ],
)
def test_a_command_takes_the_texts_out_of_json_for_a_language_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """A chat exported by Telegram, as a file and with a message a line."""
    chat = tmp_path / "result.json"
    chat.write_text(text)
    (note,) = dataset.prepare(LanguageData(name="text_file", root=str(chat)), 1).info.notes
    followed(note, monkeypatch, tmp_path)
    assert (tmp_path / "texts.txt").read_text().splitlines() == [f'a "message" {n}' for n in range(20)]


def test_the_vocabulary_is_learned_from_training_texts_only(tmp_path: Path) -> None:
    root = tmp_path / "own"
    root.mkdir()
    for name in ("good", "bad"):
        (root / f"{name}.txt").write_text("".join(f"{name} text{name}{number}\n" for number in range(50)))
    row = LabelledData(name="text_lines", root=str(root), validation=0.3)
    texts = dataset.prepare(row, 7)
    parts = dataset.split_texts(texts, row, 7)
    shares = dataset.unknown_shares(texts, parts)
    assert shares == {"train": 0.0, "validation": 0.5, "test": 0.5}
    learned = {word for text in dataset.texts_of(texts, parts["train"]) for word in text.split()}
    assert set(texts.tokenizer.tokens[2:]) == learned
    other = dataset.prepare(row, 8)
    assert other.tokenizer.tokens != texts.tokenizer.tokens
    assert dataset.prepare(row, texts.tokenizer).tokenizer.tokens == texts.tokenizer.tokens


def test_the_end_of_a_long_text_is_not_in_its_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("abcab" * 18 + "xyzxy" * 2)
    row = LanguageData(name="text_file", root=str(tmp_path / "long.txt"), validation=0.1)
    assert dataset.prepare(row, 1).tokenizer.tokens[2:] == ["a", "b", "c"]


@pytest.mark.parametrize(("text", "kind"), [
    ("\u8fd9\u5bb6\u9910\u5385\u7684\u83dc\u5f88\u597d\u5403", "characters"),
    ("\u3053\u306e\u672c\u306f\u9762\u767d\u3044", "characters"),
    ("\u0e2d\u0e32\u0e2b\u0e32\u0e23\u0e2d\u0e23\u0e48\u0e2d\u0e22\u0e21\u0e32\u0e01", "characters"),
    ("\uc774 \uc601\ud654\ub294 \uc88b\ub2e4", "words"),
    ("a good \u597d film", "words"),
])  # fmt: skip
def test_texts_without_blanks_are_cut_into_characters(tmp_path: Path, text: str, kind: str) -> None:
    root = tmp_path / "own"
    root.mkdir()
    for name in ("good", "bad"):
        (root / f"{name}.txt").write_text("".join(f"{text}{number}\n" for number in range(20)))
    row = LabelledData(name="text_lines", root=str(root))
    texts = dataset.prepare(row, 1)
    assert texts.tokenizer.kind == kind
    assert any("cut into characters" in note for note in texts.info.notes) == (kind == "characters")
    assert dataset.prepare(dataclasses.replace(row, tokenizer="words"), 1).tokenizer.kind == "words"


@pytest.mark.parametrize(("part", "named"), [("train", "training"), ("dev", "validation")])
def test_the_part_with_the_same_texts_is_named(tmp_path: Path, part: str, named: str) -> None:
    for each in ("train", "dev", "test"):
        lines = [f"{'a text' if each in (part, 'test') else each} {number},{number % 2}\n" for number in range(20)]
        (tmp_path / f"{each}.csv").write_text(f"text,label\n{''.join(lines)}")
    row = LabelledData(name="text_table", root=str(tmp_path))
    texts = dataset.prepare(row, 1)
    known, where = dataset.duplicates(texts, dataset.split_texts(texts, row, 1))
    assert (known.sum(), where) == (20, named)
