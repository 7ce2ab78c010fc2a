"""Processes find each other by files in the run folder; one that does not come is named."""

import socket
import types
from pathlib import Path

import pytest

from tests.support.parts import distributed
from tests.worker.distributed.test_group import at_once


def test_all_know_the_addresses_of_all(keras: types.ModuleType, tmp_path: Path) -> None:
    from zoo.worker.distributed import meeting

    three = at_once(*(lambda r=r: meeting.meet(distributed(3), str(tmp_path), r) for r in range(3)))
    assert three[0] == three[1] == three[2]
    assert [address.partition(":")[0] for address in three[0]] == ["127.0.0.1"] * 3
    assert {meeting.path(distributed(3), str(tmp_path), rank) for rank in range(3)} == set(map(str, tmp_path.iterdir()))


def test_one_that_does_not_come_is_named(keras: types.ModuleType, tmp_path: Path) -> None:
    from zoo.worker.distributed import meeting

    few = distributed(3, join_s=1.0)
    first, _ = at_once(lambda: meeting.meet(few, str(tmp_path), 0), lambda: meeting.meet(few, str(tmp_path), 1))
    assert "2 of 3 processes started" in str(first)
    assert "missing: 2" in str(first)


def test_a_port_that_is_taken(keras: types.ModuleType, tmp_path: Path) -> None:
    from zoo.worker.distributed import meeting

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(Exception, match="is in use on"):
            meeting.meet(distributed(2, port=other.getsockname()[1]), str(tmp_path), 0)


def test_a_folder_that_is_not_shared(keras: types.ModuleType, tmp_path: Path) -> None:
    from zoo.worker.distributed import meeting

    with pytest.raises(Exception, match=r"missing: 0\..*all machines must share"):
        meeting.meet(distributed(2, join_s=0.2), str(tmp_path), 1)


def test_files_of_another_training_are_not_met(keras: types.ModuleType, tmp_path: Path) -> None:
    from zoo.worker.distributed import meeting

    few, other = distributed(2, join_s=0.5), distributed(2, join_s=0.5, id="bb")
    first, second = at_once(lambda: meeting.meet(few, str(tmp_path), 0), lambda: meeting.meet(other, str(tmp_path), 1))
    assert "1 of 2 processes started" in str(first)
    assert "1 of 2 processes started" in str(second)
