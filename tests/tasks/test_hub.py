"""A folder for model hubs: what the host adds to the worker's files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from safetensors.numpy import load_file

from zoo.tasks import hub

VERSIONS = {"zoo": "0.1.0", "keras": "3.15.1", "tensorflow": "2.21.0", "wheel": "0.48.0"}
RECORD = {
    "data": {"name": "folder", "train_items": 1200, "test_items": 100, "published": True, "source": "/home/me/cats"},
    "metrics": {"test_accuracy": 0.95, "test_loss": 0.1},
    "judgement": {
        "part": "test", "macro_f1": 0.4872, "items": 100, "mistakes": 5,
        "largest_class": {"name": "cat", "items": 95}, "accuracy_by_class": {"cat": 1.0, "a: dog": 0.0},
    },
    "versions": {"keras": "3.15.1", "torch": "2.13.0"},
    "zoo_version": "0.0.9",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    np.savez(tmp_path / "weights.npz", **{"dense/kernel": np.eye(2, dtype=np.float32)})
    config = {"model": "mnist", "classes": ["cat", "a: dog"], "preprocessing": {"height": 28}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "README.md").write_text("# mnist for Keras\n")
    return tmp_path


def completed(folder: Path, record: dict[str, Any], license_: str = "unknown", kind: str = "images") -> Any:
    hub.complete(folder, {"difference": 1e-7}, kind, record, license_, VERSIONS)
    card = (folder / "README.md").read_text()
    _, front, body = card.split("---\n", 2)
    return yaml.safe_load(front), front, body


def test_weights_labels_and_preprocessing_have_files_of_their_own(folder: Path) -> None:
    completed(folder, RECORD)
    np.testing.assert_array_equal(load_file(folder / "model.safetensors")["dense/kernel"], np.eye(2))
    assert not (folder / "weights.npz").exists()
    assert (folder / "model.safetensors").stat().st_mode == (folder / "README.md").stat().st_mode
    config = json.loads((folder / "config.json").read_text())
    assert config["id2label"] == {"0": "cat", "1": "a: dog"}
    assert config["label2id"] == {"cat": 0, "a: dog": 1}
    assert json.loads((folder / "preprocessing.json").read_text()) == {"height": 28}


def test_the_card_is_made_from_the_record(folder: Path) -> None:
    front, _, body = completed(folder, RECORD, "mit")
    assert (front["license"], front["library_name"], front["pipeline_tag"]) == (
        "mit",
        "keras",
        "image-classification",
    )
    (result,) = front["model-index"][0]["results"]
    assert result["dataset"]["name"] == "folder"
    assert {row["type"]: row["value"] for row in result["metrics"]} == {"accuracy": 0.95, "f1": 0.4872}
    assert body.startswith("\n# mnist for Keras\n")
    for line in (
        "- data set `folder`: 1,200 (train), 100 (test)", "- macro F1: 0.4872",
        "lowest accuracy of a class: a: dog 0.00, cat 1.00",
        "- Always predicting 'cat' would be right at least as often", "one of 2 classes", "`hf upload USER/NAME .`",
        "- exported with: zoo 0.1.0, keras 3.15.1, tensorflow 2.21.0\n",
        "- trained with: zoo 0.0.9, keras 3.15.1, torch 2.13.0\n",
    ):  # fmt: skip
        assert line in body
    assert "/home/me" not in body


def test_a_license_that_nobody_gave_is_marked(folder: Path) -> None:
    front, text, _ = completed(folder, RECORD)
    assert front["license"] == "unknown"
    assert "license: unknown  # fill in before you publish" in text


def test_without_a_record_the_card_says_so(folder: Path) -> None:
    front, _, body = completed(folder, {}, "a: b")
    assert front["license"] == "a: b"
    assert "model-index" not in front
    assert "The record names no training data: fill in" in body
    assert "trained with" not in body


def test_a_published_source_is_named(folder: Path) -> None:
    data = {"name": "digits", "source": "https://archive.ics.uci.edu/dataset/80", "licence": "CC BY 4.0"}
    _, _, body = completed(folder, {"data": data})
    assert "- source: https://archive.ics.uci.edu/dataset/80\n- license of the data: CC BY 4.0" in body


def test_style_networks_have_no_labels(folder: Path) -> None:
    (folder / "config.json").write_text(json.dumps({"model": "style_transfer/fast", "preprocessing": {}}))
    front, _, body = completed(folder, {"data": {"name": "photos"}}, kind="pictures")
    assert front["pipeline_tag"] == "image-to-image"
    assert "id2label" not in (folder / "config.json").read_text()
    assert "The license of the painting also applies." in body


@pytest.mark.parametrize(
    ("target", "metrics", "shown"),
    [("labels", {"test_map": 0.9, "test_f1": 0.8}, "- mean average precision: 0.9000\n- macro F1: 0.8000"),
     ("number", {"test_r2": 0.5, "test_mae": 3.25}, "- R2: 0.5000\n- mean absolute error: 3.2500")],
)  # fmt: skip
def test_labels_and_numbers_have_their_own_figures(
    folder: Path, target: str, metrics: dict[str, float], shown: str
) -> None:
    record = RECORD | {"metrics": metrics, "judgement": {"part": "test", "items": 100, "target": target}}
    front, _, body = completed(folder, record)
    assert shown in body
    assert "It answers with one of" not in body
    assert "model-index" not in front
