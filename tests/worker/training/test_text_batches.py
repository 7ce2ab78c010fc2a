"""Texts of all lengths in batches: nothing is lost, nothing is mixed up, little is padding."""

from pathlib import Path

import numpy as np
import pytest

from zoo.worker.training import text_batches

LENGTHS = (3, 16, 1, 40, 8, 9, 17, 2)


@pytest.fixture
def texts() -> text_batches.TokenizedTexts:
    """Text number n is n*100+2, n*100+3, ..."""
    pieces = [np.arange(count) + 100 * number + 2 for number, count in enumerate(LENGTHS)]
    return text_batches.TokenizedTexts(np.concatenate(pieces), np.cumsum([0, *LENGTHS]), length=16)


def test_texts_are_padded_behind_to_few_lengths(texts: text_batches.TokenizedTexts) -> None:
    batch = texts.batch(np.array([0, 2]))
    assert batch.tolist() == [[2, 3, 4, 0], [202, 0, 0, 0]]
    widths = {texts.batch(np.array([number])).shape[1] for number in range(len(texts))}
    assert widths == {2, 4, 8, 10, 16}


def test_of_a_longer_text_the_beginning_and_the_end_are_read(texts: text_batches.TokenizedTexts) -> None:
    row = texts.batch(np.array([3]))[0]
    assert row.tolist() == [*range(302, 310), *range(334, 342)]
    assert texts.batch(np.array([1]))[0].tolist() == list(range(102, 118))


def test_of_a_longer_text_the_middle_is_left_out_where_the_length_is_odd() -> None:
    text = text_batches.TokenizedTexts(np.arange(1, 21), np.array([0, 20]), 5)
    assert text.batch(np.array([0])).tolist() == [[1, 2, 18, 19, 20]]


def test_fixed_batches_are_as_long_as_the_model(texts: text_batches.TokenizedTexts) -> None:
    fixed = text_batches.TokenizedTexts(np.arange(5), np.array([0, 2, 5]), 16, fixed=True)
    assert fixed.batch(np.array([0])).shape == (1, 16)


def test_an_epoch_deals_out_every_text_once_and_the_same_for_the_same_seed(
    texts: text_batches.TokenizedTexts,
) -> None:
    chosen = np.arange(len(texts))
    dealt = [texts.shuffled_batches(chosen, 2, np.random.RandomState([1, 4])) for _ in range(2)]
    assert sorted(np.concatenate(dealt[0]).tolist()) == chosen.tolist()
    assert all((one == other).all() for one, other in zip(*dealt, strict=True))


def test_batches_are_full_where_their_size_does_not_divide_the_texts(texts: text_batches.TokenizedTexts) -> None:
    dealt = texts.shuffled_batches(np.arange(len(texts)), 3, np.random.RandomState(1))
    assert [len(batch) for batch in dealt] == [3, 3, 3]
    assert set(np.concatenate(dealt).tolist()) == set(range(len(texts)))


def test_texts_of_like_length_meet() -> None:
    random = np.random.RandomState(1)
    lengths = random.randint(1, 300, 3000)
    many = text_batches.TokenizedTexts(np.zeros(lengths.sum(), np.uint16) + 5, np.cumsum([0, *lengths]), 300)
    batches = [many.batch(chosen) for chosen in many.shuffled_batches(np.arange(3000), 30, random)]
    padding = np.mean([(batch == 0).mean() for batch in batches])
    assert padding < 0.2  # in batches dealt without regard to length half of it would be
    order = [batch.shape[1] for batch in batches]
    assert order != sorted(order)


def test_all_texts_come_back_with_their_places(texts: text_batches.TokenizedTexts) -> None:
    chosen = np.array([7, 3, 0])
    first_tokens = {int(place): int(texts.batch(chosen[places])[row, 0]) for places in texts.places_of(chosen, 2)
             for row, place in enumerate(places)}  # fmt: skip
    assert first_tokens == {0: 702, 1: 302, 2: 2}


def test_tokens_are_hidden_but_never_all_of_a_text() -> None:
    batch = np.array([[5] * 500 + [0] * 500], np.int32)
    hidden = text_batches.word_dropout(batch, 0.3, np.random.RandomState(1))
    assert 0.2 < (hidden[0, :500] == 0).mean() < 0.4
    assert set(hidden[0, :500]) == {0, 5}
    assert hidden[0, 0] == 5
    assert not hidden[0, 500:].any()
    assert text_batches.word_dropout(batch, 0.0, np.random.RandomState(1)) is batch


def test_a_part_of_a_long_text_is_read_where_it_is_asked_for(tmp_path: Path) -> None:
    np.save(tmp_path / "tokens.npy", np.arange(100, 200, dtype=np.uint16))
    part = text_batches.TokenRange(tmp_path / "tokens.npy", 10, 30)
    assert len(part) == 20
    assert part[:].tolist() == list(range(110, 130))
    assert part[np.array([[0, 1], [18, 19]])].tolist() == [[110, 111], [128, 129]]
    assert part[-2:].tolist() == [128, 129]
    with pytest.raises(IndexError):
        part[np.array([20])]


def test_what_was_read_of_a_long_text_does_not_stay_mapped(tmp_path: Path) -> None:
    np.save(tmp_path / "tokens.npy", np.zeros(1 << 20, np.uint16))
    part = text_batches.TokenRange(tmp_path / "tokens.npy", 0, 1 << 20)
    windows = part[np.arange(0, 1 << 20, 512)]
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("the system does not list what a process has mapped")
    assert "tokens.npy" not in maps.read_text()
    assert windows.base is None
