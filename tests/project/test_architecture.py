"""The rules of the house, checked by the tools that know them."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
import pytest

from tests.support import CHECKOUT

PACKAGE = CHECKOUT / "zoo"
PROTOCOL = sorted((PACKAGE / "protocol").glob("*.py"))
WORKER_SIDE = sorted([*PROTOCOL, *(PACKAGE / "models").rglob("*.py"), *(PACKAGE / "worker").rglob("*.py")])
ML = {"keras", "tensorflow", "torch", "jax", "plaidml", "openvino", "mlx"}
CONVERTERS = {"onnx", "onnxruntime", "tf2onnx", "ai_edge_litert", "coremltools", "PIL"}
# One library, the one place that may import it.
DOORS = {
    "hydra": {"config/compose.py", "config/overrides.py"},
    "omegaconf": {"config/compose.py"},
    "rich": {"core/console.py"},
    "uv": {"environments/uv_client.py"},
    "tokenizers": {"data/text/tokenization.py"},
    "matplotlib": {"runs/plots.py"},
    "sklearn": {"data/sources.py", "tasks/text/linear.py"},
    "h5py": {"weights/hdf5.py"},
    "mlflow": {"runs/mlflow_tracking.py"},
    "requests": {"core/download.py"},
}


def _tool(name: str, *arguments: str) -> str:
    command = [str(Path(sys.executable).with_name(name)), *arguments]
    answer = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


def test_ruff_finds_nothing() -> None:
    _tool("ruff", "check", ".")


def test_every_file_is_formatted() -> None:
    _tool("ruff", "format", "--check", ".")


def test_mypy_strict_finds_nothing_on_the_host() -> None:
    _tool("mypy")


def test_imports_keep_their_contracts() -> None:
    assert "0 broken" in _tool("lint-imports", "--no-cache")


# Imports that each break a contract, wherever they stand: (file, import).
FORBIDDEN = (
    ("zoo/tasks/validate.py", "from zoo.worker import events"),
    ("zoo/core/errors.py", "from zoo.runs import records"),
    ("zoo/worker/png.py", "from zoo.runs import event_log"),
    ("zoo/runs/planted.py", "import tensorflow"),
    ("zoo/planted/__init__.py", ""),
)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package and of its contracts."""
    shutil.copytree(PACKAGE, tmp_path / "zoo", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CHECKOUT / "pyproject.toml", tmp_path)
    return tmp_path


def _lint_imports(folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    variables = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("place", "statement"), FORBIDDEN, ids=[place for place, _ in FORBIDDEN])
def test_a_planted_import_breaks_a_contract(copied: Path, place: str, statement: str) -> None:
    planted = copied / place
    planted.parent.mkdir(exist_ok=True)
    with planted.open("a", encoding="utf-8") as out:
        out.write(f"\n{statement}\n")
    answer = _lint_imports(copied)
    assert answer.returncode != 0, answer.stdout
    assert planted.parent.name in answer.stdout


def test_a_copy_without_a_planted_import_keeps_them(copied: Path) -> None:
    assert _lint_imports(copied).returncode == 0


def _circles(imported: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import each other, at module or function level: strongly connected components."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        new = set(imported[start])
        while new:
            seen |= new
            new = {further for name in new for further in imported[name]} - seen
        return seen

    whole = {name: reached(name) for name in imported}
    groups = {frozenset(other for other in whole[name] if name in whole[other]) for name in imported}
    return sorted(sorted(group) for group in groups if group)


def test_no_modules_import_each_other() -> None:
    graph = grimp.build_graph("zoo", cache_dir=None)
    assert _circles({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}) == []


def test_a_circle_is_found() -> None:
    imported = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set[str](), "e": {"a"}}
    assert _circles(imported) == [["a", "b", "c"]]


def test_the_contracts_name_every_room() -> None:
    """A room that a list leaves out would be free to import what the others may not."""
    contracts = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    worker_side = {"zoo.models", "zoo.worker"}
    host = {f"zoo.{path.name}" for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    host = host - worker_side - {"zoo.protocol"} | {"zoo.api"}
    meeting, upwards = (
        next(each for each in contracts if each["name"] == name)
        for name in ("Host and worker meet in zoo.protocol only", "The worker never imports the host")
    )
    assert set(meeting["source_modules"]) == host
    assert set(upwards["forbidden_modules"]) == host
    assert worker_side <= set(meeting["forbidden_modules"])
    assert set(upwards["source_modules"]) == worker_side


def test_the_worker_side_runs_on_python_3_6() -> None:
    files = [str(path) for path in [*WORKER_SIDE, PACKAGE / "__init__.py"]]
    _tool("vermin", "--target=3.6-", "--no-tips", "--violations", *files)


def _imports(path: Path) -> set[str]:
    roots: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            roots.add(node.module.split(".")[0])
    return roots


def _zoo_modules(path: Path) -> set[str]:
    """Modules of the package that a file imports, by their full names."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.partition(".")[0] == "zoo"}


def test_every_test_that_a_page_names_is_there() -> None:
    named = set(
        re.findall(r"`(test_\w+)`", (CHECKOUT / "docs" / "background" / "survival.md").read_text(encoding="utf-8"))
    )
    written = "".join(path.read_text(encoding="utf-8") for path in (CHECKOUT / "tests").rglob("test_*.py"))
    assert named
    assert named <= set(re.findall(r"def (test_\w+)", written))


HOST_SIDE = sorted(path for path in PACKAGE.rglob("*.py") if path not in WORKER_SIDE)


@pytest.mark.parametrize("path", HOST_SIDE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_host_module_uses_only_its_own_doors(path: Path) -> None:
    used = _imports(path)
    assert not used & ML
    place = path.relative_to(PACKAGE).as_posix()
    assert not [library for library, doors in DOORS.items() if library in used and place not in doors]


@pytest.mark.parametrize("path", WORKER_SIDE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_worker_side_imports_only_what_a_stack_has(path: Path) -> None:
    of_keras = {"numpy", "h5py"}  # Keras needs them
    assert _imports(path) <= set(sys.stdlib_module_names) | ML | CONVERTERS | of_keras | {"zoo"}
    for module in _zoo_modules(path):
        assert module.startswith(("zoo.models", "zoo.worker", "zoo.protocol")), module


def test_the_protocol_needs_the_standard_library_only() -> None:
    """The features of texts, which both sides compute, need NumPy as well."""
    for path in PROTOCOL:
        arrays = {"numpy"} if path.stem in ("text_features", "word_parts") else set()
        assert _imports(path) <= set(sys.stdlib_module_names) | {"zoo"} | arrays
        assert all(name.startswith("zoo.protocol") for name in _zoo_modules(path))


def test_the_help_needs_nothing_but_the_standard_library() -> None:
    code = "import sys; from zoo.cli import main, parser; parser.build().format_help(); print(sorted(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    loaded = set(ast.literal_eval(answer.stdout))
    assert not {"numpy", "hydra", "rich", "yaml", "PIL"} & loaded
    allowed = ("zoo.cli", "zoo.core", "zoo.protocol")
    rooms = {name for name in loaded if name.startswith("zoo.") and not name.startswith(allowed)}
    assert not rooms, "commands import other rooms in their functions only, so that --help comes at once"
