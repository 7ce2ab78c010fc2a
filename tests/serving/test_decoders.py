"""zoo.serving.decoders: what the processes for pictures do with a file."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from zoo.data.images import decode
from zoo.serving import decoders


def png(width: int, height: int, mode: str = "RGB", color: Any = (10, 20, 30)) -> bytes:
    out = io.BytesIO()
    Image.new(mode, (width, height), color).save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(decode, "MOST_PIXELS", decode.MOST_PIXELS)

    def asked(question: dict[str, Any], content: bytes) -> Any:
        answer, more = decoders._answered({"most_pixels": 10_000} | question, content, tmp_path / "picture")
        if "shape" in answer:
            return np.frombuffer(more, np.uint8).reshape(answer["shape"])
        return answer

    return asked


def test_a_photo_has_the_size_of_the_network(ask: Any) -> None:
    pixels = ask({"op": "photo", "size": [4, 6], "resize": "stretch"}, png(20, 10))
    assert pixels.shape == (4, 6, 3)
    assert (pixels == [10, 20, 30]).all()


def test_a_grey_picture_has_one_channel(ask: Any) -> None:
    pixels = ask({"op": "grey", "size": [4, 6], "style": "plain"}, png(6, 4, "L", 200))
    assert pixels.shape == (4, 6, 1)


@pytest.mark.parametrize(("size", "expected"), [((40, 20), (8, 16, 3)), ((10, 12), (12, 10, 3)),
                                                ((16, 4), (4, 16, 3))])  # fmt: skip
def test_a_whole_picture_is_reduced_to_its_longer_side(
    ask: Any, size: tuple[int, int], expected: tuple[int, ...]
) -> None:
    assert ask({"op": "whole", "side": 16}, png(*size)).shape == expected


def test_what_cannot_be_used_is_a_problem(ask: Any) -> None:
    assert "problem" in ask({"op": "whole", "side": 16}, b"no picture")
    assert "pixels" in ask({"op": "whole", "side": 16, "most_pixels": 99}, png(10, 10))["problem"]
    assert ask({"op": "whole", "side": 16, "most_pixels": 100}, png(10, 10)).shape == (10, 10, 3)
    assert "problem" in ask({"op": "grey", "size": [4, 6], "style": "plain"}, b"no picture")


def test_memory_that_runs_out_is_a_problem(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setitem(decoders.OPERATIONS, "whole", exhausted)
    assert ask({"op": "whole"}, b"") == {"problem": "it takes too much memory"}


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_pixels_are_encoded(tmp_path: Path, kind: str) -> None:
    pixels = np.full((4, 6, 3), 100, np.uint8)
    question = {"op": "encode", "shape": pixels.shape, "kind": kind}
    answer, content = decoders._answered(question, pixels.tobytes(), tmp_path / "x")
    image = Image.open(io.BytesIO(content))
    assert (answer, image.format, image.size) == ({}, kind, (6, 4))
    assert np.abs(np.array(image).astype(int) - 100).max() <= 2
