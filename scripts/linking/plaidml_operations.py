"""Read which functions of Keras's backend PlaidML does not have, from `plaidml/keras/backend.py` in its wheel."""

import ast
from pathlib import Path

BACKEND = Path("plaidml", "keras", "backend.py")
REPORT = "_report_unimplemented"


def missing(backend: Path) -> tuple[set[str], set[str]]:
    """Return the functions that only raise NotImplementedError, and those that raise it for some arguments."""
    always, sometimes = set(), set()
    for function in ast.parse(backend.read_text(encoding="utf-8")).body:
        if not isinstance(function, ast.FunctionDef) or function.name == REPORT:
            continue
        body = [each for each in function.body if not (isinstance(each, ast.Expr) and _is_text(each.value))]
        if body and _refuses(body[0]):
            always.add(function.name)
        elif any(_refuses(each) for each in ast.walk(function)):
            sometimes.add(function.name)
    return always, sometimes


def _is_text(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _refuses(statement: ast.AST) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else statement
    if isinstance(value, ast.Raise):
        return "NotImplementedError" in ast.dump(value)
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == REPORT
