"""Planted faults: which ones there are, and which a test notices."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

from tests.support import CHECKOUT, scripts

SCRIPT = CHECKOUT / "scripts" / "maintenance" / "mutants.py"
SUMS = """
LIMIT = 3

def total(first, second):
    if first > LIMIT:
        return 0
    return first + second

def unused(value):
    return not value
"""
TESTS = """
from zoo.room.sums import total

def test_small():
    assert total(1, 5) == 6

def test_large():
    assert total(4, 5) == 0
"""


@pytest.fixture
def mutants() -> ModuleType:
    module: ModuleType = scripts.load("maintenance/mutants")
    return module


def faults(mutants: ModuleType, folder: Path, code: str) -> list[str]:
    path = folder / "module.py"
    path.write_text(textwrap.dedent(code))
    return [f"{each.old} -> {each.new}" for each in mutants.of_file(folder, path)]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = a < 3", ["a < 3 -> (a <= 3)", "3 -> 4"]),
        ("x = a is not None", ["a is not None -> (a is None)"]),
        ("x = a and b", ["a and b -> (a or b)"]),
        ("x = not a", ["not a -> (a)"]),
        ("x = a + b * 2.5", ["a + b * 2.5 -> (a - b * 2.5)", "b * 2.5 -> (b / 2.5)", "2.5 -> 5.0"]),
        ("x += 1", ["x += 1 -> x -= 1", "1 -> 2"]),
        ("x = True", ["True -> False"]),
        ("if a:\n    b.add(c)", ["a -> False", "b.add(c) -> pass"]),
        ("x = f(a, b)", ["f(a, b) -> f(b, a)"]),
        ("x = [a for a in b if a]", ["a -> True"]),
        ("def f():\n    return a", ["return a -> return None"]),
        ("def f(a=1): ...", ["1 -> 2"]),
        ("ä = 'ü'; x = 1", ["1 -> 2"]),
    ],
)
def test_the_faults_of_code(mutants: ModuleType, tmp_path: Path, code: str, expected: list[str]) -> None:
    assert faults(mutants, tmp_path, code) == expected


@pytest.mark.parametrize(
    "code",
    [
        '"""1 + 1"""',
        "x: Literal[1]",
        "def f(a: C[1]) -> C[2]: ...",
        "if TYPE_CHECKING:\n    x = 1",
        "if __name__ == '__main__':\n    x = 1",
        "raise ZooError('a' * 3, b)",
        "say('a' * 3)",
        "x = ZooError(a, b)",
        "assert a == 1",
        "@cache(maxsize=1)\ndef f(): ...",
        "stream.flush()",
        "x = f(timeout=3)",
        "x = f'{a + 1}'",
        "x = 'a' + b",
        "x = min(a, b)",
    ],
)
def test_what_is_left_as_it_is(mutants: ModuleType, tmp_path: Path, code: str) -> None:
    assert faults(mutants, tmp_path, code) == []


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for path, text in {"zoo/__init__.py": "", "zoo/room/__init__.py": "", "zoo/room/sums.py": SUMS}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "tests" / "room").mkdir(parents=True)
    (tmp_path / "tests" / "room" / "test_sums.py").write_text(TESTS)
    return tmp_path


def run(package: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, SCRIPT, "--root", str(package), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_faults_that_no_test_notices_survive(package: Path) -> None:
    done = run(package, "zoo/room", "--sample", "0", "--json")
    assert done.returncode == 1, done.stderr
    result = json.loads(done.stdout)
    (room,) = result["rooms"]
    assert (room["room"], room["faults"], room["tried"]) == ("zoo/room", 8, 8)
    assert (room["noticed"], room["timeout"], room["survived"], room["percent"]) == (5, 0, 3, 62.5)
    survivors = [(each["path"], each["line"], each["old"], each["new"]) for each in result["survivors"]]
    assert sorted(survivors) == [
        ("zoo/room/sums.py", 5, "first > LIMIT", "(first >= LIMIT)"),
        ("zoo/room/sums.py", 10, "not value", "(value)"),
        ("zoo/room/sums.py", 10, "return not value", "return None"),
    ]
    assert (package / "zoo" / "room" / "sums.py").read_text() == SUMS


def test_a_sample_is_drawn_by_its_seed_and_printed_as_a_table(package: Path) -> None:
    done = run(package, "zoo/room/sums.py", "--sample", "2", "--at-least", "0", "--seed", "5")
    assert done.returncode == 0, done.stderr
    heading, row = done.stdout.splitlines()[:2]
    assert heading.split() == ["room", "faults", "tried", "noticed", "timeout", "survived", "percent", "seconds"]
    assert row.split()[:3] == ["zoo/room/sums.py", "8", "2"]


def test_tests_that_do_not_run_are_no_result(package: Path) -> None:
    (package / "tests" / "room" / "test_sums.py").write_text("import nothing_of_this_name")
    done = run(package, "zoo/room", "--sample", "1")
    assert done.returncode == 2
    assert "nothing_of_this_name" in done.stderr


def test_a_room_that_is_not_there_is_told(
    mutants: ModuleType, package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        mutants.main(["--root", str(package), "zoo/other"])
    assert "zoo/other is not a folder or file of zoo/" in capsys.readouterr().err
