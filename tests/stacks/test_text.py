"""Classifiers and language models of text on real stacks: they learn, agree with each other, and write."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tests.support.conformance import Answers
from tests.support.questions import FIRST, STACKS
from tests.support.trainings import ready
from zoo.cli.main import main
from zoo.data.text import tokenization
from zoo.protocol import text_features
from zoo.runs.result import open_run
from zoo.tasks.text import linear

pytestmark = pytest.mark.stacks


def probabilities(conformance: Answers, stack: str) -> np.ndarray:
    """What a stack gives with the weights that the first stack learnt."""
    given: np.ndarray = np.load(conformance.folder(stack, "text") / "asked" / "probabilities.npy")
    return given


@pytest.mark.parametrize("stack", STACKS["text"])
def test_classifiers_learn_and_agree(conformance: Answers, stack: str) -> None:
    learnt, asked, *_ = conformance.of(stack, "text")
    own = probabilities(conformance, stack)
    assert learnt["metrics"]["test_accuracy"] >= 0.9
    assert np.abs(own.sum(axis=1) - 1).max() < 1e-5
    assert np.abs(own - probabilities(conformance, FIRST)).max() < 1e-4
    assert asked["metrics"]["test_accuracy"] == conformance.of(FIRST, "text")[1]["metrics"]["test_accuracy"]


@pytest.mark.parametrize("stack", STACKS["text"])
def test_language_models_learn_and_write_past_their_memory(conformance: Answers, stack: str) -> None:
    _, _, learnt, generated, scored = conformance.of(stack, "text")
    assert learnt["metrics"]["val_loss"] < 0.5
    assert scored["metrics"]["loss"] == pytest.approx(learnt["metrics"]["val_loss"], rel=1e-4)
    assert scored["metrics"]["perplexity"] == pytest.approx(np.exp(learnt["metrics"]["val_loss"]), rel=1e-4)
    assert scored["metrics"]["items"] == 59
    assert generated["written"] == "abcdefabcdefabcdefabcd"
    assert generated["text"] == generated["written"][2:]


@pytest.mark.slow
@pytest.mark.parametrize("stack", ["torch", "tf-1.8"])
def test_the_classifier_of_pairs_begins_as_a_logistic_regression(
    tmp_path: Path, stack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear, "MOST_TOKENS", 0)  # with two classes, only many texts
    kinds = {
        name: [f"a {name} film, {'very ' * (number % 4)}{name}" for number in range(60)] for name in ("bad", "good")
    }
    texts = [text for name in kinds for text in kinds[name]]
    (tmp_path / "texts").mkdir()
    for name, lines in kinds.items():
        (tmp_path / "texts" / f"{name}.txt").write_text("\n".join(lines))
    words = [*ready(stack), "model=transformer/classifier", "data=text_lines", f"data.root={tmp_path / 'texts'}"]
    words += ["model.layers=1", "model.d_model=16", "model.heads=2", "model.d_ff=32", "model.length=16"]
    words += ["model.pair_buckets=500", "model.spelling=false", "trainer.learning_rate=1e-9", "trainer.epochs=1"]
    assert main(["train", *words, f"output.root={tmp_path}", "output.name=run"]) == 0
    with np.load(tmp_path / "run" / "weights.npz") as weights, np.load(tmp_path / "run" / "split.npz") as split:
        gains, scaled, chosen = weights["pairs/gains"], weights["pairs/ratios"], split["train"]
        assert np.abs(weights["predictions/kernel"]).max() < 1e-6, "the encoder has nothing to say yet"
    tokens = tokenization.load(tmp_path / "run" / "vocabulary.json").encode_all(texts)
    rows = np.zeros((len(texts), 16), np.int32)
    for row, text in zip(rows, tokens, strict=True):
        row[: len(text)] = text
    numbers, labels = text_features.features(rows, None, len(gains) - 500, 500), np.repeat([0, 1], 60)
    counts = np.stack([np.bincount(features, minlength=len(gains)) for features in numbers])
    counts[:, 0] = 0  # the filling
    of_texts = np.stack([(counts[chosen][labels[chosen] == own] > 0).sum(axis=0) for own in (0, 1)], axis=1)
    shares = (of_texts + 1) / (of_texts + 1).sum(axis=0)
    ratios = np.where(of_texts.any(axis=1), np.log(shares[:, 1] / shares[:, 0]), 0)
    expected = LogisticRegression(C=4 * linear.LOGISTIC_STRENGTH, fit_intercept=False, tol=1e-8, max_iter=1000)
    expected.fit((counts * ratios)[chosen], labels[chosen])
    logits = counts @ (scaled * (0.02 + 0.5 * gains))
    assert logits[:, 1] - logits[:, 0] == pytest.approx(expected.decision_function(counts * ratios), rel=0.02)
    assert (logits.argmax(axis=1) == labels).all()
    before = open_run(tmp_path / "run").record["phases"]["fit_linear_s"]
    assert main(["train", f"resume={tmp_path / 'run'}", "trainer.epochs=2"]) == 0
    resumed = open_run(tmp_path / "run")
    assert (len(resumed.history), resumed.record["phases"]["fit_linear_s"]) == (2, before), "fitted once"


@pytest.mark.slow
@pytest.mark.parametrize("stack", ["torch", "tf-1.8"])
def test_three_classes_begin_as_the_linear_classifier_of_the_host(tmp_path: Path, stack: str) -> None:
    (tmp_path / "texts").mkdir()
    for name in ("bad", "good", "odd"):
        lines = [f"a {name} film, {'very ' * (number % 4)}{name} {number}" for number in range(60)]
        (tmp_path / "texts" / f"{name}.txt").write_text("\n".join(lines))
    words = [*ready(stack), "model=transformer/classifier", "data=text_lines", f"data.root={tmp_path / 'texts'}"]
    words += ["model.layers=1", "model.d_model=16", "model.heads=2", "model.d_ff=32", "model.length=16"]
    words += ["model.pair_buckets=500", "trainer.learning_rate=1e-9", "trainer.epochs=1"]
    assert main(["train", *words, f"output.root={tmp_path}", "output.name=run"]) == 0
    run = open_run(tmp_path / "run")
    assert run.record["metrics"]["test_accuracy"] == 1.0
    assert run.record["metrics"]["best_epoch"] == 0, "an epoch without learning is not better"
    assert run.record["linear_probe"]["kept"]
    assert not (tmp_path / "run" / "linear.npz").exists()
    with np.load(tmp_path / "run" / "weights.npz") as weights:
        assert np.abs(weights["predictions/kernel"]).max() == 0
    lines = tmp_path / "asked.txt"
    lines.write_text("an odd odd film\na good one, very good\n")
    assert main(["infer", f"run={tmp_path / 'run'}", f"input={lines}", f"output.root={tmp_path / 'asked'}"]) == 0
