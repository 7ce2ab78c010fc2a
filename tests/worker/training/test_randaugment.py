"""RandAugment with numpy: Pillow's numbers where Pillow has the operation, and the same for the same draws."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

from zoo.worker.training import randaugment


def photos(count: int = 3, height: int = 24, width: int = 32, channels: int = 3) -> np.ndarray:
    """Smooth with some noise, and not over the whole range, so that contrast can be stretched."""
    random = np.random.default_rng(5)
    slope = np.linspace(30, 200, width)[None, None, :, None] + np.linspace(0, 30, height)[None, :, None, None]
    return np.asarray(slope + random.integers(0, 20, (count, height, width, channels))).astype(np.uint8)


def altered(name: str, pixels: np.ndarray, amount: float) -> np.ndarray:
    operation: Callable[..., np.ndarray] = randaugment.OPERATIONS[name]
    return operation(pixels, np.full(len(pixels), amount, np.float32))


PILLOW: dict[str, Any] = {
    "equalize": lambda image: ImageOps.equalize(image),
    "autocontrast": lambda image: ImageOps.autocontrast(image),
    "posterize": lambda image: ImageOps.posterize(image, 6),
    "solarize": lambda image: ImageOps.solarize(image, 128),
    "brightness": lambda image: ImageEnhance.Brightness(image).enhance(1.45),
    "contrast": lambda image: ImageEnhance.Contrast(image).enhance(1.45),
    "color": lambda image: ImageEnhance.Color(image).enhance(1.45),
    "sharpness": lambda image: ImageEnhance.Sharpness(image).enhance(1.45),
}


@pytest.mark.parametrize("name", PILLOW)
def test_an_operation_at_half_its_strength_gives_the_numbers_of_pillow(name: str) -> None:
    pixels = photos()
    for ours, before in zip(altered(name, pixels, 0.5), pixels, strict=True):
        theirs = np.asarray(PILLOW[name](Image.fromarray(before)), np.int64)
        assert not np.array_equal(theirs, before)
        assert np.abs(ours.astype(np.int64) - theirs).max() <= 2  # it rounds in between, and cuts off


def test_a_rotation_turns_around_the_middle_as_pillow_does() -> None:
    pixels = photos()
    ours = altered("rotate", pixels, 0.5)[0, 8:-8, 8:-8]  # away from the edges, where ours mirrors
    theirs = np.asarray(Image.fromarray(pixels[0]).rotate(15, Image.Resampling.BILINEAR))[8:-8, 8:-8]
    other = np.asarray(Image.fromarray(pixels[0]).rotate(-15, Image.Resampling.BILINEAR))[8:-8, 8:-8]
    apart = [np.abs(ours.astype(float) - each).mean() for each in (theirs, other)]
    assert min(apart) < 1 < 5 < max(apart)


def test_a_shift_moves_by_its_share_and_mirrors_what_comes_in() -> None:
    pixels = photos(width=33)
    moved = altered("shift_x", pixels, 1.0)  # by round(150 / 331 * 33) = 15
    assert np.array_equal(moved[:, :, :18], pixels[:, :, 15:])
    assert np.array_equal(moved[:, :, 18:], pixels[:, :, 31:16:-1])


@pytest.mark.parametrize("channels", [1, 3])
def test_every_operation_keeps_shape_and_kind_of_pixels(channels: int) -> None:
    for amount in (-1.0, -0.3, 0.0, 1.0):
        for name in randaugment.OPERATIONS:
            result = altered(name, photos(channels=channels), amount)
            assert (result.shape, result.dtype) == ((3, 24, 32, channels), np.uint8), name
    black = np.zeros((2, 3, 3, channels), np.uint8)
    assert not any(altered(name, black, 1.0).any() for name in randaugment.OPERATIONS if name != "solarize")


def test_a_channel_of_one_value_stays_as_it_is_where_contrast_is_stretched() -> None:
    pixels = photos()
    pixels[:, :, :, 1] = 100
    stretched = altered("autocontrast", pixels, 0.5)
    assert (stretched[:, :, :, 1] == 100).all()
    assert (stretched[:, :, :, 0].min(), stretched[:, :, :, 0].max()) == (0, 255)


def test_the_same_draws_alter_alike_and_few_images_stay_as_they_are() -> None:
    pixels = photos(60)
    once, again = (randaugment.rand_augment(pixels, np.random.RandomState([1, 2, 3]), 2, 9) for _ in range(2))
    other = randaugment.rand_augment(pixels, np.random.RandomState([1, 2, 4]), 2, 9)
    assert np.array_equal(once, again)
    assert not np.array_equal(once, other)
    assert (once != pixels).any((1, 2, 3)).mean() > 0.9


@pytest.mark.parametrize(("name", "axis"), [("shift_x", 2), ("shift_y", 1)])
def test_a_shift_is_along_its_axis_and_as_far_as_its_strength(name: str, axis: int) -> None:
    pixels = photos(height=34, width=34)
    for amount, places in ((0.5, 8), (-0.5, -8), (0.0, 0)):
        moved = altered(name, pixels, amount)
        np.testing.assert_array_equal(
            np.take(moved, range(10, 24), axis), np.take(pixels, range(10 + places, 24 + places), axis)
        )


@pytest.mark.parametrize(("name", "axis"), [("shear_x", 1), ("shear_y", 2)])
def test_a_shear_moves_rows_or_columns_by_their_distance_from_the_middle(name: str, axis: int) -> None:
    ramp = np.zeros((1, 41, 41, 1), np.uint8)
    ramp[0, :, :, 0] = 2 * np.arange(41) + 40 if axis == 1 else 2 * np.arange(41)[:, None] + 40
    moved = altered(name, ramp, 0.5)[0, :, :, 0].astype(int) - ramp[0, :, :, 0]
    line = moved[:, 20] if axis == 1 else moved[20]
    expected = 2 * 0.15 * (np.arange(41) - 20)
    assert np.abs(line - expected).max() <= 1


def test_strength_is_a_share_of_the_full_range_in_both_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def operation(pixels: np.ndarray, amounts: np.ndarray) -> np.ndarray:
        seen.extend(amounts.tolist())
        return pixels

    monkeypatch.setattr(randaugment, "OPERATIONS", {"a": operation, "b": operation})
    randaugment.rand_augment(photos(40), np.random.RandomState(1), 3, 15)
    assert len(seen) == 120
    assert set(seen) == {-0.5, 0.5}
    assert 40 < seen.count(0.5) < 80


def test_a_part_of_a_batch_is_altered_as_in_the_whole() -> None:
    pixels, places = photos(9), np.array([7, 0, 4])
    whole = randaugment.rand_augment(pixels, np.random.RandomState(3), 2, 20)
    part = randaugment.rand_augment(pixels[places], np.random.RandomState(3), 2, 20, (9, places))
    np.testing.assert_array_equal(part, whole[places])


def test_small_pictures_and_planes_of_few_values_stay_in_range() -> None:
    tiny = photos(height=2, width=2)
    np.testing.assert_array_equal(altered("sharpness", tiny, 1.0), tiny)
    plane = np.zeros((1, 4, 4, 1), np.uint8)
    plane[0, :2] = 9
    np.testing.assert_array_equal(altered("equalize", plane, 1.0), plane)
