"""zoo.reports.units: figures as people read them, exact in the markup."""

import pytest

from zoo.reports import units


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""), (0, "0"), (3.0, "3"), (12345, "12,345"), (-12345.6, "-12,346"), (0.123456, "0.1235"),
        (999.94, "999.9"), (1000.4, "1,000"), (1e12, "1e+12"), (2.5e12, "2.5e+12"),
    ],
)  # fmt: skip
def test_numbers_have_four_digits(value: float | None, shown: str) -> None:
    assert units.short(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""), (3.414, "3.41 s"), (99.99, "99.99 s"), (100.0, "100 s"), (599.4, "599 s"), (600.0, "10 min 0 s"),
        (725.2, "12 min 5 s"), (360_059.0, "6,000 min 59 s"),
    ],
)  # fmt: skip
def test_ten_minutes_and_more_are_told_in_minutes(value: float | None, shown: str) -> None:
    assert units.seconds(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""), (0.0, "0 bytes"), (999.0, "999 bytes"), (1000.0, "1 kB"), (12_340_000.0, "12.3 MB"),
        (99_940_000.0, "99.9 MB"), (766_000_000.0, "766 MB"), (1e9, "1 GB"), (2.5e12, "2.5 TB"), (2.5e15, "2,500 TB"),
    ],
)  # fmt: skip
def test_sizes_have_the_largest_unit_that_fits(value: float | None, shown: str) -> None:
    assert units.size(value) == shown


def test_the_unit_is_the_end_of_the_name() -> None:
    assert units.named("train_s", 725.2) == '<data value="725.2">12 min 5 s</data>'
    assert units.named("peak_memory_bytes", 1e9) == '<data value="1000000000.0">1 GB</data>'
    assert units.named("items_per_s", 725.26) == '<data value="725.26">725.3</data>'
    assert units.named("train_s", None) == ""
    assert units.data(0.5, "half") == '<data value="0.5">half</data>'


@pytest.mark.parametrize(
    ("name", "label", "heading"),
    [
        ("val_loss", "validation loss", "Validation loss"), ("train_s", "train", "Train, s"),
        ("step_ms", "step ms", "Step, ms"), ("peak_memory_bytes", "peak memory", "Peak memory"),
        ("items_per_s", "items per s", "Items per s"), ("epoch_s", "epoch", "Epoch, s"),
    ],
)  # fmt: skip
def test_names_in_words(name: str, label: str, heading: str) -> None:
    assert (units.label(name), units.heading(name)) == (label, heading)
