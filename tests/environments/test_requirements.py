"""zoo.environments.requirements: packages of the command line, of files, and of a script's inline metadata."""

from pathlib import Path

import pytest

from zoo.core.errors import ZooError
from zoo.environments import requirements

SCRIPT = """#!/usr/bin/env python
# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "requests<3",
#
#   "rich",
# ]
# ///
import requests
"""


def test_the_metadata_of_a_script(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    for text in (SCRIPT, SCRIPT.replace("\n", "\r\n")):
        path.write_bytes(text.encode())
        result = requirements.read_script(path)
        assert [str(each) for each in result.requirements] == ["requests<3", "rich"]
        assert str(result.python) == ">=3.11"


@pytest.mark.parametrize(
    "content", [b"import a", b"\xff\x00", b"# /// other\n# x = 1\n# ///\n", b"# /// script\n# ///"]
)
def test_other_files_have_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.py").write_bytes(content)
    assert requirements.read_script(tmp_path / "a.py") == requirements.Metadata()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# /// script\n# x =\n# ///\n", "cannot be read"),
        ("# /// script\n# requires-python = 'new'\n# ///\n", "cannot be read"),
        ("# /// script\n# dependencies = 'a'\n# ///\n", "dependencies is no list of texts: 'a'"),
        ("# /// script\n# dependencies = [1]\n# ///\n", r"dependencies is no list of texts: \[1\]"),
        ("# /// script\n# dependencies = ['!']\n# ///\n", "a.py, dependencies: '!' names no package"),
        (SCRIPT + SCRIPT, "has 2 blocks of inline metadata"),
    ],
)
def test_wrong_metadata_is_an_error(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.py").write_text(text)
    with pytest.raises(ZooError, match=words):
        requirements.read_script(tmp_path / "a.py")


def test_a_file_of_requirements_with_another(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "b.txt").write_text("\ufeffb>=2  # two\n--requirement=../c.txt\n")
    (tmp_path / "c.txt").write_text("c[x]==1 \\\n  ; python_version>'3'\n")
    (tmp_path / "a.txt").write_text("# first\n\na\n-r more/b.txt\n")
    result = requirements.read_file(tmp_path / "a.txt")
    assert [each.name for each in result] == ["a", "b", "c"]
    assert (str(result[1].specifier), result[2].extras) == (">=2", {"x"})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\n-r a.txt", "includes itself"), ("-r none.txt", "Cannot read"), ("a\n\n?", "a.txt, line 3: '.' names no"),
        ("a @ https://example.org/a.whl", "is an address"), ("a\nb\n-e .", "line 3"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(ZooError, match=words):
        requirements.read_file(tmp_path / "a.txt")
