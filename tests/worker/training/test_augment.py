"""Pictures altered by chance: within bounds, and the same for the same seeds."""

import numpy as np
import pytest

from tests.support import parts
from zoo.worker.training import augment

PLAIN = {"flip": False, "crop": 0.0, "color": 0.0, "randaugment": 0, "magnitude": 9.0}


def pictures(count: int = 64, edge: int = 20) -> np.ndarray:
    """Each pixel of a picture is another colour, so that it can be seen where it went."""
    places = np.arange(edge * edge).reshape(edge, edge)
    one = np.stack([places % 251, places // 7 % 251, places // 3 % 251], axis=-1).astype(np.uint8)
    return np.stack([one] * count)


def alter(pixels: np.ndarray, seeds: tuple[int, ...] = (1, 2, 3), **settings: object) -> np.ndarray:
    pixels_after: np.ndarray = augment.make_augmenter(parts.augmentation(**settings))(pixels, list(seeds))
    return pixels_after


def test_nothing_is_altered_where_nothing_is_asked_for() -> None:
    assert augment.make_augmenter(parts.augmentation()) is None


def test_half_of_the_pictures_are_mirrored() -> None:
    pixels = pictures()
    pixels_after = alter(pixels, flip=True)
    mirrored = (pixels_after == pixels[:, :, ::-1]).all((1, 2, 3))
    kept = (pixels_after == pixels).all((1, 2, 3))
    assert (mirrored | kept).all()
    assert 16 < mirrored.sum() < 48


def test_a_crop_moves_by_no_more_than_its_share_and_mirrors_what_comes_in() -> None:
    pixels = pictures()
    pixels_after = alter(pixels, crop=0.1)
    offsets = set()
    for picture in pixels_after:
        inner = picture[2:-2, 2:-2]
        places = [
            (top, left)
            for top in range(5)
            for left in range(5)
            if (pixels[0, top : top + 16, left : left + 16] == inner).all()
        ]
        assert len(places) == 1
        offsets.add((places[0][0] - 2, places[0][1] - 2))
    assert {row for row, _ in offsets} == {column for _, column in offsets} == {-2, -1, 0, 1, 2}
    down = np.pad(pixels[0], ((2, 2), (2, 2), (0, 0)), mode="reflect")
    for picture in pixels_after:
        assert any((down[top : top + 20, left : left + 20] == picture).all() for top in range(5) for left in range(5))


@pytest.mark.parametrize("channels", [1, 3])
def test_colours_change_within_their_share_and_stay_colours(channels: int) -> None:
    pixels = pictures()[..., :channels]
    pixels_after = alter(pixels, color=0.3)
    assert pixels_after.dtype == np.float32
    assert pixels_after.min() >= 0
    assert pixels_after.max() <= 255
    brightness = pixels_after.mean((1, 2, 3)) / pixels.mean((1, 2, 3))
    assert 0.6 < brightness.min() < 0.85
    assert 1.15 < brightness.max() < 1.4


def test_the_same_seeds_alter_alike_and_others_differently() -> None:
    settings = {"flip": True, "crop": 0.2, "color": 0.2}
    pixels = pictures()
    once, again = alter(pixels, **settings), alter(pixels, **settings)
    assert np.array_equal(once, again)
    for seeds in ((2, 2, 3), (1, 3, 3), (1, 2, 4)):
        assert not np.array_equal(once, alter(pixels, seeds, **settings))


def test_randaugment_follows_the_movement_and_comes_before_the_colours() -> None:
    pixels = pictures()
    altered = alter(pixels, randaugment=2)
    assert altered.dtype == np.uint8
    assert (altered != pixels).any((1, 2, 3)).mean() > 0.8
    assert alter(pixels, randaugment=2, color=0.2).dtype == np.float32


def mix(batch: tuple[np.ndarray, ...], alpha: float, seeds: list[int]) -> list[np.ndarray]:
    shares, partners = augment.draw_partners(len(batch[0]), alpha, seeds)
    return [augment.blend(rows, rows[partners], shares) for rows in batch]


def test_mixing_is_linear_in_images_labels_and_weights_and_follows_its_seeds() -> None:
    x, labels = np.arange(50.0)[:, None, None, None] * np.ones((1, 2, 2, 3)), np.eye(50)
    mixed, shares, weights = mix((x, labels, np.arange(50.0)), 0.4, [1, 2, 3, 1])
    assert mixed.dtype == shares.dtype == np.float32
    assert np.allclose(shares.sum(1), 1)
    assert ((shares > 0).sum(1) <= 2).all()
    assert np.allclose(mixed[:, 0, 0, 0], shares @ np.arange(50.0), atol=1e-4)
    assert np.allclose(weights, shares @ np.arange(50.0), atol=1e-4)
    assert (shares.max(1) < 0.95).sum() > 10
    again, other = (mix((x, labels), 0.4, [1, 2, step, 1])[1] for step in (3, 4))
    assert np.array_equal(shares, again)
    assert not np.array_equal(shares, other)


@pytest.mark.parametrize("settings", [{"flip": True}, {"crop": 0.2}, {"color": 0.3}, {"randaugment": 2},
                                      {"flip": True, "crop": 0.1, "color": 0.1, "randaugment": 1}])  # fmt: skip
def test_a_part_of_a_batch_is_altered_as_in_the_whole(settings: dict[str, object]) -> None:
    pixels, places = pictures(8), np.array([5, 2, 3])
    function = augment.make_augmenter(parts.augmentation(**settings))
    whole = function(pixels, [1, 2])
    np.testing.assert_array_equal(function(pixels[places], [1, 2], places, 8), whole[places])


def test_movements_do_not_depend_on_whether_pictures_are_mirrored() -> None:
    pixels = pictures()
    plain, flipped = alter(pixels, crop=0.1), alter(pixels, crop=0.1, flip=True)
    same = (plain == flipped).all((1, 2, 3))
    assert 16 < same.sum() < 48
    assert (plain == flipped[:, :, ::-1])[~same].all()


def test_saturation_contrast_and_brightness_change_by_factors_of_their_own() -> None:
    flat = np.zeros((200, 4, 4, 3), np.uint8) + np.array([60, 120, 180], np.uint8)
    altered = alter(flat, color=0.2)
    brightness = altered.mean((1, 2, 3)) / 120
    assert 0.8 <= brightness.min() < 0.82
    assert 1.18 < brightness.max() <= 1.2
    saturation = (altered[..., 2] - altered[..., 0])[:, 0, 0] / brightness / 120  # times contrast
    assert 0.64 <= saturation.min() < 0.75
    assert 1.3 < saturation.max() <= 1.44
    assert abs(np.corrcoef(brightness, saturation)[0, 1]) < 0.3
    assert alter(flat + np.uint8(75), color=0.2).max() == 255


def test_a_mix_is_drawn_from_its_distribution() -> None:
    shares, partners = augment.draw_partners(1000, 0.2, [1, 2])
    assert shares.dtype == np.float32
    assert sorted(partners.tolist()) == list(range(1000))
    assert abs(float(shares.mean()) - 0.5) < 0.05
    assert ((shares < 0.05) | (shares > 0.95)).mean() > 0.4
    assert np.std(augment.draw_partners(1000, 50.0, [1, 2])[0]) < 0.06
    rows = augment.blend(np.array([[8, 0]]), np.array([[0, 4]]), np.array([0.75], np.float32))
    assert (rows.tolist(), rows.dtype) == ([[6.0, 1.0]], np.float32)
