"""zoo.tasks.image_classification.photo_stream: images decoded beside the network that looks at them."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from zoo.data.images import decode
from zoo.tasks.image_classification.photo_stream import PhotoStream


def test_every_core_decodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 20 cores all decode at the same time: each waits for the others."""
    together = threading.Barrier(20)

    def decoded(*_: object) -> tuple[object, None]:
        together.wait(20)
        return np.zeros((2, 2, 3), np.uint8), None

    monkeypatch.setattr(os, "cpu_count", lambda: 20)
    monkeypatch.setattr(decode, "read_with_thumb", decoded)
    names = [(str(number), Path(str(number))) for number in range(40)]
    stream = PhotoStream(names, (2, 2), 1, "stretch", 0, lambda *_: None, lambda _: None)
    assert stream.prime()
    stream.close()
