"""zoo.core.uses: what is in use is not removed, and the message names who uses it."""

import os
import sys
from pathlib import Path

import pytest

from zoo.core import uses
from zoo.core.errors import ZooError


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "deep" / ".used"


def test_a_lock_is_held_inside_only(lock: Path) -> None:
    assert not uses.is_used(lock)
    with uses.using(lock):
        assert uses.is_used(lock)
        assert len(uses.handles()) == 1
        assert os.path.samestat(os.fstat(uses.handles()[0]), lock.stat())
        with uses.using(lock):
            assert len(uses.handles()) == 2
        assert uses.is_used(lock)
    assert uses.handles() == []
    assert not uses.is_used(lock)
    assert lock.stat().st_mode & 0o777 == 0o600


def test_the_message_names_the_processes_that_are_there(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/x/__main__.py", "train", "a\nb", "x" * 300])
    child = os.fork()
    if not child:
        with uses.using(lock):
            os._exit(0)
    os.waitpid(child, 0)
    with lock.open("a") as out:
        out.write(f"{child} gone\nnobody\n1 init\n")
    with uses.using(lock):  # alone, so what others left is forgotten
        (line,) = lock.read_text().splitlines()
        pid, _, command = line.partition(" ")
        assert (pid, len(command)) == (str(os.getpid()), 200)
        assert command.startswith("python -m zoo train a b xx")
        with lock.open("a") as out:
            out.write(f"{child} gone\nnobody\n1 init\n")
        with pytest.raises(ZooError) as refused, uses.unused(lock, "The cache"):
            pytest.fail("entered")
        assert refused.value.message == f"The cache is in use by process {pid} ({command}); process 1 (init)"


def test_secrets_are_not_kept(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sys, "argv", ["x.py", "serve", "token=a bc", "hub_token=abc", "tokenizer=words", "a.password=abc"]
    )
    with uses.using(lock):
        assert (
            lock.read_text().split(" ", 1)[1] == "x.py serve token=... hub_token=... tokenizer=words a.password=...\n"
        )


def test_a_second_user_is_added_to_the_first(lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["script.py", "a"])
    with uses.using(lock), uses.using(lock):
        assert lock.read_text() == f"{os.getpid()} script.py a\n" * 2


def test_users_that_say_nothing_are_another_process(lock: Path) -> None:
    with uses.using(lock):
        lock.write_text("")
        with pytest.raises(ZooError, match="It is in use by another process"), uses.unused(lock, "It"):
            pass


def test_nobody_uses_what_is_being_removed(lock: Path) -> None:
    with uses.unused(lock, "It"):
        assert uses.is_used(lock)
    assert not uses.is_used(lock)


def test_where_nothing_can_be_written_nothing_is_held(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for lock in (tmp_path / "file" / ".used", tmp_path / "link"):
        with uses.using(lock), uses.unused(lock, "It"):
            assert uses.handles() == []
        assert not uses.is_used(lock)
    assert (tmp_path / "file").read_text() == ""


def test_which_processes_are_there() -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    assert uses.is_alive(os.getpid())
    assert not uses.is_alive(child)
    assert uses.is_alive(1)
    assert uses.is_alive(1 << 80)
