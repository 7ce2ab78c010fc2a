"""zoo.worker.training.feature_extraction: the features of every item are in the file, in order."""

import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def module(keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A trunk predicts twice its input, and its negative."""
    from zoo.worker.training import feature_extraction

    def predict(trunk: Any, batch: np.ndarray) -> np.ndarray:
        trunk.sizes.append(len(batch))
        return np.stack([2 * batch, -batch], axis=1)

    monkeypatch.setattr("zoo.models.compat.predict", predict)
    return feature_extraction


def trunk() -> Any:
    return types.SimpleNamespace(outputs=[types.SimpleNamespace(shape=(None, 2, 3))], sizes=[])


def part(folder: Path, count: int = 7) -> Any:
    from zoo.worker.training import image_batches

    np.save(folder / "rows.npy", np.arange(3 * count, dtype=np.uint8).reshape(count, 3))
    return image_batches.Part(image_batches.Rows(folder / "rows.npy", np.arange(count)), np.arange(count))


def expected(count: int = 7) -> np.ndarray:
    rows = np.arange(3 * count, dtype=np.float32).reshape(count, 3) + 1
    return np.stack([2 * rows, -rows], axis=1)


def preprocess(rows: np.ndarray) -> np.ndarray:
    return rows.astype(np.float32) + 1


@pytest.mark.parametrize(("batch_size", "sizes"), [(3, [3, 3, 3]), (64, [7])])
def test_features_replace_the_images(module: Any, tmp_path: Path, batch_size: int, sizes: list[int]) -> None:
    path, network = tmp_path / "features.npy", trunk()
    result = module.features(network, preprocess, part(tmp_path), batch_size, str(path), None)
    assert network.sizes == sizes
    np.testing.assert_array_equal(np.load(path), expected())
    np.testing.assert_array_equal(result.rows[:], expected())
    assert result.labels.tolist() == list(range(7))
    assert np.load(path).dtype == np.float32


def test_processes_write_a_part_of_the_file_each(module: Any, tmp_path: Path) -> None:
    from zoo.worker import distributed

    class Member(distributed.Group):
        size = 2

        def __init__(self, rank: int) -> None:
            super().__init__()
            self.rank, self.agreed = rank, 0

        def agree(self, value: Any) -> Any:
            self.agreed += 1
            return value

    path = tmp_path / "features.npy"
    for rank, sizes in ((0, [2, 2]), (1, [2, 2])):
        network, member = trunk(), Member(rank)
        result = module.features(network, preprocess, part(tmp_path), 2, str(path), None, member)
        assert (network.sizes, member.agreed) == (sizes, 2)
    np.testing.assert_array_equal(result.rows[:], expected())
    network = trunk()
    result = module.features(network, preprocess, part(tmp_path, 1), 2, str(path), None, Member(0))
    assert network.sizes == []  # the other process has the only item
    assert result.rows[:].tolist() == np.zeros((1, 2, 3)).tolist()


def test_after_a_stop_the_rest_is_zero_and_an_empty_part_stays(module: Any, tmp_path: Path) -> None:
    path, stop = tmp_path / "features.npy", types.SimpleNamespace(asked=True)
    result = module.features(trunk(), preprocess, part(tmp_path), 2, str(path), stop)
    np.testing.assert_array_equal(result.rows[:2], expected()[:2])
    assert not result.rows[2:].any()
    path.unlink()
    empty = part(tmp_path, 7).between(0, 0)
    assert module.features(trunk(), preprocess, empty, 2, str(path), stop) is empty
    assert not path.exists()


class Layer:
    """A layer that notes itself in what it is called on."""

    def __init__(self, name: str, weights: int = 0) -> None:
        self.name, self.weights = name, [0] * weights

    def __call__(self, x: list[str]) -> list[str]:
        return [*x, self.name]


class Dropout(Layer):
    """A layer of the kind that belongs to the head."""


@pytest.mark.parametrize(("after", "head"), [((), ["probabilities"]), (("d1", "d2"), ["d1", "d2", "probabilities"])])
def test_a_classifier_is_cut_before_its_head_and_the_dropout_before_it(
    module: Any, monkeypatch: pytest.MonkeyPatch, after: tuple[str, ...], head: list[str]
) -> None:
    models: list[dict[str, Any]] = []
    stub = types.SimpleNamespace(
        layers=types.SimpleNamespace(Input=lambda shape: [f"features {shape}"]),
        models=types.SimpleNamespace(Model=lambda **ends: models.append(ends) or ends),
    )
    monkeypatch.setattr(module.compat, "keras", stub)
    layers = [Layer("pixels"), Layer("dense", 2), Dropout("early"), Layer("pool"), *map(Dropout, after),
              Layer("probabilities", 2), Layer("softmax")]  # fmt: skip
    for number, layer in enumerate(layers):
        layer.input = types.SimpleNamespace(shape=(None, number))  # type: ignore[attr-defined]
    network = types.SimpleNamespace(layers=layers, inputs=["the pixels"])
    trunk_of, head_of, name = module.split_at_head(network)
    assert name == "probabilities"
    assert trunk_of == {"inputs": "the pixels", "outputs": layers[4].input}  # type: ignore[attr-defined]
    assert head_of == {"inputs": ["features (4,)"], "outputs": ["features (4,)", *head, "softmax"]}
