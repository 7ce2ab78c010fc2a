"""Names that say nothing of what they hold are not used."""

import ast
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.support import CHECKOUT

FORBIDDEN = {"told", "found", "made", "held"}
FILES = sorted(path for folder in ("zoo", "scripts", "tests") for path in (CHECKOUT / folder).rglob("*.py"))

# Nodes that bind what their field `name` says.
NAMED = (ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _bound(node: ast.AST) -> Iterator[str | None]:
    """Yield the names that one node of a syntax tree binds."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):  # all targets: of =, for, with, :=, ...
        yield node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, NAMED):
        yield node.name
    elif isinstance(node, ast.MatchMapping):
        yield node.rest
    elif isinstance(node, ast.alias):
        yield node.asname or node.name


def bindings(source: str) -> Counter[str]:
    """Count how often a source file binds each forbidden name."""
    names = (name for node in ast.walk(ast.parse(source)) for name in _bound(node))
    return Counter(name for name in names if name in FORBIDDEN)


@pytest.mark.parametrize(
    "source",
    [
        "told = 1", "told += 1", "told: int = 1", "a, (b, *told) = c", "def f(told): ...", "def f(*, told=1): ...",
        "def f(*told): ...", "def f(**told): ...", "def f(told, /): ...", "lambda told: 1", "for told in x: ...",
        "[1 for told in x]", "{told: 1 for a, told in x}", "with x as told: ...", "with x as (a, told): ...",
        "try: ...\nexcept E as told: ...", "f(told := 1)",
        "match x:\n case told: ...", "match x:\n case [*told]: ...",
        "match x:\n case {**told}: ...", "match x:\n case A(b=told): ...", "self.told = 1", "self.told: int = 1",
        "class A:\n told: int", "def told(): ...", "async def told(): ...", "class told: ...", "import a as told",
        "from a import told",
        "async def f():\n async for told in x: ...", "async def f():\n async with x as told: ...",
    ],
)  # fmt: skip
def test_every_way_to_bind_a_name_is_seen(source: str) -> None:
    assert bindings(source) == {"told": 1}


@pytest.mark.parametrize("source", ["print(told)", "f(told=1)", "'told'", "x.told", "x['told']", "untold = 1"])
def test_a_use_of_a_name_is_no_binding(source: str) -> None:
    assert not bindings(source)


def test_no_file_binds_a_name_that_says_nothing() -> None:
    names = {path.relative_to(CHECKOUT).as_posix(): bindings(path.read_text(encoding="utf-8")) for path in FILES}
    assert not {place: count for place, count in names.items() if count}
