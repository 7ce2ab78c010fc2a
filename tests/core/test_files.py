"""zoo.core.files: files and folders that appear whole or not at all."""

import errno
import hashlib
import json
import os
import stat
import threading
from pathlib import Path

import pytest

from zoo.core import console
from zoo.core.errors import ZooError
from zoo.core.files import (
    atomic_file,
    atomic_folder,
    atomic_write,
    check_writable,
    file_sha256,
    files_below,
    folder_size,
    locked,
    parts_of,
    remove,
    storage_error,
    write_json,
)


@pytest.mark.parametrize(("content", "stored"), [("a\nä", "a\nä".encode()), (b"\0\r\n", b"\0\r\n")])
def test_a_file_is_written_as_it_is(tmp_path: Path, content: str | bytes, stored: bytes) -> None:
    atomic_write(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == stored
    assert os.listdir(tmp_path) == ["file"]


def test_a_failed_block_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def write_half() -> None:
        with atomic_file(path) as part:
            part.write_text("ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_missing_folder_is_an_error_unless_it_is_to_be_made(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    with pytest.raises(ZooError, match=r"Cannot write .*folder/file: No such file or directory"):
        atomic_write(path, "x")
    assert not path.parent.exists()
    atomic_write(path, "x", parents=True)
    assert path.read_text() == "x"


def test_a_given_remedy_replaces_the_usual_advice(tmp_path: Path) -> None:
    with pytest.raises(ZooError) as refused:
        atomic_write(tmp_path / "folder" / "file", "x", "Choose another.")
    assert refused.value.remedy == "Choose another."


def test_json_is_sorted_and_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_json(path, {"b": 1, "a": [2]})
    with pytest.raises(TypeError):
        write_json(path, {"b": object()})
    assert list(json.loads(path.read_text())) == ["a", "b"]


def test_a_folder_replaces_the_old_one_and_what_a_killed_process_left(tmp_path: Path) -> None:
    folder, left = tmp_path / "data", tmp_path / ".data.part"
    for stale in (folder, left):
        stale.mkdir()
        (stale / "stale").write_text("x")
    with atomic_folder(folder) as part:
        (part / "new").write_text("x")
        assert (folder / "stale").exists()
    assert os.listdir(folder) == ["new"]
    assert os.listdir(tmp_path) == ["data"]


def test_a_folder_that_fails_half_way_does_not_appear(tmp_path: Path) -> None:
    def write_half() -> None:
        with atomic_folder(tmp_path / "data") as part:
            (part / "half").write_text("x")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(ZooError, match="No space left") as refused:
        write_half()
    assert "Free some space" in refused.value.remedy
    assert not os.listdir(tmp_path)


def test_the_checksum_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    assert file_sha256(tmp_path / "file") == hashlib.sha256(b"content").hexdigest()
    with pytest.raises(ZooError, match="Cannot read"):
        file_sha256(tmp_path / "absent")


def test_a_file_that_is_removed_meanwhile_has_no_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept").write_bytes(bytes(7))
    monkeypatch.setattr(os, "walk", lambda _: [(str(tmp_path), [], ["kept", "removed"])])
    assert folder_size(tmp_path) == 7


def test_the_size_of_a_folder_does_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "a").write_bytes(b"x" * 1000)
    (tmp_path / "b").symlink_to("below/a")
    assert folder_size(tmp_path) == 1000 + len("below/a")


def test_who_waits_for_a_lock_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, order, said, waits = tmp_path / "deep" / ".lock", list[str](), list[str](), threading.Event()

    def say(text: str) -> None:
        said.append(text)
        waits.set()

    monkeypatch.setattr(console, "say", say)

    def second() -> None:
        with locked(path, "fetches it"):
            order.append("second")

    with locked(path, "fetches it"):
        thread = threading.Thread(target=second)
        thread.start()
        assert waits.wait(60)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert said == ["Another process fetches it; waiting for it to finish."]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_lock_where_nothing_can_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(ZooError, match="Cannot write"), locked(tmp_path / "deep" / ".lock", "fetches it"):
        pass


def test_what_cannot_be_read_is_not_a_matter_of_space() -> None:
    error = storage_error("read", Path("x"), OSError(errno.EACCES, "Permission denied"))
    assert (
        str(error) == "Cannot read x: Permission denied\nCheck that it exists and that you have permission to read it."
    )


@pytest.mark.parametrize("name", ["file/a.png", "folder", "/proc/a.png"])
def test_what_cannot_be_written_is_known_beforehand(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ZooError, match="Cannot write") as error:
        check_writable(tmp_path / name, "elsewhere")
    assert error.value.remedy == "elsewhere"
    check_writable(tmp_path / "new" / "folder" / "a.png")
    check_writable(tmp_path / "file")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_folders_of_runs_are_not_searched_unless_they_are_named(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "a"
    run.mkdir(parents=True)
    for name in ("../../photo.png", "run.json", "config.yaml", "losses.png"):
        (run / name).touch()
    assert list(files_below(tmp_path, lambda *_: None)) == ["photo.png"]
    assert "losses.png" in files_below(run, lambda *_: None)


def test_links_below_a_folder_are_followed_unless_they_lead_back(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "up" / "root", tmp_path / "elsewhere"
    for folder in (root / "a", elsewhere):
        folder.mkdir(parents=True)
        (folder / "1").touch()
    (root / "other").symlink_to(elsewhere)
    for at, leads in ((root / "a" / "back", root), (root / "above", tmp_path / "up"), (elsewhere / "home", root)):
        at.symlink_to(leads)
    (root / "nowhere").symlink_to("/nowhere")
    (root / "loop").symlink_to(root / "loop")
    (root / "again").symlink_to(root / "a")
    (root / ".hidden").mkdir()
    (root / ".hidden" / "2").touch()
    (root / "shown").symlink_to(root / ".hidden")
    (elsewhere / "below").mkdir()
    (elsewhere / "again").symlink_to(elsewhere / "below")
    (elsewhere / "file").symlink_to(elsewhere / "1" / "none")
    failed: list[Path] = []
    twice: list[Path] = []

    def names(folder: Path) -> list[str]:
        return list(files_below(folder, lambda path, _: failed.append(path), lambda link, _: twice.append(link)))

    assert names(root) == [
        "a/1", "loop", "nowhere", "other/1", "other/file", "shown/2",
    ]  # fmt: skip
    assert twice == [root / "again", root / "other" / "again"]
    assert failed == []
    assert names(tmp_path / "none") == []
    assert failed == [tmp_path / "none"]


def test_what_killed_processes_left_of_a_file_is_found(tmp_path: Path) -> None:
    for name in ("a", ".a.1.part", ".a.22.part", ".ab.1.part", ".a.1"):
        (tmp_path / name).touch()
    assert sorted(path.name for path in parts_of(tmp_path / "a")) == [".a.1.part", ".a.22.part"]


def test_only_the_leftovers_of_the_same_folder_are_removed(tmp_path: Path) -> None:
    for name in (".a.1.part", ".a.1.other", ".b.1.part", "a.part"):
        (tmp_path / name).mkdir()
    with atomic_folder(tmp_path / "new" / "a") as part:
        assert part.parent == tmp_path / "new"
    with atomic_folder(tmp_path / "a"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".a.1.other", ".b.1.part", "a", "a.part", "new"]


def test_removing_waits_for_a_process_that_still_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))
    tries: list[Path] = []
    pauses: list[float] = []

    def fail(path: Path) -> None:
        tries.append(path)
        raise busy

    monkeypatch.setattr("time.sleep", pauses.append)
    monkeypatch.setattr("shutil.rmtree", fail)
    with pytest.raises(ZooError, match="Cannot remove"):
        remove(tmp_path)
    assert (len(tries), pauses) == (4, [0.1, 0.4, 1.5])
    busy.errno = errno.EACCES
    with pytest.raises(ZooError, match="Cannot remove"):
        remove(tmp_path)
    assert len(tries) == 5


def test_a_link_is_removed_and_not_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    remove(tmp_path / "link")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    remove(tmp_path / "folder" / "file")
    remove(tmp_path / "none")
    remove(tmp_path / "folder")
    assert not list(tmp_path.iterdir())


def test_advice_fits_what_failed() -> None:
    full = OSError(errno.EDQUOT, "Quota exceeded")
    assert storage_error("write", Path("x"), full).remedy.startswith("Free some space")
    assert storage_error("write", Path("x"), OSError(errno.EROFS, "Read-only")).remedy.startswith("Check its perm")
    assert storage_error("read", Path("x.h5"), OSError("truncated file")).remedy.startswith("The file is damaged")
    missing = FileNotFoundError(errno.ENOENT, "No such file or directory")
    assert "Create its folder first" in storage_error("write", Path("no/x"), missing).remedy
    assert storage_error("remove", Path("x"), full).remedy.startswith("Check that its disk")
    assert storage_error("write", Path("x"), OSError("no reason")).message == "Cannot write x: no reason"


def test_a_link_to_nothing_is_named(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("gone")
    with pytest.raises(ZooError, match="it is a link to gone, which does not exist"):
        file_sha256(tmp_path / "link")


@pytest.mark.parametrize("folder", ["/", "/proc", "/proc/self/fd", "/sys/devices"])
def test_folders_of_the_running_system_are_not_searched(folder: str) -> None:
    with pytest.raises(ZooError, match="files of the running system"):
        files_below(Path(folder), lambda *_: None)
