"""Classifiers and language models of text on real stacks: they learn, agree with each other, and write."""

import dataclasses
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import SUPPORT, real_stacks
from zoo.config.schemas.text import TextTrainer
from zoo.core import paths
from zoo.environments import store

pytestmark = pytest.mark.stacks

STACKS = ("torch", "tf-2.21", "tf-1.8", "plaidml-0.7")
VOCABULARY, LENGTH = 12, 16
SMALL = {"vocabulary": VOCABULARY, "length": LENGTH, "layers": 1, "d_model": 16, "heads": 2, "d_ff": 24,
         "activation": "gelu", "norm_first": True, "probabilities": True}  # fmt: skip
LANGUAGE = SMALL | {"length": 8, "dropout": 0.0, "tied": True}
CLASSIFIER = SMALL | {"classes": 2, "dropout": 0.1, "attention_dropout": 0.0, "pooling": "mean"}


def texts(folder: Path, count: int = 96) -> dict[str, str]:
    """Texts of 1 to 40 tokens; those of class 1 hold token 5 somewhere where it is read, those of class 0 do not."""
    random = np.random.default_rng(1)
    pieces, labels = [], np.arange(count) % 2
    for label in labels:
        piece = random.choice([2, 3, 4, 6, 7, 8], random.integers(1, 41))
        if label:
            piece[min(len(piece), LENGTH // 2) - 1 if len(piece) > LENGTH else 0] = 5
        pieces.append(piece)
    order = random.permutation(count)
    arrays = {
        "tokens": np.concatenate(pieces).astype(np.uint16),
        "offsets": np.cumsum([0, *(len(piece) for piece in pieces)]),
        "labels": labels.astype(np.int64),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    np.savez(folder / "split.npz", train=order[:64], validation=order[64:80], test=order[80:])
    return {name: str(folder / f"{name}.npy") for name in arrays} | {"split": str(folder / "split.npz")}


def settings(**changed: Any) -> dict[str, Any]:
    small = TextTrainer(batch_size=16, learning_rate=0.01, clip=1.0, word_dropout=0.05, label_smoothing=0.05)
    return dataclasses.asdict(small) | {"seed": 1} | changed


def requests(folder: Path, weights: Path | None, clip: float | None) -> list[dict[str, Any]]:
    """Train and ask a classifier, train a language model of a text that repeats itself, and let it write."""
    for name in ("classifier", "asked", "language"):
        (folder / name).mkdir()
    data = texts(folder)
    np.save(folder / "text.npy", np.tile([2, 3, 4, 5, 6, 7], 60).astype(np.uint16))
    language = {"tokens": str(folder / "text.npy"), "parts": {"train": [0, 300], "validation": [300, 360]}}
    pieces = ["", "\u00ef\u00bf\u00bd", *"abcdefghij"]
    return [
        {"job": "train_text_classifier", "model": {"name": "transformer/classifier", "args": dict(CLASSIFIER)},
         "data": data, "train": settings(epochs=6, clip=clip), "run_dir": str(folder / "classifier")},
        {"job": "predict_text", "model": {"name": "transformer/classifier", "args": dict(CLASSIFIER)}, "data": data,
         "weights": str(weights or folder / "classifier" / "weights.npz"), "infer": {"batch_size": 20},
         "run_dir": str(folder / "asked")},
        {"job": "train_language_model", "model": {"name": "transformer/lm", "args": dict(LANGUAGE)},
         "data": language, "train": settings(epochs=2, steps=40, clip=clip), "run_dir": str(folder / "language")},
        {"job": "generate_text", "model": {"name": "transformer/lm", "args": dict(LANGUAGE)},
         "weights": str(folder / "language" / "weights.npz"), "pieces": pieces, "run_dir": str(folder / "language"),
         "infer": {"tokens": [2, 3], "prompt": "ab", "length": 20, "temperature": 0.0, "top_k": None, "seed": 1}},
    ]  # fmt: skip


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a stack answers, and the probabilities it gives with the weights that the first stack learnt."""
    kept: dict[str, tuple[list[dict[str, Any]], Any]] = {}
    root = tmp_path_factory.mktemp("texts")

    def ask(name: str) -> tuple[list[dict[str, Any]], Any]:
        if name not in kept:
            if name != STACKS[0]:
                ask(STACKS[0])
            first = None if name == STACKS[0] else root / STACKS[0] / "classifier" / "weights.npz"
            kept[name] = _run(name, root / name, first)
        return kept[name]

    return ask


def _run(name: str, folder: Path, weights: Path | None) -> tuple[list[dict[str, Any]], Any]:
    stack, ready = real_stacks.environment(name)
    folder.mkdir()
    clip = None if name.startswith("plaidml") else 1.0
    told = {"zoo": str(paths.PACKAGE), "keras": stack.keras, "framework": stack.framework,
            "requests": requests(folder, weights, clip), "out": str(folder / "answers.json")}  # fmt: skip
    (folder / "requests.json").write_text(json.dumps(told))
    command = [str(ready.python), "-I", "-B", str(SUPPORT / "workers/text.py")]
    done = subprocess.run(
        [*command, str(folder / "requests.json")],
        env=store.child_environment(stack), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((folder / "answers.json").read_text()), np.load(folder / "asked" / "probabilities.npy")


@pytest.mark.parametrize("stack", STACKS)
def test_classifiers_learn_and_agree(stack: str, answers: Any) -> None:
    said, probabilities = answers(stack)
    assert said[0]["metrics"]["test_accuracy"] >= 0.9
    assert np.abs(probabilities.sum(axis=1) - 1).max() < 1e-5
    assert np.abs(probabilities - answers(STACKS[0])[1]).max() < 1e-4
    assert said[1]["metrics"]["test_accuracy"] == answers(STACKS[0])[0][1]["metrics"]["test_accuracy"]


@pytest.mark.parametrize("stack", STACKS)
def test_language_models_learn_and_write_past_their_memory(stack: str, answers: Any) -> None:
    said, _ = answers(stack)
    assert said[2]["metrics"]["val_loss"] < 0.5
    assert said[3]["written"] == "abcdefabcdefabcdefabcd"
    assert said[3]["text"] == said[3]["written"][2:]
