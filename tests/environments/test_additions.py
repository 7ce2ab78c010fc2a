"""Packages beside a stack's own: resolved as of its date, never against its versions, kept like environments."""

import dataclasses
import os
from pathlib import Path

import pytest

from tests.support.tiny_stack import PLATFORM, wheel
from zoo.core import paths
from zoo.core.errors import UnreachableIndexError, ZooError
from zoo.environments import additions, requirements, stacks, store


def well(_stack: stacks.Stack, _python: Path) -> None:
    return None


def ensure(stack: stacks.Stack, *wanted: str) -> store.Environment:
    return store.ensure(stack, PLATFORM, well, [requirements.parse(text, "--with") for text in wanted])


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index that also holds packages for the small stack, and some that are not for it."""
    folder = tmp_path / "index"
    wheel(folder, "2.0")
    wheel(folder, "1.0", name="old", requires=("tiny<1",))
    wheel(folder, "3.0", name="new", requires=("tiny>=2",))
    wheel(folder, "1.0", name="helper")
    wheel(folder, "1.5", name="more", requires=("tiny", "helper"))
    wheel(folder, "1.6", name="more", requires=("tiny", "helper"))
    return folder


def test_packages_come_beside_those_of_the_stack(stack: stacks.Stack, index: Path) -> None:
    built = ensure(stack, "more<1.6")
    assert built.versions == {"Tiny": "1.0", "Helper": "1.0", "More": "1.5"}
    assert stacks.pins(built.lock) == {"tiny": "1.0", "helper": "1.0", "more": "1.5"}
    assert built.lock.read_text().count("--hash=sha256:") == 3
    assert ensure(stack, "more<1.6") == dataclasses.replace(built, build_s=0.0)
    assert ensure(stack, "more").versions["More"] == "1.6"


def test_files_of_the_stack_are_shared_and_both_environments_stay_whole(stack: stacks.Stack, index: Path) -> None:
    own = store.ensure(stack, PLATFORM, well)
    more = ensure(stack, "more")
    one, other = (next(row.folder.glob("lib/*/site-packages/tiny/deep.py")) for row in (own, more))
    assert os.path.samefile(one, other)
    assert store.ensure(stack, PLATFORM, well).build_s == 0
    store.remove(["small"])
    assert ensure(stack, "more").build_s == 0
    assert other.read_text() == "ANSWER = 42\n"


def test_they_are_listed_and_removed_like_others(stack: stacks.Stack, index: Path) -> None:
    own, more = store.ensure(stack, PLATFORM, well), ensure(stack, "more", "helper")
    assert [(row.stack, row.state) for row in store.list_environments()] == [
        ("small+helper+more", "ready"), ("small", "ready"),
    ]  # fmt: skip
    assert store.remove(["small+helper+more"]) == [more.folder]
    assert own.folder.is_dir()


@pytest.mark.parametrize(
    ("wanted", "pair"),
    [
        ("tiny>=2", "tiny 1.0 of the stack against tiny>=2"),
        ("new", "tiny 1.0 of the stack against tiny>=2 of new"),
        ("old==1.0", "tiny 1.0 of the stack against tiny<1 of old"),
    ],
)
def test_what_would_change_the_stack_is_refused_with_the_pair(
    stack: stacks.Stack, index: Path, wanted: str, pair: str
) -> None:
    with pytest.raises(ZooError, match="This would change stack small") as caught:
        ensure(stack, wanted)
    assert pair in caught.value.message
    assert not (paths.cache_dir() / "locks").exists()
    assert store.list_environments() == []


def test_what_is_not_there_or_came_later_is_refused(stack: stacks.Stack, index: Path) -> None:
    with pytest.raises(ZooError, match="nothing cannot be added to stack small"):
        ensure(stack, "nothing")
    with pytest.raises(ZooError, match="published as wheels by 2025-12-31, the date of the stack"):
        ensure(dataclasses.replace(stack, exclude_newer="2025-12-31"), "more")


def test_it_works_without_a_network_once_it_is_there(
    stack: stacks.Stack, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure(stack, "more")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_OFFLINE", "1")
    assert ensure(stack, "more").build_s == 0
    with pytest.raises(UnreachableIndexError, match="cannot be resolved: the package index could not be reached"):
        ensure(stack, "helper")


def test_what_the_stack_has_already_adds_nothing(stack: stacks.Stack, index: Path) -> None:
    own = store.ensure(stack, PLATFORM, well)
    assert ensure(stack, "tiny", "Tiny>=1", "tiny<1; python_version < '3'") == dataclasses.replace(own, build_s=0.0)


def test_another_name_of_a_package_of_the_stack_adds_nothing(stack: stacks.Stack) -> None:
    """As tensorflow beside tensorflow-cpu: two of them would overwrite each other."""
    (stack.folder / f"{PLATFORM}.lock").write_text("tensorflow-cpu==2.12.0 --hash=sha256:00\n")
    assert additions.beyond(stack, PLATFORM, [requirements.parse("tensorflow>=2.10", "")]) == []
    with pytest.raises(ZooError, match=r"tensorflow 2\.12\.0 of the stack against tensorflow==2\.15"):
        additions.beyond(stack, PLATFORM, [requirements.parse("tensorflow==2.15", "")])


def test_a_damaged_lock_is_noticed(stack: stacks.Stack, index: Path) -> None:
    """Its hash names the environment, so that another one is built and refused by the hashes of its files."""
    ensure(stack, "more")
    (lock,) = (paths.cache_dir() / "locks").iterdir()
    lock.write_text(lock.read_text().replace("sha256:", "sha256:00")[:-10])
    with pytest.raises(ZooError):
        ensure(stack, "more")


@pytest.mark.parametrize(
    "text", ["-e .", "./folder", "a b", "x @ https://x/x.whl", "--index-url https://x", "-c c.txt"]
)
def test_lines_that_name_no_package_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text(f"six\n{text}\n")
    with pytest.raises(ZooError, match=r"requirements\.txt, line 2"):
        requirements.read_file(file)


def test_a_file_that_includes_itself_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("-r requirements.txt\n")
    with pytest.raises(ZooError, match="includes itself"):
        requirements.read_file(file)
    with pytest.raises(ZooError, match="Cannot read"):
        requirements.read_file(tmp_path / "none.txt")
