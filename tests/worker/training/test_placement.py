"""Where the items of a training lie: the same batches from the device as from the host."""

import types
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.support import parts
from zoo.protocol.request import ImageData, TokenData

ITEMS = 22


class Device:
    """A module of a framework whose device is a GPU with so much memory; its arrays are numpy's."""

    CAPABILITIES: ClassVar = {"copies_ahead": True}

    def __init__(self, memory: int | None = 1 << 20) -> None:
        self.memory, self.copied = memory, 0

    def memory_bytes(self) -> int | None:
        return self.memory

    def put(self, array: np.ndarray) -> np.ndarray:
        self.copied += array.nbytes
        return array.copy()

    def take(self, kept: np.ndarray, places: np.ndarray) -> np.ndarray:
        return kept[places]


@pytest.fixture
def worker(keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The modules of the worker; ``frameworks`` are those that there are."""
    from zoo.worker import devices
    from zoo.worker.errors import UserError
    from zoo.worker.jobs import train_language_model
    from zoo.worker.training import image_batches, placement

    frameworks: dict[str, Any] = {"torch": Device(), "tensorflow": types.SimpleNamespace(CAPABILITIES={})}
    monkeypatch.setattr(devices, "load", frameworks.__getitem__)
    return types.SimpleNamespace(
        images=image_batches, text=train_language_model, placement=placement, frameworks=frameworks, error=UserError
    )


def run(wanted: str, kind: str = "gpu", framework: str = "torch", processes: int = 1) -> Any:
    """A training as the modules see it."""
    data = TokenData(tokens="", parts={}, placement=wanted)
    request = parts.request(data=data, device=parts.device(kind, framework=framework))
    return types.SimpleNamespace(request=request, group=types.SimpleNamespace(size=processes))


def images(worker: Any, folder: Path, **options: Any) -> Any:
    """Batches of five of 22 images, with weights by class."""
    random = np.random.RandomState(0)
    arrays = {"x": random.randint(0, 256, (ITEMS, 2, 2, 1)).astype(np.uint8), "y": random.randint(0, 3, ITEMS)}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    np.savez(folder / "split.npz", train=np.arange(20, -1, -1), validation=np.array([21]), test=np.array([0]))
    x, y = str(folder / "x.npy"), str(folder / "y.npy")
    data = ImageData(x_train=x, y_train=y, x_test=x, y_test=y, split=str(folder / "split.npz"), classes=3,
                     balance=True, augment=parts.augmentation())  # fmt: skip
    settings = parts.training(batch_size=5, label_smoothing=0.1)
    each = worker.images.parts(data)
    return worker.images.ImageBatches(each, lambda rows: rows / np.float32(255) - 1, settings, 3, **options)


def windows(worker: Any, folder: Path) -> Any:
    """Batches of four windows of a text of 200 tokens."""
    from zoo.worker.training.text_batches import TokenRange

    np.save(folder / "tokens.npy", np.random.RandomState(1).randint(0, 9, 200).astype(np.uint16))
    each = {name: TokenRange(str(folder / "tokens.npy"), *ends)
            for name, ends in {"train": (10, 180), "validation": (180, 200)}.items()}  # fmt: skip
    settings = parts.text_training(batch_size=4, steps=6, label_smoothing=0.1)
    return worker.text.WindowBatches(each, 8, 9, settings)


def content(batches: Any, epoch: int) -> list[list[tuple[bytes, Any]]]:
    return [[(array.tobytes(), array.dtype) for array in batch] for batch in batches.batches(epoch)]


@pytest.mark.parametrize("source", [images, windows])
def test_batches_from_the_device_are_those_of_the_host_to_the_bit(worker: Any, tmp_path: Path, source: Any) -> None:
    host, device = source(worker, tmp_path), source(worker, tmp_path)
    device.place(run("auto"))
    assert device.on_device
    assert not host.on_device
    for epoch in (1, 2):
        assert content(device, epoch) == content(host, epoch)
    fed = list(worker.placement.feed(device, 1, 2, run("auto")))
    assert len(fed) == device.steps(1) - 2
    assert fed[0][0].tobytes() == content(host, 1)[2][0][0]


def test_on_a_processor_items_stay_on_the_host_unless_the_user_says_so(worker: Any, tmp_path: Path) -> None:
    assert not windows(worker, tmp_path).on_device
    for wanted, on_device in (("auto", False), ("host", False), ("device", True)):
        batches = windows(worker, tmp_path)
        batches.place(run(wanted, kind="cpu"))
        assert bool(batches.on_device) is on_device
    batches = windows(worker, tmp_path)
    batches.place(run("host"))
    assert not batches.on_device


@pytest.mark.parametrize(
    ("running", "memory", "why"),
    [
        ({}, 4000, r"the items take 0\.00 GB, more than a quarter of the device's 0\.00 GB"),
        ({"processes": 2}, 1 << 20, "2 processes share each batch"),
        ({"framework": "tensorflow"}, 1 << 20, "only PyTorch, JAX and MLX"),
    ],
)
def test_what_cannot_be_on_the_device_is_said_where_it_is_wanted(
    worker: Any, tmp_path: Path, running: dict[str, Any], memory: int, why: str
) -> None:
    worker.frameworks["torch"].memory = memory
    batches = windows(worker, tmp_path)  # 170 tokens of four bytes, and 9 x 9 labels
    batches.place(run("auto", **running))
    assert not batches.on_device
    with pytest.raises(worker.error, match=why):
        batches.place(run("device", **running))


def test_exactly_a_quarter_of_the_memory_is_taken_and_an_unknown_one_is_no_limit(worker: Any, tmp_path: Path) -> None:
    size = 4 * (170 + 81)
    for memory, fits in ((4 * size, True), (4 * size - 1, False), (None, True)):
        worker.frameworks["torch"].memory = memory
        batches = windows(worker, tmp_path)
        batches.place(run("auto"))
        assert bool(batches.on_device) is fits


def test_altered_images_stay_on_the_host(worker: Any, tmp_path: Path) -> None:
    for options in ({"augment": lambda rows, *_: rows}, {"mixup": 0.2}):
        assert not images(worker, tmp_path, **options).place(run("auto")).on_device
        with pytest.raises(worker.error, match="images are altered on the host"):
            images(worker, tmp_path, **options).place(run("device"))


def test_batches_of_the_host_are_copied_to_a_gpu_ahead_and_nowhere_else(worker: Any, tmp_path: Path) -> None:
    batches, device = windows(worker, tmp_path), worker.frameworks["torch"]
    expected = content(batches, 1)
    for running, copied in (
        (run("host"), True), (run("host", kind="cpu"), False), (run("host", processes=2), False),
        (run("host", framework="tensorflow"), False),
    ):  # fmt: skip
        device.copied = 0
        fed = [[(array.tobytes(), array.dtype) for array in batch]
               for batch in worker.placement.feed(batches, 1, 0, running)]  # fmt: skip
        assert fed == expected
        assert bool(device.copied) is copied
