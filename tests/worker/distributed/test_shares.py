"""What processes take of a batch is, put together, the batch of a single one."""

import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import parts

SETTINGS = parts.text_training(seed=3, label_smoothing=0.1, batch_size=11, word_dropout=0.3, steps=4)
AUGMENT = parts.augmentation(flip=True, crop=0.2, color=0.3, randaugment=2)


class Member:
    """One of several processes, of which only the shares are looked at."""

    multiple = 1

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size

    def bounds(self, count: int) -> tuple[int, int]:
        from zoo.worker.distributed.group import Group

        both: tuple[int, int] = Group.bounds(self, count)
        return both


def check(make: Any, size: int) -> None:
    """Compare the batches of one process with those of several."""
    from zoo.worker import distributed

    alone = list(make(distributed.Group()).batches(2))
    shares = [list(make(Member(rank, size)).batches(2)) for rank in range(size)]
    assert len(alone) > 1
    for step, batch in enumerate(alone):
        both = [share[step] for share in shares]
        assert {part.total for part in both} == {len(batch[1])}
        assert [part.begin for part in both] == [rank * len(batch[1]) // size for rank in range(size)]
        for number, whole in enumerate(batch):
            assert np.array_equal(np.concatenate([part[number] for part in both]), whole)


@pytest.mark.parametrize("mixup", [0.0, 0.4])
@pytest.mark.parametrize("size", [2, 3])
def test_of_pictures(keras: types.ModuleType, tmp_path: Path, size: int, mixup: float) -> None:
    from zoo.worker.training import augment, image_batches

    np.save(tmp_path / "x.npy", np.random.default_rng(1).integers(0, 256, (40, 8, 8, 3)).astype(np.uint8))
    np.save(tmp_path / "y.npy", np.arange(40) % 4)
    part = image_batches.Part(image_batches.Rows(tmp_path / "x.npy", np.arange(40)), np.load(tmp_path / "y.npy"))
    both, alter = {"train": part, "validation": part}, augment.make_augmenter(AUGMENT)

    def make(group: Any) -> Any:
        return image_batches.ImageBatches(both, lambda rows: rows / 255, SETTINGS, 4, alter, True, mixup, group)

    check(make, size)


@pytest.mark.parametrize("size", [2, 3])
def test_of_texts(keras: types.ModuleType, size: int) -> None:
    from zoo.worker.training import labelled_texts, text_batches

    offsets = np.cumsum([0, *np.random.default_rng(1).integers(1, 20, 40)])
    texts = text_batches.TokenizedTexts(np.arange(offsets[-1]) % 50 + 1, offsets, length=16)
    split = {"train": np.arange(40), "validation": np.arange(0)}

    def make(group: Any) -> Any:
        return labelled_texts.TextBatches(texts, np.arange(40) % 2, split, 2, SETTINGS, group)

    check(make, size)


@pytest.mark.parametrize("size", [2, 3])
def test_of_windows_of_one_text(keras: types.ModuleType, size: int) -> None:
    from zoo.worker.jobs import train_language_model

    both = {"train": np.arange(500) % 30, "validation": np.arange(0)}

    def make(group: Any) -> Any:
        return train_language_model.WindowBatches(both, 8, 30, SETTINGS, group)

    check(make, size)


def test_a_batch_that_is_smaller_than_the_group_is_refused(keras: types.ModuleType) -> None:
    from zoo.worker import distributed

    with pytest.raises(Exception, match="a batch of 2 cannot be shared by 3 processes"):
        distributed.require_divisible(2, Member(0, 3))
