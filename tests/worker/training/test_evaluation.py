"""zoo.worker.training.evaluation: every item is predicted once, and mistakes are stored."""

import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo.protocol.request import TargetPart


@pytest.fixture
def module(keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A model is the list of the sizes of its batches; it predicts its input."""
    from zoo.worker.training import evaluation

    def predict(model: list[int], batch: np.ndarray) -> np.ndarray:
        model.append(len(batch))
        return batch

    monkeypatch.setattr("zoo.models.compat.predict", predict)
    return evaluation


def part(rows: np.ndarray, labels: np.ndarray, folder: Path) -> Any:
    from zoo.worker.training import image_batches

    np.save(folder / "rows.npy", rows)
    return image_batches.Part(image_batches.Rows(folder / "rows.npy", np.arange(len(rows))), labels)


def shares(count: int) -> np.ndarray:
    """Probabilities of three classes."""
    return np.array([[0.2, 0.3, 0.5]] * count, np.float32)


def test_every_item_is_judged_in_batches_of_one_size(module: Any, tmp_path: Path) -> None:
    labels, sizes = np.array([2, 1, 2, 0, 2]), []  # type: ignore[var-annotated]
    kept = module.evaluate(sizes, lambda rows: rows[:, ::-1], part(shares(5), labels, tmp_path), 2)
    assert sizes == [2, 2, 2]
    assert kept["label"].tolist() == labels.tolist()
    assert kept["best"][:, 0].tolist() == [0] * 5
    np.testing.assert_allclose(kept["true"], [0.2, 0.3, 0.2, 0.5, 0.2])
    sizes.clear()
    module.evaluate(sizes, lambda rows: rows, part(shares(5), labels, tmp_path), 64)
    assert sizes == [5]


@pytest.mark.parametrize(("count", "expected"), [(5, [2, 3]), (2, [1, 1]), (1, [1, 1])])
def test_processes_share_the_items(module: Any, tmp_path: Path, count: int, expected: list[int]) -> None:
    from zoo.worker import distributed

    class Member(distributed.Group):
        size = 2

        def __init__(self, rank: int) -> None:
            super().__init__()
            self.rank = rank

    both = part(shares(count), np.arange(count) % 3, tmp_path)
    kept = [module.evaluate([], lambda rows: rows, both, 2, Member(rank)) for rank in range(2)]
    # The engine adds these: each process has zeros for the items of the other one.
    assert [np.count_nonzero(each["true"]) for each in kept] == expected
    if count > 1:  # a single item is predicted by both
        assert (kept[0]["label"] + kept[1]["label"]).tolist() == [n % 3 for n in range(count)]


def training(folder: Path, rank: int = 0, target: TargetPart | None = None) -> Any:
    said: list[str] = []
    rows: list[dict[str, Any]] = []
    events = types.SimpleNamespace(emit=lambda event, **fields: rows.append({"event": event, **fields}))
    group = types.SimpleNamespace(rank=rank)
    return types.SimpleNamespace(
        folder=str(folder), target=target, group=group, events=events, warn=said.append, said=said, rows=rows
    )


def judged(*labels: int, none: int = 0) -> dict[str, np.ndarray]:
    """Items of two classes, all predicted as class 0; the last ``none`` have no prediction."""
    count = len(labels)
    return {
        "label": np.array(labels), "best": np.zeros((count, 1), int), "true": np.full(count, 0.5),
        "probability": np.full((count, 1), 0.5), "none": np.arange(count) >= count - none,
    }  # fmt: skip


@pytest.mark.parametrize(("name", "prefix", "words"), [("test", "test_", "testing"), ("validation", "val_", None)])
def test_mistakes_are_stored_and_outputs_that_are_not_numbers_reported(
    module: Any, tmp_path: Path, name: str, prefix: str, words: str | None
) -> None:
    run = training(tmp_path)
    figures = module.keep(run, name, "the part", [], {"the part": judged(0, 1, 0, 0, none=2)}.__getitem__)
    assert figures == {prefix + "loss": pytest.approx(np.log(2)), prefix + "accuracy": 0.75}
    assert run.said == [
        f"The network's outputs for 2 of 4 items for {words or name} are not numbers (NaN); they count as wrong"
    ]
    path = tmp_path / f"judged_{name}.npz"
    assert run.rows == [{"event": "artifact", "kind": "judged", "path": str(path)}]
    with np.load(path) as stored:
        assert set(stored.files) == {"label", "best", "true", "probability"}
        assert stored["label"].tolist() == [0, 1, 0, 0]


def test_only_the_first_process_writes_and_finite_outputs_need_no_warning(module: Any, tmp_path: Path) -> None:
    run = training(tmp_path, rank=1)
    module.keep(run, "test", "the part", [], lambda _: judged(0, 1))
    assert run.said == []
    assert list(tmp_path.iterdir()) == []


def test_thresholds_of_labels_are_chosen_on_the_validation_items(module: Any, tmp_path: Path) -> None:
    def of(predicted: list[float], truth: list[int]) -> dict[str, np.ndarray]:
        columns = np.array([predicted]).T, np.array([truth]).T
        return {"predicted": columns[0], "truth": columns[1], "none": np.zeros(len(truth), bool)}

    known = {"test": of([0.3, 0.6, 0.1], [1, 1, 0]), "validation": of([0.25, 0.05], [1, 0])}
    run = training(tmp_path, target=TargetPart(kind="labels"))
    figures = module.keep(run, "test", "test", "validation", lambda name: dict(known[name]))
    assert figures["test_f1"] == 1.0
    assert np.load(tmp_path / "judged_test.npz")["thresholds"].tolist() == [0.15]
    figures = module.keep(run, "test", "test", [], lambda name: dict(known[name]))
    assert figures["test_f1"] == pytest.approx(2 / 3)
    assert np.load(tmp_path / "judged_test.npz")["thresholds"].tolist() == [0.5]
    run.target = TargetPart(kind="number")
    module.keep(run, "test", "test", "validation", lambda name: dict(known[name]))
    assert "thresholds" not in np.load(tmp_path / "judged_test.npz").files
