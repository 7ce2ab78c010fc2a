"""zoo.worker.training.image_batches: which rows a batch has, with their labels and weights."""

import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import parts as request_parts
from zoo.protocol.request import ImageData

SETTINGS = request_parts.training(batch_size=4, seed=3)


@pytest.fixture
def module(keras: types.ModuleType) -> Any:
    from zoo.worker.training import image_batches

    return image_batches


@pytest.fixture
def data(tmp_path: Path) -> ImageData:
    """Row n is filled with n, and its label is n % 3; of the test it is 100 + n."""
    files = {
        "x_train": np.repeat(np.arange(20, dtype=np.uint8), 4).reshape(20, 2, 2, 1), "y_train": np.arange(20) % 3,
        "x_test": np.repeat(np.arange(100, 106, dtype=np.uint8), 4).reshape(6, 2, 2, 1), "y_test": np.arange(6) % 3,
    }  # fmt: skip
    for name, array in files.items():
        np.save(tmp_path / f"{name}.npy", array)
    split = {"train": np.arange(2, 12), "validation": np.array([0, 15]), "test": np.array([5, 1])}
    np.savez(tmp_path / "split.npz", **split)
    paths = {name: str(tmp_path / f"{name}.npy") for name in files} | {"split": str(tmp_path / "split.npz")}
    return ImageData(**paths, classes=3, balance=False, augment=request_parts.augmentation())  # type: ignore[arg-type]


def batches(module: Any, data: ImageData, epoch: int = 0, **options: Any) -> list[tuple[np.ndarray, ...]]:
    settings = SETTINGS.replace(**{name: options.pop(name) for name in list(options) if hasattr(SETTINGS, name)})
    built = module.ImageBatches(module.parts(data), lambda rows: rows.astype(np.float32), settings, 3, **options)
    result = list(built.batches(epoch))
    assert len(result) == built.steps(epoch)
    return result


def test_parts_have_their_rows_and_labels(module: Any, data: ImageData) -> None:
    parts = module.parts(data)
    assert {name: len(part) for name, part in parts.items()} == {"train": 10, "validation": 2, "test": 2}
    for name, rows in (("train", range(2, 12)), ("validation", (0, 15)), ("test", (105, 101))):
        assert parts[name].rows[:][:, 0, 0, 0].tolist() == list(rows)
        assert parts[name].labels.tolist() == [row % 100 % 3 for row in rows]
    some = parts["train"].between(3, 5)
    assert (some.rows[:][:, 0, 0, 0].tolist(), some.labels.tolist(), len(some)) == ([5, 6], [2, 0], 2)
    assert len(some.rows) == 2


def test_large_files_are_mapped_and_give_the_same(
    module: Any, data: ImageData, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module.read_small(data.x_test).shape == (6, 2, 2, 1)
    size = Path(data.x_test).stat().st_size
    monkeypatch.setattr(module, "SMALL", size)
    assert module.read_small(data.x_test) is not None
    monkeypatch.setattr(module, "SMALL", size - 1)
    assert module.read_small(data.x_test) is None
    assert module.parts(data)["test"].rows[[1, 0]][:, 0, 0, 0].tolist() == [101, 105]


def test_a_part_can_have_other_inputs(module: Any, data: ImageData, tmp_path: Path) -> None:
    np.save(tmp_path / "features.npy", np.array([[7.0], [8.0]]))
    other = module.parts(data)["test"].through(str(tmp_path / "features.npy"))
    assert (other.rows[:].tolist(), other.labels.tolist()) == ([[7.0], [8.0]], [2, 1])


def test_every_row_comes_once_in_an_order_of_the_epoch_and_the_seed(module: Any, data: ImageData) -> None:
    def order(**options: Any) -> list[int]:
        return [int(row) for x, _ in batches(module, data, **options) for row in x[:, 0, 0, 0]]

    first = order()
    assert set(first) == set(range(2, 12))
    assert len(first) == 12  # three equal batches: two rows come twice
    assert order() == first
    assert order(epoch=1) != first
    assert order(seed=4) != first
    for x, y in batches(module, data):
        assert x.shape == (4, 2, 2, 1)
        assert y.argmax(1).tolist() == [int(row) % 3 for row in x[:, 0, 0, 0]]
        assert set(y.ravel().tolist()) == {0.0, 1.0}


def test_labels_are_smoothed_and_classes_balanced(module: Any, data: ImageData) -> None:
    for x, y, weights in batches(module, data, label_smoothing=0.3, balance=True):
        labels = [int(row) % 3 for row in x[:, 0, 0, 0]]
        np.testing.assert_allclose(y[np.arange(4), labels], 0.8, rtol=1e-6)
        np.testing.assert_allclose(weights, [10 / 3 / (4 if label == 2 else 3) for label in labels], rtol=1e-6)


def test_altered_rows_get_seeds_of_their_own(module: Any, data: ImageData) -> None:
    seen: list[tuple[list[int], int]] = []

    def alter(rows: np.ndarray, seeds: list[int], places: Any, total: int) -> np.ndarray:
        seen.append((seeds, total))
        return rows + 100

    result = batches(module, data, epoch=2, augment=alter)
    assert seen == [([3, 2, step], 4) for step in range(3)]
    assert all((x >= 102).all() for x, _ in result)


def test_mixed_rows_are_those_of_the_plain_batch(module: Any, data: ImageData) -> None:
    plain, mixed = batches(module, data), batches(module, data, mixup=0.4)
    for (x, _), (mixed_x, mixed_y) in zip(plain, mixed, strict=True):
        np.testing.assert_allclose(mixed_y.sum(1), 1, rtol=1e-6)
        assert (mixed_x >= x.min() - 1e-4).all()
        assert (mixed_x <= x.max() + 1e-4).all()
        assert not np.array_equal(mixed_x, x)
    assert batches(module, data, mixup=0.4)[0][1].tolist() == mixed[0][1].tolist()


class Member:
    """One of two processes that share a batch."""

    size, multiple = 2, 1

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def bounds(self, count: int) -> tuple[int, int]:
        return self.rank * count // 2, (self.rank + 1) * count // 2


@pytest.mark.parametrize("options", [{}, {"mixup": 0.4}, {"balance": True}, {"mixup": 0.4, "balance": True}])
def test_processes_share_a_batch_as_one_would_make_it(module: Any, data: ImageData, options: dict[str, Any]) -> None:
    whole = batches(module, data, **options)
    shares = [batches(module, data, group=Member(rank), **options) for rank in range(2)]
    for step, batch in enumerate(whole):
        first, second = (each[step] for each in shares)
        assert [(each.begin, each.total) for each in (first, second)] == [(0, 4), (2, 4)]
        assert len(batch) == len(first) == (3 if "balance" in options else 2)
        for mine, theirs, both in zip(first, second, batch, strict=True):
            np.testing.assert_array_equal(np.concatenate([mine, theirs]), both)


def test_the_validation_part_is_judged(module: Any, data: ImageData, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def predict(_model: Any, batch: np.ndarray) -> np.ndarray:
        sizes.append(len(batch))
        return np.eye(3)[(batch[:, 0, 0, 0] % 3).astype(int)] * 0.9 + 1 / 30

    monkeypatch.setattr("zoo.models.compat.predict", predict)
    settings = SETTINGS.replace(batch_size=4)
    built = module.ImageBatches(module.parts(data), lambda rows: rows.astype(np.float32), settings, 3)
    figures = built.evaluate("model")
    assert figures["val_accuracy"] == 1.0
    assert figures["val_loss"] == pytest.approx(-np.log(0.9 + 1 / 30))
    assert sizes == [2]
    empty = module.parts(data) | {"validation": module.parts(data)["validation"].between(0, 0)}
    assert module.ImageBatches(empty, lambda rows: rows, settings, 3).evaluate("model") == {}
