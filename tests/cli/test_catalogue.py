"""The tables of `zoo list`."""

import json

import pytest

from zoo.cli.main import main


def test_recipes_are_one_table_of_models_and_backends(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "recipes", "--json"]) == 0
    rows = {row["model"]: row for row in json.loads(capsys.readouterr().out)["recipes"]}
    assert set(rows["mnist"]) == {"model", "cpu", "cuda", "cuda-mac", "jax", "metal", "mlx", "mps", "plaidml"}
    assert rows["mobilenet"]["metal"].startswith("stand-in: tensorflow 2.19.1, keras 3.6.0, ")
    assert rows["mobilenet_v2"]["metal"].startswith("stand-in: tensorflow 2.19.1, keras 3.6.0, ")
    assert rows["mnist_conv5"]["cuda-mac"].startswith("stand-in: tensorflow 1.8.0, keras 2.1.5-tf, ")
    assert rows["mnist"]["cuda"].startswith("linked: torch ")
    assert rows["mnist_dense"]["cuda-mac"].startswith("stand-in: tensorflow 1.8.0, keras 2.1.5-tf, ")


def test_the_list_of_everything_fits_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("models (")
    assert lines[-1].startswith("`python -m zoo list models`")
