"""zoo.weights.sandbox: a reader that hangs or crashes is an error, not the end."""

from pathlib import Path

import pytest

from tests.support.weight_samples import drawn
from zoo.core.errors import ZooError
from zoo.weights import io as weights_io


def refusal(path: Path) -> str:
    with pytest.raises(ZooError) as caught:
        weights_io.read(path)
    assert str(path) in caught.value.message
    return caught.value.message


def test_a_file_on_which_the_library_hangs_comes_to_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights_io.write(tmp_path / "w.h5", drawn())
    monkeypatch.setattr("zoo.weights.sandbox._CODE", "import time; time.sleep(60)")
    monkeypatch.setattr("zoo.weights.sandbox.SECONDS", 0.5)
    assert "did not get to its end" in refusal(tmp_path / "w.h5")
    monkeypatch.setattr("zoo.weights.sandbox._CODE", "import os; os.abort()")
    monkeypatch.setattr("zoo.weights.sandbox.SECONDS", 20)
    assert "broke down" in refusal(tmp_path / "w.h5")
