"""The calculation of how training scales: known cases, and the directions it must go."""

import pytest

from tests.support import scripts

model = scripts.load("benchmarks/scaling_model")


def test_two_machines_exchange_the_bytes_once() -> None:
    """Over 1 Gbit/s, 125 MB take a second; in a ring of two each link carries them once, in two halves."""
    assert model.reduce_s(2, 125_000_000, 1.0, 0.0, 0.0) == pytest.approx(1.0)
    assert model.reduce_s(4, 125_000_000, 1.0, 0.0, 0.0) == pytest.approx(1.5)
    assert model.reduce_s(4, 0, 1.0, 1e-3, 0.0) == pytest.approx(6e-3)


def test_faster_links_help_and_more_machines_lose() -> None:
    shares = [model.efficiency(0.1, nodes, 4_000_000, 1.0) for nodes in model.NODES]
    assert shares == sorted(shares, reverse=True)
    assert model.efficiency(0.1, 8, 4_000_000, 10.0) > model.efficiency(0.1, 8, 4_000_000, 1.0)
    assert model.efficiency(0.1, 8, 4_000_000, 1.0, collectives=54) < model.efficiency(0.1, 8, 4_000_000, 1.0)


def test_the_table_has_a_row_for_each_rate() -> None:
    assert len(model.table(0.1, 1_000_000, 0, 5e-5, 0.1)) == 2 + len(model.GIGABITS)
