"""The linear part of a classifier of texts with three or more classes, as the host fits it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from zoo.config import compose
from zoo.config.overrides import Overrides
from zoo.data.text import dataset
from zoo.protocol import text_features, word_parts
from zoo.tasks.text import linear
from zoo.tasks.text.train_classifier import TRAIN

PHRASES = {
    "weather": "{} it rains and the wind blows cold",
    "food": "{} the soup needs salt and some bread",
    "sport": "{} she scored twice before the whistle",
}
STARTS = ("today", "I think", "well", "they said", "again", "maybe", "in fact", "we saw that")


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))


def words(number: int, phrase: str) -> str:
    """Eight beginnings, and a third of the words left out, so that no two texts are the same."""
    kept = [word for place, word in enumerate(phrase.split()[1:]) if (place + number) % 3]
    return f"{STARTS[number % len(STARTS)]} {' '.join(kept)} {number // len(STARTS)}"


def prepared(folder: Path, *settings: str, parts: tuple[str, ...] = ("train", "test")) -> Any:
    for part in parts:
        rows = [f"{words(number, phrase)},{name}" for name, phrase in PHRASES.items() for number in range(24)]
        (folder / f"{part}.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    wanted = ["model=transformer/classifier", "data=text_table", f"data.root={folder}", "data.validation=0.2"]
    chosen = compose.compose(TRAIN, Overrides.parse([*wanted, "model.pair_buckets=1024", *settings]))
    texts = dataset.prepare(chosen.data, 1)
    (folder / "run").mkdir()
    context = SimpleNamespace(settings=chosen, folder=folder / "run", record=SimpleNamespace(phases={}))
    return context, texts, dataset.split_texts(texts, chosen.data, 1)


def outputs(texts: dataset.TextDataset, chosen: Any, stored: Any, kind: str = "") -> Any:
    """What the network's linear part says: sums over features, divided by the root of their number."""
    offsets, tokens = np.load(texts.folder / "offsets.npy"), np.load(texts.folder / "tokens.npy")
    table = np.zeros((len(texts.tokenizer) + 1024, len(PHRASES)))
    table[stored["features"]] = stored[f"{kind}weights"]
    rows = []
    for number in chosen:
        text = tokens[offsets[number] : offsets[number + 1]].astype(np.int32)[None]
        stems = stored["stems"] if len(stored["stems"]) else None
        numbers = text_features.features(text, stems, len(texts.tokenizer), 1024)[0]
        numbers = numbers[numbers != 0]
        rows.append(table[numbers].sum(axis=0) / len(numbers) ** 0.5 + stored[f"{kind}bias"])
    return np.array(rows)


@pytest.mark.parametrize("spelling", ["true", "false"])
def test_it_separates_the_classes_in_the_units_of_the_network(tmp_path: Path, spelling: str) -> None:
    context, texts, parts = prepared(tmp_path, f"model.spelling={spelling}")
    labels = np.load(texts.folder / "labels.npy")
    with np.load(linear.fit(context, texts, parts)) as stored:
        for kind in ("", "final_"):
            given = outputs(texts, parts["test"], stored, kind)
            assert (given.argmax(axis=1) == labels[parts["test"]]).all()
        judged = outputs(texts, parts["validation"], stored)
        assert bool(len(stored["stems"])) == (spelling == "true")
    powers = np.exp(judged - judged.max(axis=1, keepdims=True))
    true = (powers / powers.sum(axis=1, keepdims=True))[np.arange(len(judged)), labels[parts["validation"]]]
    assert -np.log(true).mean() < 0.2, "outputs are logits of the right scale"
    assert context.record.phases["fit_linear_s"] > 0


def test_parts_of_words_are_folded_into_their_words(tmp_path: Path) -> None:
    """A word of the validation texts that no training text has is judged by its parts."""
    context, texts, parts = prepared(tmp_path, "model.spelling=true")
    names = [piece.strip() for piece in texts.tokenizer.token_bytes()]
    with np.load(linear.fit(context, texts, parts)) as stored:
        weights = dict(zip(stored["features"].tolist(), stored["weights"], strict=True))
    sport = texts.info.class_names.index("sport")
    assert weights[names.index("whistle")].argmax() == sport
    assert word_parts.Parts(["whistle"]).count > 10


def test_without_a_test_part_the_validation_texts_are_not_used(tmp_path: Path) -> None:
    context, texts, parts = prepared(tmp_path)
    parts["test"] = parts["test"][:0]
    with np.load(linear.fit(context, texts, parts)) as stored:
        assert "final_weights" not in stored.files


def test_large_sets_are_sampled_and_the_run_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    context, texts, parts = prepared(tmp_path)
    monkeypatch.setattr(linear, "MOST_TOKENS", 300)
    linear.fit(context, texts, parts)
    assert f"of {len(parts['train'])} training texts" in capsys.readouterr().err


def test_a_class_without_training_texts_is_never_the_answer(tmp_path: Path) -> None:
    context, texts, parts = prepared(tmp_path)
    labels, sport = np.load(texts.folder / "labels.npy"), texts.info.class_names.index("sport")
    parts["train"] = parts["train"][labels[parts["train"]] != sport]
    parts["validation"] = parts["validation"][labels[parts["validation"]] != sport]
    with np.load(linear.fit(context, texts, parts)) as stored:
        assert (outputs(texts, parts["test"], stored).argmax(axis=1) != sport).all()
    parts["train"] = parts["train"][labels[parts["train"]] == labels[parts["train"]][0]]
    linear.fit(context, texts, parts)  # a single class is no error


def test_two_classes_of_many_texts_are_left_to_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context, texts, parts = prepared(tmp_path)
    assert linear.is_better(texts, parts["train"], context.settings.model)
    texts.info.class_names.pop()
    assert linear.is_better(texts, parts["train"], context.settings.model)
    monkeypatch.setattr(linear, "MOST_TOKENS", 300)
    assert not linear.is_better(texts, parts["train"], context.settings.model)


def test_without_validation_texts_the_usual_scale_is_taken(tmp_path: Path) -> None:
    context, texts, parts = prepared(tmp_path)
    parts["validation"] = parts["validation"][:0]
    labels = np.load(texts.folder / "labels.npy")
    with np.load(linear.fit(context, texts, parts)) as stored:
        assert (outputs(texts, parts["test"], stored).argmax(axis=1) == labels[parts["test"]]).all()
