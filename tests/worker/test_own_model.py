"""Building a model from a file of the user's own: whatever it does becomes an error that names its line."""

import hashlib
import importlib
import os
import types
from pathlib import Path
from typing import Any

import pytest

from zoo.protocol.request import ModelPart


class Model:
    """What the stub of Keras calls a model."""

    def __init__(self, outputs: tuple[int | None, ...] = (None, 10), activation: str = "softmax") -> None:
        self.name, self.inputs = "model", [types.SimpleNamespace(shape=(None, 8, 8, 1))]
        self.outputs = [types.SimpleNamespace(shape=outputs)]
        called = types.SimpleNamespace(__name__=activation)
        self.layers = [types.SimpleNamespace(name="last", activation=called, weights=[])]


@pytest.fixture
def build(keras: types.ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The worker's function, given the text of a file."""
    keras.__dict__.update(
        models=types.SimpleNamespace(Model=Model), backend=types.SimpleNamespace(backend=lambda: "tensorflow"),
        Model=Model, activations=None,
    )  # fmt: skip
    own_model = importlib.import_module("zoo.worker.own_model")
    monkeypatch.setattr(own_model.compat, "prepare_for_foreign_code", lambda: None)

    def run(text: str, sha256: str | None = None, **arguments: Any) -> Any:
        path = tmp_path / "mine.py"
        path.write_text(text)
        arguments = {"input_shape": [8, 8, 1], "classes": 10, **arguments}
        sha256 = sha256 or hashlib.sha256(path.read_bytes()).hexdigest()
        return own_model.build(ModelPart(name="mine", file=str(path), sha256=sha256, args=arguments))

    return run


def built(body: str) -> str:
    return f"import keras\ndef build(input_shape, classes, sizes=(1,)):\n{body}\n"


def test_a_model_is_built_with_tuples_where_json_has_lists(build: Any) -> None:
    text = built("    assert type(input_shape) is type(sizes) is tuple\n    return keras.Model()")
    assert build(text, sizes=[2, 3]).name == "model"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = (", "mine.py, line 1 is not Python"),
        ("import nothing_of_this_name", "ModuleNotFoundError: .* not other files of its folder"),
        ("import sys\nsys.exit(3)", "mine.py, line 2, in <module>: SystemExit: 3"),
        ("x = 1", "has no function build"),
        (built("    return 1 / 0"), "mine.py, line 3, in build: ZeroDivisionError"),
        (built("    return keras.layers"), "returned an object of type SimpleNamespace, not a Keras model"),
        (built("    keras.Model()"), "returned nothing, not a Keras model"),
        (built("    return keras.Model((None, 7))"), r"ends in \(None, 7\); this data needs \(None, 10\)"),
        (built("    return keras.Model((None, 4, 10))"), r"ends in \(None, 4, 10\)"),
        (built("    import os\n    os.fork()"), "starts another process with os.fork"),
        (built("    raise ValueError('x' * 10**6)"), "mine.py, line 3, in build: ValueError: x+ ...$"),
        (built("    raise SystemExit"), "mine.py, line 3, in build: SystemExit"),
        (built("    f = lambda: f()\n    f()"), "mine.py, line 3, in <lambda>: RecursionError"),
    ],
)
def test_what_a_file_does_becomes_an_error(build: Any, text: str, words: str) -> None:
    with pytest.raises(Exception, match=words) as caught:
        build(text)
    assert type(caught.value).__name__ == "UserError"
    assert len(str(caught.value)) < 2500


@pytest.mark.parametrize("before", ["softmax", "sigmoid", "linear"])
def test_an_activation_that_makes_float32_of_what_is_before_it_does_not_count(build: Any, before: str) -> None:
    own_model = importlib.import_module("zoo.worker.own_model")
    model = Model(activation=before)
    last = type("Activation", (), {"name": "float32", "activation": types.SimpleNamespace(__name__="linear")})
    model.layers.append(last())
    assert own_model.activation_of(model) == before


@pytest.mark.parametrize(("kind", "symbol"), [("Softmax", None), ("TFOpLambda", "nn.softmax"), ("Sigmoid", None)])
def test_an_activation_that_is_an_operation_counts(build: Any, kind: str, symbol: str | None) -> None:
    own_model = importlib.import_module("zoo.worker.own_model")
    model = Model(activation="linear")
    last = type(kind, (), {"symbol": symbol} if symbol else {})()
    model.operations = [*model.layers, last]
    assert own_model.activation_of(model) == (symbol or kind).rpartition(".")[2].lower()


def test_a_file_that_forks_past_the_guard_leaves_no_second_worker(build: Any) -> None:
    real, before = os.fork, os.getpid()
    build(built("    import posix\n    posix.fork()\n    return keras.Model()"))
    assert (os.fork, os.getpid()) == (real, before)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 1


def test_another_content_than_was_named_is_not_run(build: Any, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="its sha256 is different from the original's"):
        build(f"open({str(tmp_path / 'ran')!r}, 'w')", sha256="0" * 64)
    assert not (tmp_path / "ran").exists()
