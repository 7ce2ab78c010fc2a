"""Epochs that use every item, in batches of one size."""

import types
from pathlib import Path

import numpy as np
import pytest

from tests.support import parts
from zoo.worker.training.equal_batches import equal_batches, fill, tell_if_raised


@pytest.mark.parametrize(
    ("items", "most", "expected"),
    [
        (94, 64, (2, 47)),
        (54_000, 256, (211, 256)),
        (10, 64, (1, 10)),
        (64, 64, (1, 64)),
        (7, 3, (3, 3)),
        (1, 1, (1, 1)),
    ],
)
def test_there_are_as_few_batches_as_hold_all_items(items: int, most: int, expected: tuple[int, int]) -> None:
    assert equal_batches(items, most) == expected


def test_raised_batches_leave_none_empty() -> None:
    for items in range(1, 400):
        for multiple in (1, 3, 5, 8):
            steps, size = equal_batches(items, 8, multiple)
            assert (steps - 1) * size < items <= steps * size, (items, multiple)
            assert size % multiple == 0


def test_what_fills_the_last_batch_is_drawn_anew_from_all_items() -> None:
    counts = np.zeros(10, int)
    for seed in range(3000):
        random = np.random.RandomState(seed)
        order = fill(random.permutation(10), 4, random)
        assert len(order) == 12
        counts += np.bincount(order, minlength=10)
    assert counts.min() >= 3000
    assert np.abs(counts / 3000 - 1.2).max() < 0.05  # no item counts more than another


@pytest.mark.parametrize("batch_size", [1, 8, 30, 64, 94, 1000])
def test_an_epoch_uses_every_picture(keras: types.ModuleType, tmp_path: Path, batch_size: int) -> None:
    from zoo.worker.training import image_batches

    np.save(tmp_path / "x.npy", np.arange(94, dtype=np.uint8).reshape(94, 1))
    np.save(tmp_path / "y.npy", np.arange(94) % 3)
    part = image_batches.Part(image_batches.Rows(tmp_path / "x.npy", np.arange(94)), np.load(tmp_path / "y.npy"))
    both = {"train": part, "validation": part}
    batches = image_batches.ImageBatches(both, lambda rows: rows, parts.text_training(batch_size=batch_size), 3)
    for epoch in (1, 2):
        dealt = [x[:, 0].tolist() for x, _ in batches.batches(epoch)]
        assert len(dealt) == batches.steps(epoch) == -(-94 // batch_size)
        assert {len(batch) for batch in dealt} == {-(-94 // len(dealt))}
        assert {item for batch in dealt for item in batch} == set(range(94))


@pytest.mark.parametrize("batch_size", [1, 4, 7, 64])
def test_an_epoch_uses_every_text(keras: types.ModuleType, batch_size: int) -> None:
    from zoo.worker.training import labelled_texts, text_batches

    texts = text_batches.TokenizedTexts(np.arange(2, 25), np.arange(24), length=4)
    split = {"train": np.arange(1, 23), "validation": np.arange(1)}
    settings = parts.text_training(batch_size=batch_size)
    batches = labelled_texts.TextBatches(texts, np.zeros(23, int), split, 2, settings)
    dealt = [x[:, 0].tolist() for x, _ in batches.batches(1)]
    assert len(dealt) == batches.steps(1) == -(-22 // batch_size)
    assert {token for batch in dealt for token in batch} == set(range(3, 25))


@pytest.mark.parametrize(("items", "multiple", "words"), [
    (1000, 2, ["Batches have 64 items instead of 63"]),
    (1000, 1, []),
    (640, 2, []),
])  # fmt: skip
def test_the_user_is_told_where_batches_are_larger_to_be_shared(items: int, multiple: int, words: list[str]) -> None:
    heard: list[str] = []
    group = types.SimpleNamespace(multiple=multiple, size=2)
    tell_if_raised(types.SimpleNamespace(settings=parts.training(batch_size=64), group=group, warn=heard.append), items)
    assert [message[: len(begin)] for message, begin in zip(heard, words, strict=True)] == words
