"""The jobs that train and ask models, with a model of plain numpy in place of Keras."""

import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import parts
from zoo.protocol.events import EVENTS
from zoo.protocol.request import (
    FineTunePart,
    FreezePart,
    ImageData,
    InferPart,
    ItemData,
    ModelPart,
    TextData,
    TokenData,
)

CLASSES = 3
AUGMENT = parts.augmentation(flip=True, randaugment=1, mixup=0.2)
FREEZE = FreezePart(before=None, after=0.5)


class Model:
    """Says the same of every item; counts the items that it was trained on."""

    layers = (types.SimpleNamespace(name="dense", weights=[1]),)

    def __init__(self) -> None:
        self.trained = 0

    def get_weights(self) -> list[np.ndarray]:
        return [np.array([float(self.trained)], np.float32)]

    def set_weights(self, arrays: list[np.ndarray]) -> None:
        self.trained = int(arrays[0][0])

    def count_params(self) -> int:
        return 1


def train_classifier(model: Model, x: np.ndarray, y: np.ndarray, *_weights: np.ndarray) -> tuple[float, float, int]:
    """Count what is trained on."""
    assert len(x) == len(y)
    model.trained += len(x)
    return 1.0, 0.5, len(x)


class Events:
    """Keeps what is reported."""

    def __init__(self) -> None:
        self.emitted: list[tuple[str, dict[str, Any]]] = []

    def emit(self, event: str, **fields: Any) -> None:
        EVENTS[event](**fields)
        self.emitted.append((event, fields))

    def step(self, **fields: Any) -> None: ...

    def artifacts(self) -> list[str]:
        return [fields["kind"] for event, fields in self.emitted if event == "artifact"]


def predict(_model: Model, batch: np.ndarray) -> np.ndarray:
    shape = (len(batch), CLASSES) if batch.ndim != 2 or batch.dtype != np.int32 else (*batch.shape, CLASSES)
    return np.full(shape, [0.2, 0.5, 0.3], np.float32)


@pytest.fixture
def compat(keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    from zoo.models import compat
    from zoo.models.compat import training_state

    nothing = lambda *_args, **_named: None  # noqa: E731
    for name in ("seed", "set_precision", "compile_classifier", "set_learning_rate"):
        monkeypatch.setattr(compat, name, nothing)
    monkeypatch.setattr(compat, "train_classifier", train_classifier)
    monkeypatch.setattr(compat, "predict", predict)
    monkeypatch.setattr(compat, "freeze", lambda model, _names: model)
    monkeypatch.setattr(compat, "backend_name", lambda: "tensorflow")
    monkeypatch.setattr(compat, "named_weights", lambda _model: [("dense/bias", (1,))])
    monkeypatch.setattr(compat, "initial_deviations", lambda _model: {})
    monkeypatch.setattr(compat, "save", lambda _model, path: Path(path).write_text("model"))
    monkeypatch.setattr(training_state, "capture", lambda model, _trained: {"weights/0": model.get_weights()[0]})
    return compat


def run(job: Any, monkeypatch: pytest.MonkeyPatch, folder: Path, **given: Any) -> tuple[dict[str, Any], Events]:
    """Let a job do a request; returns the fields of the ``done`` event and what was reported."""
    model, events, stop = Model(), Events(), types.SimpleNamespace(asked=False, reason="interrupted")
    for module in (job, getattr(job, "setup", None)):
        for name in ("build", "build_trained"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, lambda _request: (model, lambda x: np.asarray(x, np.float32)))
    train = parts.text_training(epochs=2, learning_rate=0.1, batch_size=4, optimizer="sgd", clip=None, steps=2)
    request = parts.request(run_dir=str(folder), train=train, **given)
    return job.run(request, events, stop, {}), events


def pictures(folder: Path, count: int = 10) -> ImageData:
    random = np.random.default_rng(0)
    np.save(folder / "x.npy", random.integers(0, 256, (count, 2, 2, 1)).astype(np.uint8))
    np.save(folder / "y.npy", np.arange(count) % CLASSES)
    np.savez(folder / "split.npz", train=np.arange(6), validation=np.arange(6, count), test=np.arange(count))
    x, y = str(folder / "x.npy"), str(folder / "y.npy")
    return ImageData(x_train=x, y_train=y, x_test=x, y_test=y, split=str(folder / "split.npz"),
                     classes=CLASSES, balance=True, augment=AUGMENT)  # fmt: skip


def texts(folder: Path) -> TextData:
    np.save(folder / "tokens.npy", np.arange(2, 42).astype(np.uint16))
    np.save(folder / "offsets.npy", np.arange(0, 41, 4))
    np.save(folder / "labels.npy", np.arange(10) % CLASSES)
    np.savez(folder / "split.npz", train=np.arange(6), validation=np.arange(6, 8), test=np.arange(8, 10))
    paths = {name: str(folder / f"{name}.npy") for name in ("tokens", "offsets", "labels")}
    return TextData(**paths, split=str(folder / "split.npz"))


def test_a_classifier_of_pictures_is_trained_judged_and_saved(
    compat: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zoo.worker.jobs import train_image_classifier as job

    done, events = run(job, monkeypatch, tmp_path, data=pictures(tmp_path), fine_tune=None,
                       freeze=FREEZE, model=ModelPart(name="mnist", args={}))  # fmt: skip
    assert done["stopped"] is None
    assert done["metrics"].keys() >= {
        "best_epoch",
        "val_accuracy",
        "test_accuracy",
        "test_loss",
        "epochs",
        "precision",
    }
    assert done["metrics"]["test_accuracy"] == pytest.approx(0.3)
    assert events.artifacts() == ["judged", "weights", "model"]
    assert (tmp_path / "weights.npz").is_file()


def test_the_epochs_of_a_staged_training_name_their_stage(
    compat: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zoo.worker.jobs import train_image_classifier as job

    features = types.SimpleNamespace(
        name_of=lambda _model: "dense",
        split_at_head=lambda model: (model, model, "dense"),
        features=lambda _trunk, _preprocess, part, *_rest: part,
    )
    monkeypatch.setattr(job, "feature_extraction", features)
    monkeypatch.setattr(compat, "batch_norm_names", lambda _model: [])
    plan = FineTunePart(
        head_epochs=3,
        head_learning_rate=0.5,
        probe=0,
        unfreeze_from=None,
        unfreeze_share=None,
        freeze_normalization=True,
    )
    _, events = run(job, monkeypatch, tmp_path, data=pictures(tmp_path), fine_tune=plan,
                    freeze=FREEZE, model=ModelPart(name="mnist", args={}))  # fmt: skip
    epochs = [fields for event, fields in events.emitted if event == "epoch"]
    assert [(row["epoch"], row["stage"]) for row in epochs] == [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2)]
    stages = [fields for event, fields in events.emitted if event == "stage"]
    assert [(row["stage"], row["epoch"], row["learning_rate"]) for row in stages] == [(1, 1, 0.5), (2, 4, 0.1)]


def test_a_classifier_of_texts_is_trained_judged_and_saved(
    compat: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zoo.worker.jobs import train_text_classifier as job
    from zoo.worker.training import labelled_texts, setup

    monkeypatch.setattr(job, "setup", setup, raising=False)
    answers = lambda model, batches, size, stop=None: (np.full((len(b), CLASSES), 1 / 3, np.float32) for b in batches)  # noqa: E731
    monkeypatch.setattr(labelled_texts, "predict_batches", answers)
    model = ModelPart(name="transformer/classifier", args={"length": 3, "classes": CLASSES})
    done, events = run(job, monkeypatch, tmp_path, data=texts(tmp_path), model=model)
    assert model.args["fixed"] is False
    assert done["metrics"].keys() >= {"val_loss", "val_accuracy", "test_loss", "test_accuracy", "parameters"}
    assert events.artifacts() == ["judged", "weights", "model"]
    with np.load(tmp_path / "judged_test.npz") as judged:
        assert set(judged.files) == {"label", "best", "probability", "true"}


def test_a_language_model_is_trained_and_saved(compat: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from zoo.worker.jobs import train_language_model as job
    from zoo.worker.training import setup

    monkeypatch.setattr(job, "setup", setup, raising=False)
    np.save(tmp_path / "text.npy", np.tile([0, 1, 2], 20).astype(np.uint16))
    data = TokenData(tokens=str(tmp_path / "text.npy"), parts={"train": [0, 40], "validation": [40, 60]})
    model = ModelPart(name="transformer/lm", args={"length": 4, "vocabulary": CLASSES})
    done, events = run(job, monkeypatch, tmp_path, data=data, model=model)
    loss = -(6 * np.log(0.2) + 6 * np.log(0.3) + 7 * np.log(0.5)) / 19
    assert done["metrics"]["val_loss"] == pytest.approx(loss, abs=0.05)
    assert done["metrics"]["val_perplexity"] == pytest.approx(np.exp(done["metrics"]["val_loss"]))
    assert events.artifacts() == ["weights", "model"]


def test_pictures_are_predicted(compat: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from zoo.worker.jobs import predict as job

    data = pictures(tmp_path)
    done, events = run(job, monkeypatch, tmp_path, data=ItemData(x=data.x_train, labels=data.y_train),
                       infer=InferPart(batch_size=4), model=ModelPart(name="mnist", args={}))  # fmt: skip
    assert np.load(tmp_path / "probabilities.npy").shape == (10, CLASSES)
    assert done["metrics"]["test_accuracy"] == pytest.approx(0.3)
    assert events.artifacts() == ["probabilities"]
