"""zoo.core.paths: the paths that users give."""

import os
from pathlib import Path

import pytest

from zoo.core.errors import ZooError
from zoo.core.paths import (
    cache_dir,
    cache_in_use,
    existing_input,
    make_cache,
    refuse_unspellable,
    user_path,
    worker_modules,
)


@pytest.mark.parametrize(("text", "path"), [("~", "{home}"), ("~/a b", "{home}/a b"), ("a/~", "a/~"), ("", ".")])
def test_home_is_expanded_at_the_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, path: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_path(text) == Path(path.format(home=tmp_path))


def test_the_home_of_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ZooError, match="there is no user nobody-here"):
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


def test_a_link_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    for name, target in (("own.csv", "own.csv"), ("old.csv", "gone.csv")):
        (tmp_path / name).symlink_to(target)
        with pytest.raises(ZooError, match=rf"{name} is a link to {target}, and leads to no file or folder"):
            existing_input(str(tmp_path / name), "Name a table.")


def test_what_is_neither_a_file_nor_a_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ZooError, match="neither a file nor a folder"):
        existing_input(tmp_path / "pipe", "")


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="cannot be opened: File name too long"):
        existing_input(tmp_path / ("a" * 300), "")


def test_the_cache_of_a_user_is_closed_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = tmp_path / "deep" / "zoo"
    monkeypatch.delenv("ZOO_CACHE", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name, appauthor: str(usual.parent / name))
    assert cache_dir() == usual
    assert cache_in_use() == usual / ".used"
    make_cache()
    assert usual.stat().st_mode & 0o777 == 0o700
    usual.chmod(0o710)
    make_cache()
    assert usual.stat().st_mode & 0o777 == 0o700


def test_a_cache_that_is_named_may_be_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    monkeypatch.setenv("ZOO_CACHE", str(shared))
    make_cache()
    assert shared.stat().st_mode & 0o777 == 0o700
    shared.chmod(0o755)
    make_cache()
    assert shared.stat().st_mode & 0o777 == 0o755


def test_a_cache_that_cannot_be_made_is_reported_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "file" / "cache"))
    make_cache()


def test_modules_of_the_worker_are_listed_without_importing_them() -> None:
    names = worker_modules("exporters")
    assert names == sorted(names)
    assert {"npz", "savedmodel"} <= set(names)
    assert "__init__" not in names


def test_a_class_needs_a_name_in_utf_8(tmp_path: Path) -> None:
    refuse_unspellable(["a", "ä", "\udc7f", "\U0001f600"], tmp_path)
    for letter in ("\udc80", "\udcff"):
        with pytest.raises(ZooError, match="is not UTF-8"):
            refuse_unspellable(["a", f"b{letter}"], tmp_path)


def test_an_address_is_no_path_unless_something_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ZooError, match=r"https://example\.org/a is an address") as refused:
        user_path("https://example.org/a")
    assert "curl -LO https://example.org/a" in refused.value.remedy
    remedies = {
        "s3://b/a": "aws s3 cp",
        "file:///a%20b/c": "Give the path: '/a b/c'",
        "hf://a/b": "Download it first.",
    }
    for address, words in remedies.items():
        with pytest.raises(ZooError, match="is an address") as refused:
            user_path(address)
        assert words in refused.value.remedy
        assert "curl" not in refused.value.remedy
    (tmp_path / "https:" / "a").mkdir(parents=True)
    assert user_path("https://a") == Path("https:/a")


def test_pipes_and_devices_are_refused_before_they_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in (str(tmp_path / "pipe"), "/dev/zero"):
        with pytest.raises(ZooError, match="a pipe or a device"):
            user_path(name)
    assert user_path("/dev/null") == Path("/dev/null")
