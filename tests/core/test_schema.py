"""zoo.core.schema: rows of YAML are checked as a whole, and never make objects."""

import dataclasses
from pathlib import Path

import pytest

from zoo.core import schema
from zoo.core.errors import ZooError


@dataclasses.dataclass
class Part:
    size: int


@dataclasses.dataclass
class Row:
    name: str
    share: float
    parts: list[Part]
    env: dict[str, str]
    note: str | None = None


GOOD = {"name": "a", "share": 1, "parts": [{"size": 1}], "env": {"A": "1"}}


def test_a_good_row_has_no_violations() -> None:
    assert schema.violations(GOOD, Row) == []
    assert schema.violations({**GOOD, "note": None}, Row) == []


@pytest.mark.parametrize(
    ("change", "violation"),
    [
        ({"share": "much"}, "share: expected a number, got 'much'"),
        ({"share": True}, "share: expected a number, got True"),
        ({"parts": [{"size": 1}, {"size": "x"}]}, "parts.1.size: expected a whole number, got 'x'"),
        ({"env": {"A": 1}}, "env.A: expected text (in quotes), got 1"),
        ({"nmae": "a"}, "nmae: unknown key; did you mean 'name'?"),
        ({"note": 1}, "note: expected text (in quotes) or null, got 1"),
    ],
)
def test_a_violation_names_the_key_and_the_value(change: dict[str, object], violation: str) -> None:
    assert schema.violations({**GOOD, **change}, Row) == [violation]


def test_every_violation_is_listed_at_once() -> None:
    assert schema.violations({"parts": 1}, Row, "row.") == [
        "row.name: missing",
        "row.share: missing",
        "row.env: missing",
        "row.parts: expected a list, got 1",
    ]
    assert schema.violations([], Row) == ["the file: expected keys and values, got []"]


def doubled(first: str, row: str) -> str:
    """Return lines of YAML, each of which has the one before it twice."""
    lines = [f"a0: &a0 {first}", *(f"a{n}: &a{n} {row.format(f'*a{n - 1}')}" for n in range(1, 14))]
    return "\n".join(lines)


def test_a_few_aliases_are_read(tmp_path: Path) -> None:
    path = tmp_path / "row.yaml"
    path.write_text("a: &a {x: [1, 2]}\nb: [*a, *a]\nc: {<<: *a}\n")
    assert schema.read_yaml(path) == {"a": {"x": [1, 2]}, "b": [{"x": [1, 2]}] * 2, "c": {"x": [1, 2]}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("!!python/object/apply:os.system [true]", "cannot be read"),
        ("a: [", "cannot be read"),
        ("[" * 200 + "]" * 200, "nests brackets more than 100 deep"),
        ("a" * (schema.MOST_BYTES + 1), "has more than"),
        (doubled("[x]", "[{0}, {0}]"), "has more than 10,000 values"),
        (doubled("[]", "[{0}, {0}]"), "has more than 10,000 values"),
        (doubled("{x: 1}", "{{a: {0}, b: {0}}}"), "has more than 10,000 values"),
        (doubled("{x: 1}", "{{<<: [{0}, {0}]}}"), "has more than 10,000 values"),
    ],
)
def test_hostile_files_are_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "row.yaml"
    path.write_text(text)
    with pytest.raises(ZooError, match=words):
        schema.read_yaml(path)


@pytest.mark.parametrize(("number", "value"), [("012", 10), ("-0_7", -7), ("1:30", 90)])
def test_numbers_that_yaml_reads_in_another_way_are_refused(tmp_path: Path, number: str, value: int) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"a: 0x10\nb: [0, {number}]\n")
    with pytest.raises(ZooError, match=f"line 2: YAML reads {number} as {value}; write the number that you mean"):
        schema.read_yaml(path)
    path.write_text(f"a: '{number}'\nb: 0x10\nc: 0\n")
    assert schema.read_yaml(path) == {"a": number, "b": 16, "c": 0}


def test_a_key_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    """YAML keeps the last one without a word; the same key in two places is fine."""
    path = tmp_path / "a.yaml"
    for text in ("a: 1\na: 2\n", "b:\n  a: 1\n  a: 2\n"):
        path.write_text(text)
        with pytest.raises(ZooError, match=r"the key a is given twice"):
            schema.read_yaml(path)
    path.write_text("a: 1\nb:\n  a: 2\nc: [{a: 1}, {a: 2}]\n")
    assert schema.read_yaml(path)["b"] == {"a": 2}


def test_the_problems_of_a_file_are_one_error(tmp_path: Path) -> None:
    schema.refuse("row", tmp_path, [])
    with pytest.raises(ZooError, match=r"The row .* is malformed:\n  - a\n  - b"):
        schema.refuse("row", tmp_path, ["a", "b"])
