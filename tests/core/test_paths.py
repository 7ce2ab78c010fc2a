"""zoo.core.paths: the paths that users give."""

import os
from pathlib import Path

import pytest

from zoo.core.errors import ZooError
from zoo.core.paths import cache_dir, existing_input, user_path


@pytest.mark.parametrize(("text", "path"), [("~", "{home}"), ("~/a b", "{home}/a b"), ("a/~", "a/~"), ("", ".")])
def test_home_is_expanded_at_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, path: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_path(text) == Path(path.format(home=tmp_path))


def test_the_home_of_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ZooError, match="~nobody-here is the home folder of no known user"):
        user_path("~nobody-here/x.png")
    (tmp_path / "~nobody-here").mkdir()
    assert user_path("~nobody-here/x.png") == Path("~nobody-here/x.png")


def test_a_nul_is_refused() -> None:
    with pytest.raises(ZooError, match="NUL"):
        user_path("a\0b")


def test_the_cache_may_lie_in_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ZOO_CACHE", "~/zoo")
    assert cache_dir() == (tmp_path / "zoo").resolve()


def test_the_nearest_name_is_offered_for_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    assert existing_input(str(tmp_path / "photos"), "") == tmp_path / "photos"
    with pytest.raises(ZooError, match=r"There is no file or folder .*/phots; did you mean 'photos'") as refused:
        existing_input(str(tmp_path / "phots"), "Name pictures.")
    assert refused.value.remedy == "Name pictures."


def test_what_is_neither_a_file_nor_a_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ZooError, match="neither a file nor a folder"):
        existing_input(tmp_path / "pipe", "")


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="cannot be opened: File name too long"):
        existing_input(tmp_path / ("a" * 300), "")
