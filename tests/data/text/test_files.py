"""Text files and archives from strangers: what is no text is named with its line, and nothing leaves an archive."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from zoo.core.errors import ZooError
from zoo.data.text import files


def archive(path: Path, *members: tarfile.TarInfo | str, mode: str = "w") -> Path:
    with tarfile.open(path, mode) as opened:  # type: ignore[call-overload]
        for member in members:
            info = tarfile.TarInfo(member) if isinstance(member, str) else member
            content = b"a text" if info.isfile() else b""
            info.size = len(content)
            opened.addfile(info, io.BytesIO(content))
    return path


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"fine\nand fine\nbut \xff here\n", "line 3: byte 0xff in place 5"),
        (b"cut in the middle of a sign \xe2\x82", "line 1"),
        (b"one\ntwo\0three", "line 2: a NUL byte"),
        ("UTF-16".encode("utf-16"), "line 1: byte 0xff in place 1"),
    ],
)
def test_what_is_no_text_is_named_with_file_and_line(content: bytes, words: str) -> None:
    with pytest.raises(ZooError, match=r"review\.txt") as caught:
        files.decode(content, "utf-8", "review.txt")
    assert words in caught.value.message


def test_other_encodings_are_read_where_asked_for() -> None:
    assert files.decode("naïve".encode("latin-1"), "latin-1", "x")[0] == "naïve"
    assert files.decode("naïve".encode("utf-16"), "utf-16", "x")[0] == "naïve"
    assert files.decode(b"\xef\xbb\xbfmarked", "utf-8", "x")[0] == "marked"


@pytest.mark.parametrize("name", ["klingon", "rot13", "punycode", "idna", "undefined", "unicode_escape"])
def test_codecs_that_are_no_encoding_of_texts_are_refused(name: str) -> None:
    for content in (b"text,label\n", b"a\\u,b\n"):
        with pytest.raises(ZooError, match=f"no encoding of texts called '{name}'") as caught:
            files.decode(content, name, "x")
        assert "data.encoding=auto, utf-8, utf-16, cp1252, or latin-1" in caught.value.remedy


def test_a_text_as_large_as_a_book_shelf_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """300 MB in an archive of 0.3 MB took minutes and gigabytes."""
    monkeypatch.setattr(files, "MOST_LINE", 5)
    packed = archive(tmp_path / "t.tar", "pos/1.txt")
    with pytest.raises(ZooError, match=r"t\.tar: pos/1\.txt has 6 bytes, and a text at most 5"):
        list(files.iter_archive(packed, ".txt"))
    (tmp_path / "pos").mkdir()
    (tmp_path / "pos/1.txt").write_text("a text")
    with pytest.raises(ZooError, match=r"pos/1\.txt has 6 bytes"):
        list(files.iter_folder(tmp_path, ".txt"))


@pytest.mark.parametrize("ending", ["", ":gz", ":xz", ":bz2"])
def test_archives_are_read_in_memory(tmp_path: Path, ending: str) -> None:
    path = archive(tmp_path / "texts.tar", "top/pos/1.txt", "top/pos/.hidden.txt", "top/readme.md", mode=f"w{ending}")
    assert list(files.iter_archive(path, ".txt")) == [(("top", "pos", "1.txt"), b"a text")]
    assert [path.name for path in tmp_path.iterdir()] == ["texts.tar"]


@pytest.mark.parametrize(
    ("member", "words"),
    [
        ("../outside.txt", "leads out"),
        ("pos/../../outside.txt", "leads out"),
        ("/etc/outside.txt", "leads out"),
        ("C:/outside.txt", "leads out"),
        ("..\\outside.txt", "leads out"),
        (link("pos/1.txt", "/etc/passwd"), "a link to '/etc/passwd'"),
        (link("pos/1.txt", "pos/2.txt", tarfile.LNKTYPE), "a link"),
        (link("pos/1.txt", "", tarfile.FIFOTYPE), "a device"),
    ],
)
def test_members_that_reach_out_are_refused(tmp_path: Path, member: tarfile.TarInfo | str, words: str) -> None:
    path = archive(tmp_path / "texts.tar", "pos/0.txt", member)
    with pytest.raises(ZooError, match=r"texts\.tar") as caught:
        list(files.iter_archive(path, ".txt"))
    assert words in caught.value.message
    assert [path.name for path in tmp_path.iterdir()] == ["texts.tar"]
    assert not (tmp_path.parent / "outside.txt").exists()


@pytest.mark.parametrize("content", [b"", b"no archive at all", b"\xfd7zXZ\0cut off"])
def test_what_is_no_archive_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "texts.tar.xz"
    path.write_bytes(content)
    with pytest.raises(ZooError, match="damaged or is none"):
        list(files.iter_archive(path, ".txt"))


@pytest.mark.parametrize("mode", ["w:xz", "w:gz", "w:bz2", "w"])
def test_an_archive_cut_off_is_told(tmp_path: Path, mode: str) -> None:
    whole = archive(tmp_path / "whole", *(f"pos/{number}.txt" for number in range(500)), mode=mode).read_bytes()
    path = tmp_path / "texts.tar"
    for share in (0.1, 0.5, 0.9):
        path.write_bytes(whole[: int(len(whole) * share) - 100])
        with pytest.raises(ZooError, match="damaged"):
            list(files.iter_archive(path, ".txt"))


def test_an_archive_that_unpacks_to_too_much_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 10)
    with pytest.raises(ZooError, match="more than 10 bytes"):
        list(files.iter_archive(archive(tmp_path / "bomb.tar", "pos/1.txt", "pos/2.txt"), ".txt"))


def test_links_below_a_folder_are_followed_once(tmp_path: Path) -> None:
    (tmp_path / "set" / "pos").mkdir(parents=True)
    (tmp_path / "set" / "pos" / "1.txt").write_text("one")
    (tmp_path / "set" / "pos" / "back").symlink_to(tmp_path / "set")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "2.TXT").write_text("two")
    (tmp_path / "set" / "neg").symlink_to(tmp_path / "elsewhere")
    assert list(files.iter_folder(tmp_path / "set", ".txt")) == [
        (("neg", "2.TXT"), b"two"), (("pos", "1.txt"), b"one")
    ]  # fmt: skip


def test_a_part_that_is_a_link_to_texts_read_already_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "all" / "pos").mkdir(parents=True)
    (tmp_path / "train").symlink_to(tmp_path / "all")
    with pytest.raises(ZooError, match=r"train is a link to .*all, whose texts are read there already"):
        list(files.iter_folder(tmp_path, ".txt"))


def test_a_link_below_a_folder_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "1.txt").symlink_to("/nowhere.txt")
    with pytest.raises(ZooError, match=r"1\.txt: it is a link to /nowhere\.txt, which does not exist"):
        list(files.iter_folder(tmp_path, ".txt"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the administrator may read all")
def test_a_folder_that_cannot_be_listed_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "pos").mkdir(mode=0)
    with pytest.raises(ZooError, match=r"Cannot read .*pos: Permission denied"):
        list(files.iter_folder(tmp_path, ".txt"))


def test_a_misspelt_path_is_told_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_text("text,label\n")
    with pytest.raises(ZooError, match=r"did you mean 'reviews\.csv'"):
        files.data_root(str(tmp_path / "review.csv"), "a table")
    with pytest.raises(ZooError, match="NUL character"):
        files.data_root("a\0b", "a table")


def test_few_damaged_bytes_are_counted_and_can_be_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a b.txt"
    path.write_bytes(("却说曹操引兵至\n" * 400).encode("gb18030") + b"\xff\n")
    with pytest.raises(ZooError, match="is not gb18030") as caught:
        files.read(path, "gb18030")
    remedy = caught.value.remedy or ""
    assert remedy.startswith("Damaged bytes: 1. Correct them, or drop them: iconv -c -f gb18030 -t UTF-8 '")
