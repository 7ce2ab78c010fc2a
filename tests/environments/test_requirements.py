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
        ("# /// script\n# dependencies = 'a'\n# ///\n", "dependencies is not a list of strings: 'a'"),
        ("# /// script\n# dependencies = [1]\n# ///\n", r"dependencies is not a list of strings: \[1\]"),
        ("# /// script\n# dependencies = ['!']\n# ///\n", "a.py, dependencies: '!' is not the name of a package"),
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
        ("a\n-r a.txt", "includes itself"), ("-r none.txt", "Cannot read"),
        ("a\n\n?", "a.txt, line 3: this line is not"), ("-r .", "it is not a file"),
        ("a @ https://example.org/a.whl", "is an address"), ("a\nb\n-e .", "line 3"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(ZooError, match=words):
        requirements.read_file(tmp_path / "a.txt")


@pytest.mark.parametrize("line", ["root:secret:20000:0:99999:7:::", "a @ file:///secret", "AWS_SECRET=x y"])
def test_lines_of_other_files_are_not_shown(tmp_path: Path, line: str) -> None:
    (tmp_path / "other").write_text(f"a\n{line}\n")
    (tmp_path / "a.txt").write_text("-r other\n")
    with pytest.raises(ZooError, match="other, line 2: this line is") as caught:
        requirements.read_file(tmp_path / "a.txt")
    assert "secret" not in str(caught.value).lower()


def test_files_that_include_each_other_are_read_once(tmp_path: Path) -> None:
    """Thirty files that include the next one twice would be a thousand million lines."""
    for number in range(30):
        (tmp_path / f"{number}.txt").write_text(f"p{number}\n-r {number + 1}.txt\n-r x/../{number + 1}.txt\n")
    (tmp_path / "30.txt").write_text("last\n")
    assert [each.name for each in requirements.read_file(tmp_path / "0.txt")][-2:] == ["p29", "last"]
    for number in range(30, 150):
        (tmp_path / f"{number}.txt").write_text(f"-r {number + 1}.txt\n")
    with pytest.raises(ZooError, match="includes more than 100 files"):
        requirements.read_file(tmp_path / "0.txt")
