"""The linear part of a classifier of texts with three or more classes, as the host fits it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

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


def prepared(folder: Path, *settings: str, cells: dict[str, str] | None = None) -> Any:
    """Phrases of each kind with the kind as label, or its cell."""
    for part in ("train", "test"):
        rows = [
            f"{words(number, phrase)},{(cells or {}).get(name, name)}"
            for name, phrase in PHRASES.items()
            for number in range(24)
        ]
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
    table = np.zeros((len(texts.tokenizer) + 1024, len(stored["bias"])))
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
    with np.load(linear.fit(context, texts, parts, None)) as stored:
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
    with np.load(linear.fit(context, texts, parts, None)) as stored:
        weights = dict(zip(stored["features"].tolist(), stored["weights"], strict=True))
    sport = texts.info.class_names.index("sport")
    assert weights[names.index("whistle")].argmax() == sport
    assert word_parts.Parts(["whistle"]).count > 10


def test_without_a_test_part_the_validation_texts_are_not_used(tmp_path: Path) -> None:
    context, texts, parts = prepared(tmp_path)
    parts["test"] = parts["test"][:0]
    with np.load(linear.fit(context, texts, parts, None)) as stored:
        assert "final_weights" not in stored.files


def test_large_sets_are_sampled_and_the_run_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    context, texts, parts = prepared(tmp_path)
    monkeypatch.setattr(linear, "MOST_TOKENS", 300)
    linear.fit(context, texts, parts, None)
    assert f"of {len(parts['train'])} training texts" in capsys.readouterr().err


def test_a_class_without_training_texts_is_never_the_answer(tmp_path: Path) -> None:
    context, texts, parts = prepared(tmp_path)
    labels, sport = np.load(texts.folder / "labels.npy"), texts.info.class_names.index("sport")
    parts["train"] = parts["train"][labels[parts["train"]] != sport]
    parts["validation"] = parts["validation"][labels[parts["validation"]] != sport]
    with np.load(linear.fit(context, texts, parts, None)) as stored:
        assert (outputs(texts, parts["test"], stored).argmax(axis=1) != sport).all()
    parts["train"] = parts["train"][labels[parts["train"]] == labels[parts["train"]][0]]
    linear.fit(context, texts, parts, None)  # a single class is no error


def test_only_two_classes_of_many_texts_get_a_logistic_regression(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, texts, parts = prepared(tmp_path)
    train, length = parts["train"], context.settings.model["length"]
    texts.info.class_names.pop()
    assert not linear.is_logistic(texts, train, length)
    monkeypatch.setattr(linear, "MOST_TOKENS", 300)
    assert linear.is_logistic(texts, train, length)
    texts.info.class_names.append("sport")
    assert not linear.is_logistic(texts, train, length)


@pytest.mark.parametrize("spelling", [False, True])
def test_a_logistic_regression_has_a_gain_for_each_log_count_ratio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: bool
) -> None:
    """As scikit-learn fits it to counts times ratios, which are computed here text by text."""
    monkeypatch.setattr(linear, "MOST_TOKENS", 0)
    monkeypatch.delitem(PHRASES, "sport")
    context, texts, parts = prepared(tmp_path, f"model.spelling={str(spelling).lower()}")
    offsets, tokens = np.load(texts.folder / "offsets.npy"), np.load(texts.folder / "tokens.npy").astype(np.int32)
    names = word_parts.words_of(texts.tokenizer.token_bytes())
    stems, of_words = (word_parts.stems(names), word_parts.Parts(names)) if spelling else (None, None)
    counts = np.zeros((len(offsets) - 1, len(names) + 1024))
    for number, row in enumerate(counts):
        text = tokens[offsets[number] : offsets[number + 1]][None]
        numbers = text_features.features(text, stems, len(names), 1024)[0]
        np.add.at(row, numbers[numbers != 0], 1)
    labels, train = np.load(texts.folder / "labels.npy"), parts["train"]
    of_texts = np.stack([(counts[train][labels[train] == own] > 0).sum(axis=0) for own in (0, 1)], axis=1)
    weights = [1.0] * len(of_texts)
    if of_words:
        table = np.zeros((len(names), of_words.count))
        np.add.at(table, (of_words.words_of, of_words.parts), 1)
        of_texts = np.concatenate([of_texts, table.T @ of_texts[: len(names)]])
        counts = np.concatenate([counts, counts[:, : len(names)] @ table], axis=1)
        weights += [linear.PART_WEIGHT] * of_words.count
    shares = (of_texts + 1) / (of_texts + 1).sum(axis=0)
    ratios = np.where(of_texts.any(axis=1), np.log(shares[:, 1] / shares[:, 0]), 0) * weights
    expected = LogisticRegression(C=4 * linear.LOGISTIC_STRENGTH, fit_intercept=False, tol=1e-8, max_iter=1000)
    expected.fit((counts * ratios)[train], labels[train])
    with np.load(linear.fit(context, texts, parts, None)) as stored:
        given = counts[:, : len(stored["weights"])] @ (stored["weights"] * stored["gains"][:, None])
        assert not stored["bias"].any()
    assert given[:, 1] - given[:, 0] == pytest.approx(expected.decision_function(counts * ratios), rel=0.02, abs=0.02)


def test_without_validation_texts_the_usual_scale_is_taken(tmp_path: Path) -> None:
    context, texts, parts = prepared(tmp_path)
    parts["validation"] = parts["validation"][:0]
    labels = np.load(texts.folder / "labels.npy")
    with np.load(linear.fit(context, texts, parts, None)) as stored:
        assert (outputs(texts, parts["test"], stored).argmax(axis=1) == labels[parts["test"]]).all()


@pytest.mark.parametrize("kind", ["labels", "number"])
def test_labels_and_numbers_are_fitted_in_the_unit_of_the_network(tmp_path: Path, kind: str) -> None:
    """Only numbers are fitted to the validation texts as well: the thresholds of labels are chosen on these."""
    cells = {"weather": "wet|cold", "food": "warm", "sport": "cold"}
    if kind == "number":
        cells = {"weather": "2.0", "food": "7.0", "sport": "4.0"}
    context, texts, parts = prepared(tmp_path, "data.label_column=label", f"data.target={kind}", cells=cells)
    known = texts.targets
    assert known
    target = known.part(parts["train"], "mse")
    with np.load(linear.fit(context, texts, parts, target)) as stored:
        given = outputs(texts, parts["test"], stored, "" if kind == "labels" else "final_")
        assert ("final_weights" in stored.files) == (kind == "number")
    truth = known.values[parts["test"]]
    if kind == "labels":
        assert ((given > 0) == (truth > 0)).all()
    else:
        assert np.abs(given * target.scale + target.mean - truth).max() < 1
