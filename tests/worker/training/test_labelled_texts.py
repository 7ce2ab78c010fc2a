"""zoo.worker.training.labelled_texts: batches of texts with labels, and predictions in the order of the texts."""

import types
from typing import Any

import numpy as np
import pytest

from tests.support import parts
from zoo.protocol.request import TargetPart

LENGTHS = (3, 1, 6, 2, 5, 4, 7)


@pytest.fixture
def module(keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A model is the list of the shapes of its batches; it predicts the first token and the number of tokens."""
    from zoo.worker.training import labelled_texts

    def predict(model: list[tuple[int, ...]], batch: np.ndarray) -> np.ndarray:
        model.append(batch.shape)
        return np.stack([batch[:, 0], (batch > 0).sum(1)], axis=1).astype(np.float64)

    monkeypatch.setattr("zoo.models.compat.predict", predict)
    return labelled_texts


def texts() -> Any:
    """Text number n is n + 1, repeated."""
    from zoo.worker.training.text_batches import TokenizedTexts

    numbers = np.repeat(np.arange(len(LENGTHS)) + 1, LENGTHS)
    return TokenizedTexts(numbers, np.cumsum([0, *LENGTHS]), length=8)


def test_predictions_are_in_the_order_of_the_chosen_texts(module: Any) -> None:
    shapes: list[tuple[int, ...]] = []
    progress: list[int] = []
    chosen = np.array([4, 0, 6, 1, 2])
    predicted = module.predict_texts(shapes, texts(), chosen, 2, progress=progress.append)
    assert predicted.dtype == np.float32
    assert predicted.tolist() == [[n + 1, LENGTHS[n]] for n in chosen]
    assert progress == [2, 4, 5]
    assert shapes == [(2, 7), (2, 5), (2, 1)]  # the longest first


def test_after_a_stop_the_rest_is_zero(module: Any) -> None:
    stop = types.SimpleNamespace(asked=False)
    predicted = module.predict_texts(
        [], texts(), np.array([1, 6, 2]), 2, stop, lambda done: setattr(stop, "asked", done > 0)
    )
    assert predicted.tolist() == [[0, 0], [7, 7], [3, 6]]


def test_processes_predict_a_part_each(module: Any) -> None:
    from zoo.worker import distributed

    class Member(distributed.Group):
        size = 2

        def __init__(self, rank: int) -> None:
            super().__init__()
            self.rank = rank

    chosen = np.array([4, 0, 6, 1, 2])
    both = [module.predict_shared([], texts(), chosen, 2, Member(rank)) for rank in range(2)]
    # The engine adds these: each process has zeros for the texts of the other one.
    assert [np.count_nonzero(rows[:, 0]) for rows in both] == [2, 3]
    assert sum(both)[:, 0].tolist() == (chosen + 1).tolist()


def batches(module: Any, labels: np.ndarray, validation: tuple[int, ...] = (), **options: Any) -> Any:
    split = {"train": np.array([6, 1, 2, 5, 3]), "validation": np.array(validation, int)}
    settings = parts.text_training(batch_size=2, **{"label_smoothing": 0.0, **options.pop("settings", {})})
    return module.TextBatches(texts(), labels, split, 2, settings, **options)


def dealt(built: Any, epoch: int) -> list[tuple[list[int], Any]]:
    return [(x[:, 0].tolist(), y.tolist()) for x, y in built.batches(epoch)]


@pytest.mark.parametrize("epoch", [1, 2])
def test_texts_have_their_labels_in_an_order_of_epoch_and_seed(module: Any, epoch: int) -> None:
    built = batches(module, np.arange(7) % 2)
    rows = dealt(built, epoch)
    assert built.steps(epoch) == len(rows) == 3
    assert {token for tokens, _ in rows for token in tokens} == {7, 2, 3, 6, 4}
    for tokens, labels in rows:
        assert labels == [[float(n % 2), float((n - 1) % 2)] for n in tokens]
    assert dealt(built, epoch) == rows
    assert dealt(built, epoch + 5) != rows
    assert dealt(batches(module, np.arange(7) % 2, settings={"seed": 9}), epoch) != rows


def test_labels_are_smoothed_and_words_hidden_as_the_settings_say(module: Any) -> None:
    built = batches(module, np.arange(7) % 2, settings={"label_smoothing": 0.2, "word_dropout": 0.9})
    rows = list(built.batches(1))
    assert {round(value, 6) for _, y in rows for value in y.ravel().tolist()} == {0.1, 0.9}
    assert all((x[:, 0] > 0).all() for x, _ in rows)
    assert sum(int((x > 0).sum()) for x, _ in rows) < 12  # of 22 tokens or more


def test_a_process_reads_its_texts_of_a_batch(module: Any) -> None:
    member = types.SimpleNamespace(rank=1, size=2, multiple=1, bounds=lambda count: (count // 2, count))
    whole, shares = batches(module, np.arange(7) % 2), batches(module, np.arange(7) % 2, group=member)
    for batch, share in zip(whole.batches(1), shares.batches(1), strict=True):
        assert (share.begin, share.total) == (1, 2)
        assert [each.tolist() for each in share] == [each[1:].tolist() for each in batch]


@pytest.mark.parametrize(
    ("validation", "expected"),
    [((), {}), ((2, 0), {"val_loss": 0.0, "val_r2": 1.0, "val_mae": 0.0}), ((0, 1, 2), {"val_mae": 1 / 3})],
)
def test_the_validation_texts_are_judged(
    module: Any, monkeypatch: pytest.MonkeyPatch, validation: tuple[int, ...], expected: dict[str, float]
) -> None:
    def number(_model: Any, batch: np.ndarray) -> np.ndarray:
        return batch[:, :1].astype(np.float32)

    monkeypatch.setattr("zoo.models.compat.predict", number)
    labels = np.array([[1.0], [3.0], [3.0], [9.0], [9.0], [9.0], [9.0]])
    figures = batches(module, labels, validation, target=TargetPart(kind="number")).evaluate("model")
    assert {name: figures[name] for name in expected} == pytest.approx(expected)
    assert figures.keys() == ({"val_loss", "val_r2", "val_mae", "judged"} if validation else set())


def test_a_number_is_learned_standardized(module: Any) -> None:
    target = TargetPart(kind="number", mean=4.0, scale=2.0)
    for x, y in batches(module, np.arange(7.0)[:, None], target=target).batches(1):
        assert y.dtype == np.float32
        assert y[:, 0].tolist() == [(token - 1 - 4) / 2 for token in x[:, 0]]
