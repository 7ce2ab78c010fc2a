"""Networks are cut off behind a layer on real stacks, and trained ones give their features."""

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.support import trainings
from tests.support.conformance import Answers
from tests.support.questions import STACKS
from zoo.cli.main import main

pytestmark = pytest.mark.stacks


@pytest.mark.parametrize("stack", STACKS["features"])
def test_networks_are_cut_off_behind_a_layer(conformance: Answers, stack: str) -> None:
    answers = conformance.of(stack, "features")
    refused = answers.pop("refused")
    mobilenet = answers.pop("mobilenet")
    assert mobilenet["shape"] == [2, 256]
    names = {case: row["name"] for case, row in answers.items()}
    assert names == {"usual": "pool", "named": "conv", "nested": names["nested"], "nested, named": "conv",
                     "headless": "conv"}  # fmt: skip
    assert max(row["difference"] for row in answers.values()) < 1e-5
    assert "the model has no layer 'covn' (output.layer); did you mean 'conv'?" in refused[0]
    assert "its layers are outer, same, " in refused[1]
    assert "is used in several places" in refused[2]


def test_features_of_a_run_are_the_same_on_every_stack(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    trained = trainings.short(tmp_path_factory.getbasetemp(), "tf-1.8")
    words = ["infer", f"run={trained}", "input=test", "output=features", f"output.root={tmp_path}"]
    rows = {}
    for stack in ("tf-1.8", "torch"):
        assert main([*words, *trainings.ready(stack), f"output.name={stack}"]) == 0
        rows[stack] = np.load(tmp_path / stack / "features.npy")
        with (tmp_path / stack / "features.csv").open(newline="") as source:
            names = list(csv.DictReader(source))
        assert [row["row"] for row in names] == [str(number) for number in range(len(rows[stack]))]
        assert names[-1]["input"] == f"test[{len(names) - 1}]"
        assert not (tmp_path / stack / "probabilities.npy").exists()
    assert rows["torch"].shape == (359, trainings.record(tmp_path / "torch")["features"]["shape"][0])
    assert np.abs(rows["torch"] - rows["tf-1.8"]).max() < 1e-4
    evaluation = ["evaluate", f"run={trained}", f"output.root={tmp_path}"]
    assert main([*evaluation, *trainings.ready("torch"), "output.name=e"]) == 0
    figures = [trainings.record(folder)["metrics"]["test_accuracy"] for folder in (trained, tmp_path / "e")]
    assert figures[0] == pytest.approx(figures[1])
