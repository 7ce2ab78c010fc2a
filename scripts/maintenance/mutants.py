"""Plant small faults in the code, one at a time, and count those that the mirrored tests notice.

    python scripts/maintenance/mutants.py zoo/core zoo/data --sample 100 --seed 7
    python scripts/maintenance/mutants.py zoo/core/csv_files.py --sample 0

A fault is a changed comparison, number, truth value or operator, a dropped branch or call, or two swapped arguments.
Docstrings, messages, annotations, assertions, decorators and f-strings stay. The faults of ``zoo/ROOM`` are tried in
a copy of the checkout with the tests of ``tests/ROOM`` alone: those that reach the changed function, the mirrored
file first. For a fault outside of functions, everything is imported again.

Exit status 0: at least ``--at-least`` of 100 faults are noticed in every room. 1: fewer are. 2: the tests of a room
cannot be collected, or none passes.
"""

import argparse
import ast
import compileall
import gc
import importlib
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
ENOUGH, TOO_FEW, BROKEN = 0, 1, 2
NOTICED, TIMEOUT, SURVIVED = "noticed", "timeout", "survived"
MARKS = "not stacks and not slow and not network and not timing and not gpu"
LEFT_BEHIND = (".git", ".venv", "__pycache__", ".*_cache")
# Imported once by the parent of all tests, where they are installed.
HEAVY = ("numpy", "PIL.Image", "h5py", "hypothesis", "hydra", "requests", "rich.console", "yaml")
MESSAGES = {"ZooError", "bar", "debug", "fail", "info", "print", "say", "tell", "warn", "warning", "write_line"}
# Without a crash or another reader, nobody can tell whether these were called.
UNSEEN = {"close", "collect", "filterwarnings", "flush", "fsync", "join", "sleep", "simplefilter", "terminate"}
# Arguments that tune and do not change a result, or only guard what cannot happen.
TUNING = {"buffering", "daemon", "flush", "indent", "maxsize", "stacklevel", "strict", "timeout", "chunk_size"}
COMMUTATIVE = {"isinstance", "issubclass", "max", "min", "gcd", "isclose", "array_equal", "samefile"}
COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
}  # fmt: skip


ANOTHER_PYTHON = ("", "python")
FIRST_RUN_S, GRACE_S = 3600.0, 20.0


@dataclass
class Mutant:
    """A fault: in a file, at a line, inside the outermost function ``owner`` or outside of functions ("")."""

    path: str
    line: int
    owner: str
    old: str
    new: str
    text: str
    outcome: str = ""


def of_file(root: Path, path: Path) -> Iterator[Mutant]:
    """Yield every fault of a module."""
    source = path.read_bytes()
    lines = source.splitlines(keepends=True)
    for node, owner, new in faults(ast.parse(source), ""):
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        before = b"".join(lines[:first]) + lines[first][: node.col_offset]
        after = lines[last][node.end_col_offset :] + b"".join(lines[last + 1 :])
        text = before + new.encode() + after
        old = source[len(before) : len(source) - len(after)].decode()
        yield Mutant(path.relative_to(root).as_posix(), node.lineno, owner, old, new, text.decode())


def faults(node: ast.AST, owner: str, scope: str = "") -> Iterator[tuple[Any, str, str]]:
    """Yield what to replace, its outermost function, and the replacement."""
    for child in ast.iter_child_nodes(node):
        if skipped(node, child):
            continue
        if isinstance(child, ast.ClassDef) and not owner:
            yield from faults(child, "", f"{scope}{child.name}.")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and not owner:
            yield from faults(child.args, "", scope)
            for statement in child.body:
                wrapped = ast.Module([statement], [])
                yield from faults(wrapped, scope + child.name, scope)
        else:
            for what, new in replacements(child):
                yield what, owner, new
            yield from faults(child, owner, scope)


def skipped(parent: ast.AST, child: ast.AST) -> bool:
    """Return whether a part is not to be changed: text, annotations, assertions, what only type checkers read."""
    if isinstance(child, ast.If) and ast.unparse(child.test).endswith(("TYPE_CHECKING", "== '__main__'")):
        return True
    match parent:
        case ast.AnnAssign() | ast.arg() if child is parent.annotation:
            return True
        case ast.FunctionDef() | ast.AsyncFunctionDef() if child is parent.returns or child in parent.decorator_list:
            return True
        case ast.ClassDef() if child in parent.decorator_list:
            return True
        case ast.Raise() | ast.Assert() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Call() if name_of(parent) in MESSAGES and child is not parent.func:
            return True
        case ast.keyword() if parent.arg in TUNING:
            return True
    return False


def replacements(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield the faults of one node: what to replace and with which code."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            yield node, f"({ast.unparse(ast.Compare(node.left, [COMPARISONS[type(op)]()], node.comparators))})"
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield node, f"({ast.unparse(ast.BoolOp(other, node.values))})"
        case ast.UnaryOp(op=ast.Not()):
            yield node, f"({ast.unparse(node.operand)})"
        case ast.BinOp() if type(node.op) in OPERATORS and not is_text(node.left) and not is_text(node.right):
            yield node, f"({ast.unparse(ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right))})"
        case ast.AugAssign() if type(node.op) in OPERATORS and not is_text(node.value):
            yield node, ast.unparse(ast.AugAssign(node.target, OPERATORS[type(node.op)](), node.value))
        case ast.Constant(value=bool() as truth):
            yield node, str(not truth)
        case ast.Constant(value=int() as number):
            yield node, repr(number + 1)
        case ast.Constant(value=float() as number):
            yield node, repr(number * 2 or 1.0)
        case ast.If() | ast.IfExp():
            yield node.test, "False"
        case ast.comprehension():
            yield from ((test, "True") for test in node.ifs)
        case ast.Expr(value=ast.Call() as call) if name_of(call) not in MESSAGES | UNSEEN:
            yield node, "pass"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield node, "return None"
        case ast.Call(args=[first, second, *rest]) if name_of(node) not in COMMUTATIVE | MESSAGES:
            if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
                yield node, ast.unparse(ast.Call(node.func, [second, first, *rest], node.keywords))


def name_of(call: ast.Call) -> str:
    """Return the last name of what is called, or ""."""
    func = call.func
    return func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


@dataclass
class Test:
    """A test that passes without a fault, and the (file, function) pairs that it reaches."""

    name: str
    seconds: float
    reached: list[tuple[str, str]] = field(default_factory=list)


class Room:
    """A pytest plugin that runs the collected tests of a room once, and then for every fault inside of functions.

    Every run is a fork of the process that has collected the tests, with the code of the changed function replaced.
    The first run records which functions a test reaches; a test that starts another Python counts as reaching all.
    """

    def __init__(self, folder: Path, mutants: list[Mutant], answer: Path) -> None:
        self.folder, self.mutants, self.answer = folder, mutants, answer
        self.reached: set[tuple[str, str]] = set()
        self.failed = False
        threading.settrace(self.trace)
        sys.settrace(self.trace)

    def trace(self, frame: types.FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if code.co_filename.startswith(f"{self.folder}/zoo/"):
            self.reached.add((code.co_filename[len(f"{self.folder}/") :], outermost(code)))

    def started(self, event: str, arguments: tuple[Any, ...]) -> None:
        starts = event in ("subprocess.Popen", "os.posix_spawn") and "python" in str(arguments[:2])
        if starts or event == "os.fork":
            self.reached.add(ANOTHER_PYTHON)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        sys.settrace(None)
        at_import = self.reached
        forked(lambda: self.first_run(session), FIRST_RUN_S)
        tests = read_tests(self.answer)
        for mutant in self.mutants:
            if mutant.owner and (mutant.path, mutant.owner) not in at_import and functions(self.folder, mutant):
                place = (mutant.path, mutant.owner)
                chosen = in_order(mutant, [t for t in tests if place in t.reached or ANOTHER_PYTHON in t.reached])
                with planted(self.folder, mutant):
                    mutant.outcome = verdict(lambda m=mutant, c=chosen: self.run(session, c, m), chosen)  # type: ignore[misc]
        self.answer.with_suffix(".outcomes").write_text(json.dumps([mutant.outcome for mutant in self.mutants]))
        return True

    def first_run(self, session: pytest.Session) -> int:
        """Write the name, seconds and reached functions of all tests that pass."""
        sys.addaudithook(self.started)
        rows = []
        for item, following in pairwise([*session.items, None]):
            self.reached, self.failed = set(), False
            sys.settrace(self.trace)
            begun = time.monotonic()
            if item:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if item and not self.failed:
                rows.append((item.nodeid, time.monotonic() - begun, sorted(self.reached)))
        self.answer.write_text(json.dumps(rows))
        return 0

    def run(self, session: pytest.Session, chosen: list[Test], mutant: Mutant) -> int:
        replace_code(self.folder, mutant)
        items = {item.nodeid: item for item in session.items}
        for item, following in pairwise([*(items[test.name] for test in chosen), None]):
            if item:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return 1
        return 0


class Chosen:
    """A pytest plugin that keeps some tests, in the given order."""

    def __init__(self, tests: list[Test]) -> None:
        self.places = {test.name: place for place, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((each for each in items if each.nodeid in self.places), key=lambda i: self.places[i.nodeid])


def outermost(code: types.CodeType) -> str:
    return code.co_qualname.partition(".<locals>")[0]


def read_tests(answer: Path) -> list[Test]:
    rows = json.loads(answer.read_text()) if answer.exists() else []
    return [Test(name, seconds, [(path, owner) for path, owner in reached]) for name, seconds, reached in rows]


def in_order(mutant: Mutant, tests: list[Test]) -> list[Test]:
    """Return tests in the order of their chances: of the mirrored file, of the changed function, short ones."""
    mirrored = f"/test_{Path(mutant.path).stem}.py"
    place = (mutant.path, mutant.owner)
    return sorted(
        tests, key=lambda t: (mirrored not in t.name, bool(mutant.owner) and place not in t.reached, t.seconds)
    )


def functions(folder: Path, mutant: Mutant) -> list[types.FunctionType]:
    """Return the functions that a fault is inside of, in whatever decorators they are wrapped."""
    filename = str(folder / mutant.path)
    functions = [each for each in gc.get_objects() if isinstance(each, types.FunctionType)]
    return [
        each for each in functions if (each.__code__.co_filename, each.__code__.co_qualname) == (filename, mutant.owner)
    ]


def replace_code(folder: Path, mutant: Mutant) -> None:
    """Give the functions that a fault is inside of the code that they have with it."""

    def codes(code: types.CodeType) -> Iterator[types.CodeType]:
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                yield constant
                yield from codes(constant)

    compiled = compile(mutant.text, str(folder / mutant.path), "exec")
    changed = {(each.co_qualname, each.co_firstlineno): each for each in codes(compiled)}
    for function in functions(folder, mutant):
        function.__code__ = changed[mutant.owner, function.__code__.co_firstlineno]


@contextmanager
def planted(folder: Path, mutant: Mutant) -> Iterator[None]:
    """Let a file of the copy hold a fault."""
    path = folder / mutant.path
    original = path.read_bytes()
    path.write_bytes(mutant.text.encode())
    try:
        yield
    finally:
        path.write_bytes(original)


def verdict(run: Callable[[], int], chosen: list[Test]) -> str:
    if not chosen:
        return SURVIVED
    status = forked(run, GRACE_S + 5 * sum(test.seconds for test in chosen))
    return TIMEOUT if status is None else NOTICED if status else SURVIVED


def forked(work: Callable[[], int], seconds: float) -> int | None:
    """Return the exit status of work in a forked process, or None where the time ends first."""
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.mkdtemp()
            os._exit(work())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(70)
    end = time.monotonic() + seconds
    status: int | None = None
    while status is None and time.monotonic() < end:
        done, code = os.waitpid(child, os.WNOHANG)
        status = abs(os.waitstatus_to_exitcode(code)) if done else None
        time.sleep(0 if done else 0.01)
    with suppress(ProcessLookupError, PermissionError):  # a hung test, or what one has left running
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    return status


def collect(folder: Path, plugin: object, tests: list[str], log: Path) -> int:
    """Run pytest in this process, over the copy, with its output in a file."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    arguments = ["-q", "-x", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib", "-W", "ignore"]
    return int(pytest.main([*arguments, f"--rootdir={folder}", "-m", MARKS, *tests], plugins=[plugin]))


def try_room(folder: Path, room: str, only: list[str], mutants: list[Mutant], temporary: Path) -> None:
    """Find the outcome of every fault; raise RuntimeError where the tests cannot be run."""
    answer, log = temporary / f"{room.replace('/', '.')}.tests", temporary / "log"
    mirrored = (folder / "tests" / Path(room).relative_to("zoo")).with_suffix("")
    while not mirrored.is_dir():
        mirrored = mirrored.parent
    own = [str(folder / path) for path in only] or [str(mirrored)]
    forked(lambda: collect(folder, Room(folder, mutants, answer), own, log), FIRST_RUN_S * 10)
    tests = read_tests(answer)
    if not tests or not answer.with_suffix(".outcomes").exists():
        raise RuntimeError(f"{room}: its tests do not run:\n{log.read_text()[-2000:]}")
    outcomes = json.loads(answer.with_suffix(".outcomes").read_text())
    for mutant, outcome in zip(mutants, outcomes, strict=True):
        mutant.outcome = outcome or imported_again(folder, mutant, tests, log)


def imported_again(folder: Path, mutant: Mutant, tests: list[Test], log: Path) -> str:
    """Try a fault outside of functions with the tests that reach its module, or a module that names it."""
    word = re.compile(rf"\b{re.escape(Path(mutant.path).stem)}\b")
    paths = {path for test in tests for path, _ in test.reached if path}
    readers = {path for path in paths if path == mutant.path or word.search((folder / path).read_text("utf-8"))}
    chosen = in_order(mutant, [test for test in tests if any(path in readers for path, _ in test.reached)])
    files = list(dict.fromkeys(test.name.partition("::")[0] for test in chosen))
    with planted(folder, mutant):
        return verdict(lambda: collect(folder, Chosen(chosen), files, log), chosen)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="+", metavar="PATH", help="zoo/ROOM or zoo/ROOM/FILE.py")
    parser.add_argument("--sample", type=int, default=100, help="faults a room, drawn at random; 0: all (default: 100)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--at-least", type=float, default=85, metavar="PERCENT", help="(default: 85)")
    parser.add_argument("--tests", action="append", default=[], metavar="PATH", help="these instead of all of the room")
    parser.add_argument("--json", action="store_true", help="print JSON in place of the table")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    for room in arguments.rooms:
        if not (arguments.root / room).exists() or Path(room).parts[0] != "zoo":
            parser.error(f"{room} is not a folder or file of zoo/ in {arguments.root}")
    with tempfile.TemporaryDirectory() as name:
        temporary = Path(name).resolve()
        folder = copied(arguments.root, temporary)
        rows, survivors = [], []
        for room in arguments.rooms:
            files = sorted((folder / room).rglob("*.py")) if (folder / room).is_dir() else [folder / room]
            functions = [mutant for path in files for mutant in of_file(folder, path)]
            generator = random.Random(f"{arguments.seed} {room}")  # noqa: S311
            count = min(arguments.sample or len(functions), len(functions))
            drawn = sorted(generator.sample(functions, count), key=lambda mutant: (mutant.path, mutant.line))
            begun = time.monotonic()
            try:
                try_room(folder, room, arguments.tests, drawn, temporary)
            except RuntimeError as error:
                print(error, file=sys.stderr)
                return BROKEN
            rows.append(row_of(room, len(functions), drawn, time.monotonic() - begun))
            survivors += [mutant for mutant in drawn if mutant.outcome == SURVIVED]
            if not arguments.json:
                print_room(rows, [mutant for mutant in drawn if mutant.outcome == SURVIVED])
    if arguments.json:
        faults = [{key: value for key, value in asdict(each).items() if key != "text"} for each in survivors]
        print(json.dumps({"seed": arguments.seed, "rooms": rows, "survivors": faults}, indent=1))
    return ENOUGH if all(row["percent"] >= arguments.at_least for row in rows) else TOO_FEW


def copied(root: Path, temporary: Path) -> Path:
    """Copy a checkout, and prepare this process to import and test the copy."""
    folder = Path(shutil.copytree(root, temporary / "checkout", ignore=shutil.ignore_patterns(*LEFT_BEHIND)))
    # With a checksum of their source: by size and time alone, a compiled file may pass for that of another source.
    compileall.compile_dir(folder / "zoo", quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # of all plugins the tests need none
    os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    os.environ.setdefault("ZOO_TEST_DATA", str(root.resolve().parent / "shared" / "data"))
    sys.path[0] = str(folder)
    os.chdir(folder)
    for module in HEAVY:
        with suppress(ImportError):
            importlib.import_module(module)
    return folder


def row_of(room: str, faults: int, drawn: list[Mutant], seconds: float) -> dict[str, Any]:
    counts = {kind: sum(mutant.outcome == kind for mutant in drawn) for kind in (NOTICED, TIMEOUT, SURVIVED)}
    percent = round(100 * (1 - counts[SURVIVED] / len(drawn)), 1) if drawn else 100.0
    return {
        "room": room,
        "faults": faults,
        "tried": len(drawn),
        **counts,
        "percent": percent,
        "seconds": round(seconds),
    }


def print_room(rows: list[dict[str, Any]], survivors: list[Mutant]) -> None:
    if len(rows) == 1:
        print(f"{'room':24}{''.join(f'{key:>10}' for key in rows[0] if key != 'room')}")
    print(f"{rows[-1]['room']:24}{''.join(f'{value:>10}' for key, value in rows[-1].items() if key != 'room')}")
    for mutant in survivors:
        print(f"  {mutant.path}:{mutant.line}: {' '.join(mutant.old.split())} -> {mutant.new}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
