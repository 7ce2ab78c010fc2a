"""Models in users' own files: the settings of ``build`` are parsed, and no code is executed here.

Such a file is code, so only ``model=PATH`` on the command line can name one; references, records and settings cannot.
"""

import ast
import contextlib
import hashlib
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.core import file_kinds, paths
from zoo.core.errors import ZooError
from zoo.core.files import atomic_write
from zoo.core.paths import existing_input

SUFFIX = ".py"
SAVED = (".keras", ".h5", ".hdf5", ".tflite", ".onnx", ".pb")
# Arguments that come from the data, and keys that describe the file.
GIVEN = ("input_shape", "classes")
FACTS = ("name", "about", "task", "file", "sha256", "saved")
MOST_BYTES = 4 << 20
FORM = "A model file has a function build(input_shape, classes, **settings) that returns a Keras model."
FORM_OF_SAVED = "Give a Keras model, FILE.keras or FILE.h5, or a name: `python -m zoo list models`."
Json = dict[str, Any]


@dataclass(frozen=True)
class ModelFile:
    """A parsed model file.

    Attributes:
        about: first line of its docstring.
        settings: keyword arguments of ``build`` with a literal default.
    """

    path: Path
    content: bytes
    about: str
    settings: Json

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    def row(self) -> Json:
        """Return the equivalent of a file under ``configs/model``."""
        facts = {"name": self.path.name, "about": self.about, "file": str(self.path), "sha256": self.sha256}
        return facts | self.settings


def is_named(model: object) -> bool:
    """Return True if ``model=`` names a model file, which ends with ``.py``."""
    return isinstance(model, str) and model.strip("'\"").lower().endswith(SUFFIX)


def is_saved(model: object) -> bool:
    """Return True if ``model=`` names a saved model: an existing file or folder, or a path with a usual suffix."""
    if not isinstance(model, str) or is_named(model) or is_application(model):
        return False
    text = model.strip("'\"")
    if os.path.isfile(f"{paths.CONFIGS}/model/{text}.yaml"):
        return False
    return text.lower().endswith(SAVED) or os.path.exists(os.path.expanduser(text))


def is_application(model: object) -> bool:
    return isinstance(model, str) and re.fullmatch(r"keras/\w{1,50}", model, re.ASCII) is not None


def saved_row(model: str, verb: str) -> Json:
    """Return the equivalent of a ``configs/model`` file for a saved model, which is opened later."""
    kind = kind_of(model)
    frozen = kind.word in file_kinds.FROZEN
    if verb not in ("infer", "evaluate", "export") or (frozen and verb == "export"):
        raise kind.refusal("weights" if frozen else "model")
    row = {"name": kind.path.name, "about": kind.about, "saved": str(kind.path)}
    return row | {"output": None} if frozen else row


def kind_of(model: str) -> file_kinds.FileKind:
    kind = file_kinds.of(existing_input(model, FORM_OF_SAVED).absolute())
    if kind.word not in file_kinds.MODELS + file_kinds.FROZEN:
        raise kind.refusal("model")
    return kind


def read(text: str) -> ModelFile:
    """Read a model file without executing it."""
    path = existing_input(text, FORM).absolute()
    content = _content(path)
    tree = _parse(path, content)
    functions = [node for node in _top_level(tree.body) if node.name == "build"]
    if not functions:
        raise ZooError(f"{path} has no function build", FORM)
    docstring = ast.get_docstring(tree) or ""
    return ModelFile(path, content, docstring.partition("\n")[0][:200], _settings(path, functions[-1]))


def _content(path: Path) -> bytes:
    if not path.is_file():
        raise ZooError(f"{path} is not a file", FORM)
    try:
        with path.open("rb") as source:
            content = source.read(MOST_BYTES + 1)
    except OSError as error:
        raise ZooError(f"{path} cannot be read: {error.strerror or error}", FORM) from error
    if len(content) > MOST_BYTES:
        raise ZooError(f"{path} is longer than {MOST_BYTES:,} bytes", FORM)
    return content


def _parse(path: Path, content: bytes) -> ast.Module:
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(content, path.name)
    except SyntaxError as error:
        where = f", line {error.lineno}" if error.lineno else ""
        shown = f"\n    {error.text.strip()[:200]}" if error.text else ""
        raise ZooError(f"{path}{where} is not Python: {error.msg}{shown}", "Correct the file.") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ZooError(f"{path} is not Python: {error or type(error).__name__}", FORM) from error


def _top_level(body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    """Yield the functions of a module, including those inside ``if`` and ``try``."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node
        for part in ("body", "orelse", "handlers", "finalbody") if isinstance(node, ast.If | ast.Try) else ():
            for inner in getattr(node, part, []):
                yield from _top_level(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])


def _settings(path: Path, build: ast.FunctionDef) -> Json:
    names, defaults = _arguments(build)
    wrong = [f"it lacks the argument {name}" for name in GIVEN if name not in names]
    wrong += [f"its argument {name} has no default" for name in names if name not in {*GIVEN, *defaults}]
    wrong += [f"its argument {name} has a reserved name" for name in defaults if name in FACTS]
    wrong += ["its arguments before / cannot be passed by name"] * bool(build.args.posonlyargs)
    if wrong:
        raise ZooError(f"{path}, line {build.lineno}: build cannot be called: {'; '.join(wrong)}", FORM)
    return {name: value for name, value in _literals(defaults) if name not in GIVEN}


def _arguments(build: ast.FunctionDef) -> tuple[list[str], dict[str, ast.expr]]:
    given = build.args
    plain = [each.arg for each in given.args]
    first = len(plain) - len(given.defaults)
    defaults = dict(zip(plain[first:], given.defaults, strict=True))
    only = {each.arg: node for each, node in zip(given.kwonlyargs, given.kw_defaults, strict=True)}
    return [*plain, *only], defaults | {name: node for name, node in only.items() if node is not None}


def _literals(defaults: Mapping[str, ast.expr]) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of the defaults that are literals, that JSON supports, of at most 1,000 values."""
    for name, node in defaults.items():
        with contextlib.suppress(ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            value = ast.literal_eval(node)
            items = list(value) if isinstance(value, tuple | list) else [value]
            if len(items) <= 1000 and all(isinstance(item, bool | int | float | str | None) for item in items):
                yield name, items if isinstance(value, tuple | list) else value


def place(model: Mapping[str, Any], folder: Path) -> Json:
    """Copy a user's model file into a run folder; return its description for the worker."""
    source = read(str(model["file"]))
    if source.sha256 != model["sha256"]:
        raise ZooError(f"{source.path} was changed while the run was prepared", "Run the same command again.")
    copy = folder / source.path.name
    if copy.absolute() != source.path:
        atomic_write(copy, source.content)
    return {"file": str(copy), "sha256": source.sha256}


def require_same(recorded: object, given: str | None, folder: Path, words: str) -> None:
    """Raise an error if a run was trained with a model file that differs from ``given``.

    A run folder may come from a third party: it determines the expected checksum, but never which file is executed.

    Args:
        recorded: the run's record of its model.
        given: value of ``model=`` on the command line.
        words: how the command names the run, such as ``resume=FOLDER``.
    """
    row = recorded if isinstance(recorded, dict) else {}
    if "sha256" not in row:
        return
    sha256 = str(row["sha256"])[:64]
    copy = folder / Path(str(row.get("name") or "model.py")).name
    own = f"The run's own copy is {copy}: read it before you name it, because it is code that runs with your rights."
    if not is_named(given):
        was = f"; its path was {str(row.get('file'))[:500]}" if row.get("file") else ""
        raise ZooError(
            f"{folder} was trained with a model file, {copy.name}{was}. A model file is code: "
            "it is run only when you name it",
            f"Name it: {words} model=PATH/{copy.name}\n{own}",
        )
    source = read(str(given))
    if source.sha256 != sha256:
        raise ZooError(
            f"{source.path} is not the file that {folder} was trained with: "
            f"its sha256 is {source.sha256}, but the run used {sha256}",
            f"Restore that file, or start a new training.\n{own}",
        )
