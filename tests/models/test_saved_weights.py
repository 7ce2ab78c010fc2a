"""Names of weights from other versions of Keras."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from zoo.models import saved_weights


@pytest.mark.parametrize("kind", ["text", "truncated", "objects", "npy"])
def test_no_damaged_file_gives_the_advice_to_read_pickles(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "weights.npz"
    np.savez(path, a=np.ones(9), b=np.array([{}], object) if kind == "objects" else np.ones(9))
    if kind == "truncated":
        path.write_bytes(path.read_bytes()[:-30])
    elif kind == "text":
        path.write_text("hello")
    elif kind == "npy":
        np.save(tmp_path / "x.npy", np.ones(9))
        path = (tmp_path / "x.npy").rename(path)
    with pytest.raises(ValueError, match=r"is not an \.npz file of numbers, or it is truncated") as error:
        saved_weights.read(str(path))
    assert "pickle" not in str(error.value)
    with pytest.raises(ValueError, match="No such file"):
        saved_weights.read(str(tmp_path / "missing.npz"))


def test_a_damaged_member_is_reported_as_such(tmp_path: Path) -> None:
    path = tmp_path / "weights.npz"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("a.npy", b"\x93NUMPY\x01\x00broken")
    with pytest.raises(ValueError, match="cannot be read"):
        saved_weights.read(str(path))


def test_numbered_weights_get_the_names_of_the_model() -> None:
    """A .keras file numbers the weights of own layers; a network without such numbers stays as it is."""
    wanted = ["conv/kernel", "conv/bias", "block/att/scale", "block/att/shift"]
    stored = {"conv/kernel": 0, "conv/bias": 1, "block/att/0": 2, "block/att/1": 3}
    assert saved_weights.renamed(stored, wanted) == dict(zip(wanted, range(4), strict=True))
    surplus = {**stored, "block/att/2": 4, "other/0": 5}
    assert set(saved_weights.renamed(surplus, wanted)) == {*wanted, "block/att/2", "other/0"}
    assert saved_weights.renamed(stored, [*stored]) == stored
