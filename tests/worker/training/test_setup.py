"""zoo.worker.training.setup: text models are built, filled and compiled as the request says."""

import types
from typing import Any

import pytest

from tests.support import parts
from zoo.protocol.request import ModelPart, TargetPart


class Model(types.SimpleNamespace):
    """A model that notes what happens to it."""


@pytest.fixture
def module(keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, with a builder; ``happened`` lists calls in their order."""
    from zoo.worker import devices, precision
    from zoo.worker.training import setup

    happened: list[Any] = []
    setup.happened, setup.last, setup.error = happened, None, None  # type: ignore[attr-defined]

    def build(request: Any) -> tuple[Model, str]:
        happened.append(("build", dict(request.model.args)))
        if setup.error:  # type: ignore[attr-defined]
            raise setup.error  # type: ignore[attr-defined]
        return Model(name="model"), "preprocess"

    def load_but_head(model: Model, path: str) -> str | None:
        happened.append(("load but head", model.name, path))
        return setup.last  # type: ignore[attr-defined, no-any-return]

    monkeypatch.setattr(setup, "build", build)
    monkeypatch.setattr(setup.weights, "load_but_head", load_but_head)
    monkeypatch.setattr(setup.weights, "load", lambda model, path: happened.append(("load", model.name, path)))
    monkeypatch.setattr(setup.weights, "initialise", lambda model, seed: happened.append(("draw", model.name, seed)))
    monkeypatch.setattr(setup.endings, "in_unit", lambda model, target: (model.name, target))
    monkeypatch.setattr(setup.compat, "set_precision", lambda name: happened.append(("precision", name)))
    monkeypatch.setattr(setup.compat, "seed", lambda number: happened.append(("seed", number)))
    monkeypatch.setattr(
        setup.compat, "compile_classifier",
        lambda model, *settings, **more: happened.append(("compile", model.name, settings, more)),
    )  # fmt: skip
    monkeypatch.setattr(devices, "capabilities", lambda *_: {"any_length": True, "bfloat16_gains": ()})
    monkeypatch.setattr(precision, "policy", lambda *words: "/".join(words))
    return setup


def run(module: Any, weights: str | None = None, target: TargetPart | None = None, **settings: Any) -> Any:
    from zoo.worker.phases import timed

    said: list[str] = []
    request = parts.request(
        train=parts.text_training(**settings),
        weights=weights,
        model=ModelPart(name="transformer/lm", args={"units": 3}),
    )
    phases: dict[str, float] = {}
    return types.SimpleNamespace(
        request=request, settings=request.train, target=target, warn=said.append, said=said, phases=phases,
        timed=lambda name: timed(phases, name), report_network=lambda model: said.append(f"network {model.name}"),
    )  # fmt: skip


def test_a_model_is_drawn_and_compiled_before_weights_are_loaded(module: Any) -> None:
    training = run(module, "w.npz", seed=5, learning_rate=0.25, clip=2.0, beta_2=0.75, weight_decay=0.5)
    model = module.build_and_compile(training)
    more = {"clip": 2.0, "beta_2": 0.75, "weight_decay": 0.5}
    assert module.happened == [
        ("precision", "float32/cpu/transformer/lm"), ("seed", 5), ("build", {"units": 3, "fixed": False}),
        ("draw", "model", 5), ("compile", "model", ("adam", 0.25, False, "categorical_crossentropy"), more),
        ("load but head", "model", "w.npz"),
    ]  # fmt: skip
    assert (model.name, training.settings.precision) == ("model", "float32/cpu/transformer/lm")
    assert training.said == ["network model"]
    assert list(training.phases) == ["build_s"]


@pytest.mark.parametrize("last", [None, "probabilities"])
def test_a_last_layer_without_weights_is_reported(module: Any, last: str | None) -> None:
    module.last = last
    training = run(module, "w.npz")
    module.load_weights(training, Model(name="m"))
    warning = f"The last layer, {last}, starts untrained: the weights are for other classes"
    assert training.said == [warning, "network m"][last is None :]
    without = run(module)
    module.happened.clear()
    module.load_weights(without, Model(name="m"))
    assert (without.said, module.happened) == (["network m"], [])


def test_what_a_model_refuses_is_a_message_for_the_user(module: Any) -> None:
    module.error = ValueError("float64 is only for comparisons")
    with pytest.raises(Exception, match="float64 is only for comparisons") as caught:
        module.build_and_compile(run(module))
    assert type(caught.value).__name__ == "UserError"


@pytest.mark.parametrize(
    ("wanted", "before", "expected"),
    [("auto", None, "auto"), ("auto", "mixed_bfloat16", "mixed_bfloat16"), ("float32", "mixed_bfloat16", "float32")],
)
def test_a_resumed_run_keeps_the_precision_that_was_chosen(
    module: Any, monkeypatch: pytest.MonkeyPatch, wanted: str, before: str | None, expected: str
) -> None:
    monkeypatch.setattr(module, "precision_before", lambda _run: before)
    assert module.settled_precision(run(module, precision=wanted)) == f"{expected}/cpu/transformer/lm"


def test_a_trained_model_is_filled_and_answers_in_the_unit_of_its_target(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.devices, "capabilities", lambda *_: {"any_length": False})
    target = TargetPart(kind="number", scale=2.0)
    request = parts.request(weights="w.npz", model=ModelPart(name="transformer/classifier", args={}, target=target))
    assert module.build_trained_for_texts(request) == ("model", target)
    assert module.happened == [("build", {"fixed": True}), ("load", "model", "w.npz")]
    module.happened.clear()
    request = parts.request(model=ModelPart(name="transformer/classifier", args={}))
    assert module.build_trained_for_texts(request) == ("model", None)
    assert module.happened == [("build", {"fixed": True})]
