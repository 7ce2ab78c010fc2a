"""Training on texts and asking what was trained, from the command line to the run folder, with a fake worker."""

import csv
import dataclasses
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo import api
from zoo.cli.main import main
from zoo.config import config_files
from zoo.data.text import tokenization
from zoo.environments import machine
from zoo.weights import zoo_networks

TABLE = "text,label\n" + "".join(f"fine film {n},good\nvery dull film {n},bad\n" for n in range(30))
CLASSIFIER = ("model=transformer/classifier", "data=text_table", "data.root=texts.csv", "preset=smoke")
LANGUAGE = ("model=transformer/lm", "data=text_file", "data.root=play.txt")


@pytest.fixture
def folder(pretending: Path) -> Path:
    (pretending / "texts.csv").write_text(TABLE)
    (pretending / "play.txt").write_text("To be, or not to be: that is the question.\n" * 20)
    return pretending


def only(root: Path) -> Path:
    (folder,) = root.iterdir()
    return folder


def record(run: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((run / "run.json").read_text())
    return content


def trained(folder: Path, *settings: str) -> Path:
    assert main(["train", *settings]) == 0
    return only(folder / "runs")


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(list(arguments)) == 1
    shown = capsys.readouterr().err
    assert "Traceback" not in shown
    return shown


@pytest.mark.parametrize(
    ("command", "batch_size", "by"),
    [(CLASSIFIER, 128, "calibration"), (LANGUAGE, 12, "recipe")],
    ids=["classes", "next"],
)
def test_the_fastest_point_is_taken(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], batch_size: int, by: str
) -> None:
    row = {"batch_size": [8, 128], "learning_rate": "linear", "precisions": ["float32", "mixed_bfloat16"]}
    monkeypatch.setattr(config_files, "recipe_range", lambda *_: row)
    run = trained(folder, *command, "trainer.calibrate=true", "backend=cpu", "preset=full")
    saved, request = record(run), json.loads((run / "request.json").read_text())
    assert request["train"]["batch_size"] == batch_size
    assert saved["set_by"].get("trainer.batch_size") == by
    assert (request["train"]["precision"], saved["set_by"]["trainer.precision"]) == ("float32", "calibration")
    assert (run / "vocabulary.json").is_file()


def test_a_run_keeps_its_vocabulary_and_tells_its_split(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained(folder, *CLASSIFIER, "data.fold=3")
    saved = record(run)
    assert saved["data"]["class_names"] == ["bad", "good"]
    assert [saved["data"][f"{part}_items"] for part in ("train", "validation", "test")] == [51, 3, 6]
    assert (saved["data"]["split_told"], saved["config"]["data"]["fold"]) == (False, 3)
    tokenizer = tokenization.load(run / "vocabulary.json")
    request = json.loads((run / "request.json").read_text())
    assert request["model"]["args"]["vocabulary"] == len(tokenizer) == saved["data"]["vocabulary"]
    assert (request["job"], request["model"]["args"]["classes"]) == ("train_text_classifier", 2)
    assert np.load(request["data"]["labels"]).shape == (60,)
    assert "texts: 51 for training, 3 for validation, 6 for testing" in capsys.readouterr().out


def test_texts_longer_than_the_model_reads_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "texts.csv").write_text(TABLE + "word " * 1100 + ",good\n")
    trained(folder, *CLASSIFIER)
    assert "1 of 61 texts have more than 1024 tokens: their beginning and end are read" in capsys.readouterr().err


def test_sentences_files_and_tables_are_told_apart(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained(folder, *CLASSIFIER)
    (folder / "one.txt").write_text("fine film")
    (folder / "more.csv").write_text("id,text\n1,fine film\n2,very dull film\n")
    (folder / "notes").write_text("very dull film")
    asked = {
        "a fine film": ["good"],
        "fine " * 999: ["good"],
        "notes": ["good"],
        "one.txt": ["bad"],
        "more.csv": ["bad", "good"],
    }
    for number, (given, classes) in enumerate(asked.items()):
        assert main(["infer", f"run={run}", f"input={given}", f"output.name=asked{number}"]) == 0
        answered = folder / "runs" / f"asked{number}"
        with (answered / "predictions.csv").open(encoding="utf-8") as source:
            rows = list(csv.DictReader(source))
        assert [row["class"] for row in rows] == classes
        assert float(rows[0]["p_bad"]) + float(rows[0]["p_good"]) == pytest.approx(1)
    assert "a fine film  good  0.7500" in capsys.readouterr().out


def test_the_answers_are_there_as_json_too(folder: Path) -> None:
    run = trained(folder, *CLASSIFIER)
    assert main(["infer", f"run={run}", "input=a fine film", "output.name=asked"]) == 0
    content = json.loads((folder / "runs" / "asked" / "predictions.json").read_text())
    probabilities = {"bad": 0.25, "good": 0.75}
    assert content == [
        {"input": "a fine film", "class": "good", "probability": 0.75, "probabilities": probabilities,
         "text": "a fine film"}
    ]  # fmt: skip


def test_weights_that_changed_since_the_training_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained(folder, *CLASSIFIER)
    assert main(["infer", f"run={run}", "input=a fine film"]) == 0
    assert "has changed since the training" not in capsys.readouterr().err
    with (run / "weights.npz").open("ab") as out:
        out.write(b"x")
    main(["infer", f"run={run}", "input=a fine film"])
    assert f"{run / 'weights.npz'} has changed since the training" in capsys.readouterr().err


def test_the_test_set_is_the_run_s_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained(folder, *CLASSIFIER)
    assert main(["infer", f"run={run}", "input=test", "output.name=tested"]) == 0
    request = json.loads((folder / "runs" / "tested" / "request.json").read_text())
    assert len(np.load(request["data"]["labels"])) == 6
    (folder / "texts.csv").write_text(TABLE + "another,good\n")
    assert "no longer the one" in refusal(capsys, "infer", f"run={run}", "input=test")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "input is missing"),
        ("  ", "nothing to read"),
        ("nowhere.txt", "no file or folder"),
        ("runs", "runs is a folder"),
        ("bad.txt", "bad.txt, line 2: byte 0xc3"),
        ("nul.txt", "line 1: a NUL byte"),
        ("empty.txt", "nothing to read"),
        ("other.csv", "no column 'text'"),
        ("header.csv", "no row"),
        ("gap.csv", "nothing to read in 'gap.csv[0]'"),
    ],
)
def test_inputs_that_cannot_be_read_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str], given: str, words: str
) -> None:
    run = trained(folder, *CLASSIFIER)
    files = {"bad.txt": "fünf\n".encode() + b"\xc3", "nul.txt": b"a\0b", "empty.txt": b"", "other.csv": b"title\nx\n",
             "header.csv": b"text\n", "gap.csv": b"text,n\n<br/>,1\n,2\n"}  # fmt: skip
    for name, content in files.items():
        (folder / name).write_bytes(content)
    assert words in refusal(capsys, "infer", f"run={run}", f"input={given}")
    assert only(folder / "runs") == run


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("data.root=nowhere.csv",), "no file or folder"),
        (("data.root=texts.csv", "data.text_column=txt"), "did you mean 'text'"),
        (("data.root=texts.csv", "data.fold=10"), "data.fold must be from 0 to 9"),
        (("data.root=texts.csv", "data.tokenizer=wrods"), "did you mean 'words'"),
        (("data.root=texts.csv", "trainer.clip=-1"), "trainer.clip must be from"),
        (("data=mnist",), "data must be one of text_folder, text_table, text_lines"),
        (("data=text_file",), "data must be one of text_folder, text_table, text_lines"),
    ],
)
def test_wrong_settings_and_data_make_no_run(
    folder: Path, capsys: pytest.CaptureFixture[str], settings: tuple[str, ...], words: str
) -> None:
    shown = refusal(capsys, "train", "model=transformer/classifier", "data=text_table", *settings)
    assert words in shown
    assert not (folder / "runs").exists()


def test_pictures_and_texts_are_not_mixed_up(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no data set called 'text_table'" in refusal(capsys, "train", "model=mnist", "data=text_table")
    run = trained(folder, *CLASSIFIER)
    shown = refusal(capsys, "infer", "model=transformer/lm", f"run={run}", "prompt=x")
    assert "has no trained language model" in shown


def test_a_language_model_is_trained_on_one_text(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained(folder, *LANGUAGE)
    assert f"To continue a text: python -m zoo infer run={run.absolute()} prompt=TEXT" in capsys.readouterr().out
    saved = record(run)["data"]
    assert (saved["train_items"], saved["validation_items"], saved["test_items"]) == (774, 86, 0)
    assert json.loads((run / "request.json").read_text())["data"]["parts"] == {
        "train": [0, 774],
        "validation": [774, 860],
    }


def test_a_text_shorter_than_the_model_reads_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = refusal(capsys, "train", *LANGUAGE, "model.length=1000")
    assert "The training part has 774 tokens; model.length=1000 needs more" in shown
    assert not (folder / "runs").exists()


def test_what_is_written_is_shown_as_it_comes_and_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained(folder, *LANGUAGE)
    asked = ("prompt=To be, or", "length=3", "temperature=0.5", "top_k=4", "seed=7", "output.name=written")
    assert main(["infer", f"run={run}", *asked]) == 0
    shown = capsys.readouterr()
    assert r"To be, orla \x1b[31mla \x1b[31mla \x1b[31m" in shown.err
    assert "\x1b" not in shown.err
    assert "3 tokens, 5 tokens/s" in shown.out
    written = folder / "runs" / "written"
    assert (written / "generated.txt").read_text() == "To be, orla la la "
    request = json.loads((written / "request.json").read_text())
    assert request["generate"]["tokens"] == tokenization.load(run / "vocabulary.json").encode("To be, or")
    assert (request["generate"]["top_k"], request["generate"]["seed"]) == (4, 7)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (("prompt=Zwölf",), "lacks 'Z' 'w' 'ö' 'l' 'f'"),
        (("length=0",), "length must be from 1"),
        (("temperature=-1",), "temperature must be from 0"),
        (("top_k=1000",), "exceeds the vocabulary of"),
        (("top_p=0",), "top_p must be from"),
        (("top_p=1.5",), "top_p must be from"),
        (("input=some text", "prompt=To"), "give only one"),
        (("input=t",), "has 1 token"),
        (("input=nowhere.txt",), "nowhere.txt"),
        (("input=.",), "is a folder"),
        (("input=/dev/zero",), "/dev/zero is a pipe or a device"),
        (("input=test", "data.root=texts.csv"), "no longer the one"),
    ],
)
def test_prompts_that_cannot_be_gone_on_with_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str], settings: tuple[str, ...], words: str
) -> None:
    run = trained(folder, *LANGUAGE)
    assert words in refusal(capsys, "infer", f"run={run}", *settings)


def test_a_text_is_measured_instead_of_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained(folder, *LANGUAGE)
    (folder / "other.txt").write_text("To be! Zwei.\n")
    (folder / "play.txt").rename(folder / "moved.txt")
    asked = {"test": [], "other.txt": [], "not to be": []} | {"test": ["data.root=moved.txt"]}
    counts = {}
    for number, (given, more) in enumerate(asked.items()):
        assert main(["infer", f"run={run}", f"input={given}", *more, f"output.name=scored{number}"]) == 0
        request = json.loads((folder / "runs" / f"scored{number}" / "request.json").read_text())
        counts[given] = len(np.load(request["data"]["tokens"]))
        assert request["job"] == "score_text"
    assert counts == {"test": 86, "other.txt": 13, "not to be": 9}
    shown = capsys.readouterr()
    assert "perplexity 2.0000, token accuracy 0.5000" in shown.out
    assert "lacks 3 of 13 tokens" in shown.err


def test_a_training_takes_weights_and_vocabulary_of_the_zoos_own(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained(folder, *LANGUAGE, "weights=zoo")
    network = zoo_networks.find("transformer/lm", "zoo")
    assert (run / "vocabulary.json").read_bytes() == (network.folder / "vocabulary.json").read_bytes()
    request = json.loads((run / "request.json").read_text())
    assert request["weights"]
    assert request["model"]["args"]["vocabulary"] == 67
    assert record(run)["weights"]["source"] == "zoo/shakespeare"
    assert record(run)["config"]["data"]["vocabulary"] == 67
    assert main(["infer", f"run={run}", "input=test", "output.name=scored"]) == 0
    asked = np.load(folder / "runs" / "scored" / "inputs_tokens.npy")
    assert (
        tokenization.load(network.folder / "vocabulary.json").encode("that is the question.\n") == asked[-22:].tolist()
    )
    assert "Starting from zoo/shakespeare" in capsys.readouterr().err


def test_a_network_from_before_an_argument_stays_without_it(folder: Path) -> None:
    run = trained(folder, *CLASSIFIER, "weights=zoo")
    arguments = json.loads((run / "request.json").read_text())["model"]["args"]
    (network,) = zoo_networks.of_model("transformer/classifier")
    assert "pair_buckets" not in network.arguments
    assert (arguments["pair_buckets"], arguments["spelling"]) == (0, False)


def test_pairs_that_tell_little_are_warned_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained(folder, *CLASSIFIER, "model.spelling=true", "model.pair_buckets=1000000")
    said = capsys.readouterr().err
    assert "1000000 is a multiple of 3 or 5" in said
    assert "1048576 is a good number" in said


@pytest.mark.parametrize(("words", "said"), [
    (["model.pair_buckets=0", "model.spelling=true"], "model.spelling has no effect without model.pair_buckets"),
    (["data.validation=0", "trainer.patience=2"], "trainer.patience has no effect without texts for validation"),
    (["weights=zoo", "data.vocabulary=50"], "data.vocabulary has no effect with weights=zoo, which has a vocabulary"),
])  # fmt: skip
def test_settings_of_a_training_that_do_nothing_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert said in refusal(capsys, "train", *CLASSIFIER, *words)


def test_spelling_can_be_switched_off_with_the_pairs(folder: Path) -> None:
    """As in the first epoch of a certification."""
    run = trained(folder, *CLASSIFIER, "model.pair_buckets=0", "model.spelling=false")
    arguments = json.loads((run / "request.json").read_text())["model"]["args"]
    assert (arguments["pair_buckets"], arguments["spelling"]) == (0, False)


@pytest.mark.parametrize(("words", "key"), [
    (["input=a sentence", "data.encoding=latin-1"], "data.encoding"),
    (["input=a sentence", "data.test_limit=3"], "data.test_limit"),
    (["input=notes.txt", "data.delimiter=tab"], "data.delimiter"),
    (["input=test", "data.lines=true"], "data.lines"),
])  # fmt: skip
def test_reading_that_an_input_does_not_have_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], key: str
) -> None:
    run = trained(folder, *CLASSIFIER)
    (folder / "notes.txt").write_text("a good film")
    assert f"{key} has no effect with input=" in refusal(capsys, "infer", f"run={run}", *words)


def test_weights_that_texts_cannot_start_from_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "weights must be zoo, zoo/NAME or none" in refusal(capsys, "train", *LANGUAGE, "weights=imagenet")
    assert "Remove model.layers" in refusal(capsys, "train", *LANGUAGE, "weights=zoo", "model.layers=2")
    assert "no weights=zoo/x of transformer/lm" in refusal(capsys, "train", *LANGUAGE, "weights=zoo/x")


def test_an_empty_prompt_is_none(folder: Path) -> None:
    run = trained(folder, *LANGUAGE)
    assert main(["infer", f"run={run}", "prompt="]) == 0


def test_a_long_prompt_is_said_to_be_cut(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained(folder, *LANGUAGE)
    assert main(["infer", f"run={run}", "prompt=" + "to be " * 50, "length=1"]) == 0
    assert "only the end of the prompt is used" in capsys.readouterr().err


def test_from_python_it_is_the_same_path(folder: Path) -> None:
    root = {"data.root": folder / "texts.csv"}
    run = api.train(model="transformer/classifier", data="text_table", preset="smoke", **root)
    assert api.infer(run=run, input="a fine film").predictions[0]["class"] == "good"


def predictions(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "runs" / name / "predictions.csv").open(encoding="utf-8") as source:
        return list(csv.DictReader(source))


def test_predictions_for_the_test_set_hold_texts_and_true_classes(folder: Path) -> None:
    (folder / "texts.csv").write_text(TABLE.replace("fine film 2,", '"=1+1 ""film"" 2",') + "long " * 300 + ",bad\n")
    run = trained(folder, *CLASSIFIER, "data.folds=2")
    assert main(["infer", f"run={run}", "input=test", "output.name=tested"]) == 0
    rows = predictions(folder, "tested")
    assert len(rows) == 31 or len(rows) == 30
    for row in rows:
        assert row["true_class"] == ("bad" if row["text"].startswith(("very dull", "long")) else "good")
        assert len(row["text"]) < 600
        assert not row["text"].startswith("=")


@pytest.mark.parametrize(("settings", "count"), [([], 3), (["data.lines=false"], 1), (["data.encoding=latin-1"], 3)])
def test_standard_input_is_read_a_text_a_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, settings: list[str], count: int
) -> None:
    run = trained(folder, *CLASSIFIER)
    given = io.TextIOWrapper(io.BytesIO("fine film\n\nvery dull film\nnaïve\n".encode("cp1252")))
    monkeypatch.setattr("sys.stdin", given)
    assert main(["infer", f"run={run}", "input=-", "output.name=asked", *settings]) == 0
    rows = predictions(folder, "asked")
    assert len(rows) == count
    assert rows[-1]["text"].endswith("naïve" if count == 3 else "naïve\n")


def test_an_empty_standard_input_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained(folder, *CLASSIFIER)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "nothing to read in 'standard input'" in refusal(capsys, "infer", f"run={run}", "input=-")


def test_a_text_file_is_read_as_in_training(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, word in (("good", "fine"), ("bad", "very dull")):
        (folder / f"{name}.txt").write_text("".join(f"{word} film {number}\n" for number in range(20)))
    (folder / "new.txt").write_text("fine film\nvery dull film\n")
    run = trained(folder, CLASSIFIER[0], "data=text_lines", "data.root=.", "data.class_files=[good.txt,bad.txt]")
    for number, (settings, count) in enumerate((([], 2), (["data.lines=false"], 1))):
        assert main(["infer", f"run={run}", "input=new.txt", f"output.name=asked{number}", *settings]) == 0
        assert len(predictions(folder, f"asked{number}")) == count
    shown = capsys.readouterr().err
    assert "Read new.txt: one text a line; data.lines=false reads one text" in shown
    assert "Read new.txt: one text; data.lines=true reads one text a line" in shown


def test_a_table_without_header_or_suffix_is_read_as_in_training(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "Messages").write_text("".join(f'ham\tfine {n}\nspam\t"very dull {n}\n' for n in range(20)))
    data = ("data=text_table", "data.root=Messages", "data.label_column=0", "data.text_column=1")
    run = trained(folder, CLASSIFIER[0], *data)
    (folder / "new").write_text('?\tfine film\n?\t"dull\n?\n')
    assert main(["infer", f"run={run}", "input=new", "output.name=asked"]) == 0
    assert [row["text"] for row in predictions(folder, "asked")] == ["fine film", '"dull']
    assert "Skipped new, line 3: 1 columns instead of 2" in capsys.readouterr().err
    (folder / "one").write_text('?\t"dull film\n')
    assert main(["infer", f"run={run}", "input=one", "output.name=one"]) == 0
    assert [row["text"] for row in predictions(folder, "one")] == ['"dull film']
    (folder / "other.csv").write_text("id,review\n1,fine film\n")
    assert main(["infer", f"run={run}", "input=other.csv", "data.text_column=review", "output.name=other"]) == 0
    assert [row["text"] for row in predictions(folder, "other")] == ["fine film"]


def test_the_header_of_a_table_with_numbered_columns_is_no_text_when_it_comes_again(folder: Path) -> None:
    columns = ("data.text_column=0", "data.label_column=1")
    run = trained(folder, *CLASSIFIER, *columns)
    for name, content in (("again", TABLE), ("bare", "fine film,?\n"), ("other", "review,x\nfine film,?\n")):
        (folder / f"{name}.csv").write_text(content)
        assert main(["infer", f"run={run}", f"input={name}.csv", f"output.name={name}"]) == 0
    assert "text" not in [row["text"] for row in predictions(folder, "again")]
    assert [row["text"] for row in predictions(folder, "bare")] == ["fine film"]
    assert [row["text"] for row in predictions(folder, "other")] == ["review", "fine film"]


def test_what_is_in_training_and_test_is_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "texts.csv").write_text("text,label\n" + "Fine  film,good\nfine film,good\ndull,bad\n" * 20)
    run = trained(folder, *CLASSIFIER)
    assert record(run)["data"]["duplicates"] == 6
    assert "6 of 6 test texts (100.0%) are also used for training" in capsys.readouterr().err


def test_what_was_read_and_left_out_is_said_and_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "texts.csv").write_text(TABLE + "one, two,good\n,good\n")
    run = trained(folder, *CLASSIFIER)
    shown = capsys.readouterr().err
    assert "Read texts.csv: separated by commas; a header; utf-8; text in column text, label in column label" in shown
    assert "Skipped texts.csv, line 62: 3 columns instead of 2" in shown
    assert "Skipped 1 blank text of" in shown
    assert (run / "skipped.csv").read_text().splitlines()[1] == '"texts.csv, line 62",3 columns instead of 2'
    assert (record(run)["data"]["blank"], record(run)["data"]["skipped_items"]) == (1, 1)


def test_what_is_taken_for_what_is_in_tables_and_on_the_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repeated = "=fine film again,good\n" * 2
    (folder / "texts.csv").write_text(TABLE + repeated, encoding="utf-8")
    run = trained(folder, *CLASSIFIER, "data.folds=2")
    judgement = record(run)["judgement"]
    assert (judgement["items"], judgement["mistakes"]) == (31, 16)
    assert judgement["accuracy_by_class"] == {"bad": 1.0, "good": 0.0}
    assert judgement["precision_by_class"] == {"bad": pytest.approx(15 / 31), "good": 0.0}
    assert judgement["macro_f1"] == pytest.approx(15 / 46 * 2 / 2)
    assert judgement["accuracy_without_duplicates"] == pytest.approx(15 / 30)
    with (run / "mistakes.csv").open(encoding="utf-8", newline="") as source:
        mistakes = list(csv.DictReader(source))
    assert all(row["true"] == "good" and row["predicted"] == "bad" for row in mistakes)
    assert "'=fine film again" in {row["text"] for row in mistakes}
    assert (run / "classes.csv").read_text().splitlines()[1] == "bad,15,0.4839,1.0000,0.6522"
    shown = capsys.readouterr().out
    assert "Mistakes: 16 of 31 (mistakes.csv); lowest accuracy of a class: good: 0.00, bad: 1.00" in shown
    assert "macro F1 0.3261" in shown
    assert "Always predicting 'good' would be right at least as often: 0.5161 of the texts" in shown
    assert "Test texts like those used for training: 1 of 31; test accuracy without them 0.5000" in shown
    assert main(["report", str(run)]) == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    for words in ("Confusion matrix", "Precision", "F1", "most confident mistakes", "=fine film again"):
        assert words in page


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"data": {"dialect": ["tabs", "none"]}}, "data.dialect is"),
        ({"data": {"dialect": 7}}, "data.dialect is 7"),
        ({"config": {"data": {"quoting": "much"}}}, "data.quoting must be one of"),
        ({"config": {"data": {"strangers": 1}}}, "strangers: unknown key"),
        ({"data": {"class_names": None}}, "has no data.class_names"),
    ],
)
def test_a_record_that_was_tampered_with_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], words: str
) -> None:
    run = trained(folder, *CLASSIFIER)
    saved = record(run)
    saved["data"] |= change.get("data", {})
    saved["config"]["data"] |= change.get("config", {}).get("data", {})
    (run / "run.json").write_text(json.dumps(saved))
    assert words in refusal(capsys, "infer", f"run={run}", "input=texts.csv")


def test_a_training_says_how_a_linear_classifier_does_on_the_same_texts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # No word tells the classes apart, pairs of neighbours do.
    rows = "".join(f"film {n} dull not fine,good\nfilm {n} fine not dull,bad\n" for n in range(40))
    (folder / "texts.csv").write_text("text,label\n" + rows)
    run = trained(folder, *CLASSIFIER)
    baseline = record(run)["linear_baseline"]
    assert baseline["test_accuracy"] == 1
    assert "Linear baseline (linear SVM of words and pairs): test accuracy 1.0000" in capsys.readouterr().out


def test_a_table_of_pairs_that_does_not_fit_in_memory_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = dataclasses.replace(machine.probe(), memory_bytes=20 << 20)
    monkeypatch.setattr(machine, "probe", lambda: here)
    shown = refusal(capsys, "train", *CLASSIFIER, "backend=cpu")
    assert "model.pair_buckets=1048576 takes about 0.042 GB of memory for 2 classes; this machine has 0.021 GB" in shown
    smaller = shown.partition("Give a smaller number: ")[2].partition(".\n")[0]
    assert smaller == "model.pair_buckets=262144"
    trained(folder, *CLASSIFIER, "backend=cpu", smaller)


def test_the_linear_baseline_can_be_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert record(trained(folder, *CLASSIFIER, "linear_baseline=false")).get("linear_baseline") is None
    assert "Linear baseline" not in capsys.readouterr().out


def test_a_vocabulary_too_large_for_pairs_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "pair_buckets" in refusal(capsys, "train", *CLASSIFIER, "model.pair_buckets=-1")


def test_texts_of_unknown_words_alone_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained(folder, *CLASSIFIER, "data.tokenizer=words")
    (folder / "new.csv").write_text("text\nzxqw qwzx\nfine film\nvvkk\n")
    for given, words in (("zxqw qwzx", "No word of the text"), ("new.csv", "No word of 2 of 3 texts")):
        assert main(["infer", f"run={run}", f"input={given}"]) == 0
        assert f"{words} is in the vocabulary" in capsys.readouterr().err
    assert main(["infer", f"run={run}", "input=fine film"]) == 0
    assert "No word" not in capsys.readouterr().err


def test_shares_of_unknown_tokens_are_printed_by_part(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained(folder, *CLASSIFIER, "data.tokenizer=words")
    said = capsys.readouterr()
    shares = re.search(
        r"words lacks: ([\d.]+)% of the validation texts, ([\d.]+)% of the test texts", said.out + said.err
    )
    assert shares
    unknown = record(run)["data"]["unknown_by_part"]
    assert [f"{unknown[part]:.1%}" for part in ("validation", "test")] == [f"{share}%" for share in shares.groups()]


def test_texts_that_are_pictures_and_folders_without_texts_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, content in (("a/1.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\xe9"), ("b/2.jpg", b"\xff\xd8\xff\xe0\xff\xc3")):
        path = folder / "pictures" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    training = ["train", "model=transformer/classifier", "data=text_folder"]
    said = refusal(capsys, *training, "data.root=pictures")
    assert "1.jpg is an image, not a text" in said
    assert "data=folder trains with images" in said
    (folder / "empty").mkdir()
    said = refusal(capsys, *training, "data.root=empty")
    assert "empty holds no text\nGive data.root=PATH with texts of two classes or more.\n" in said
