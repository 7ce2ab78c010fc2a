"""Several labels and numbers on real stacks: trained, resumed, predicted and exported."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.support import real_stacks
from tests.support.trainings import record
from zoo.cli.main import main

pytestmark = pytest.mark.stacks
COUNT = 160


def lay(folder: Path, shift: int) -> None:
    """Write images whose three channels are labels, and whose brightness is a number."""
    random, lines = np.random.default_rng(5), ["image,red,green,blue,light"]
    (folder / "images").mkdir(parents=True)
    for number in range(COUNT):
        flags, light = random.random(3) < (0.5, 0.4, 0.25), int(random.integers(20, 100))
        pixels = light + random.integers(0, 10, (12, 12, 3)) + shift * flags
        Image.fromarray(pixels.astype(np.uint8)).save(folder / "images" / f"{number}.png")
        lines.append(f"{number},{','.join(str(int(each)) for each in flags)},{light * 1000.5}")
    (folder / "t.csv").write_text("\n".join(lines))


@pytest.mark.parametrize("stack", ["tf-2.21", "torch", "tf-1.8"])
@pytest.mark.parametrize("kind", ["labels", "number"])
def test_a_network_learns_a_target(stack: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    real_stacks.environment(stack)
    lay(tmp_path / "data", 120 if kind == "labels" else 0)
    column = "red,green,blue" if kind == "labels" else "light"
    data = [
        "data=image_table",
        f"data.root={tmp_path / 'data' / 't.csv'}",
        f"data.label_column={column}",
        "data.size=12",
    ]
    words = [f"data.target={kind}", "model=mnist_dense", "backend=cpu", f"stack={stack}", f"output.root={tmp_path}"]
    trainer = [
        "trainer.batch_size=16",
        "trainer.learning_rate=0.003",
        "model.dropout=0.1",
        "trainer.schedule=constant",
        "trainer.warmup=0",
    ]
    assert main(["train", *data, *words, *trainer, "trainer.epochs=30", "output.name=whole"]) == 0
    metrics = record(tmp_path / "whole")["metrics"]
    assert metrics["test_f1"] > 0.9 if kind == "labels" else metrics["test_r2"] > 0.8
    assert "structure of `inputs`" not in (tmp_path / "whole" / "worker.log").read_text()
    assert main(["train", *data, *words, *trainer, "trainer.epochs=29", "output.name=parts"]) == 0
    assert main(["train", f"resume={tmp_path / 'parts'}", "trainer.epochs=30"]) == 0
    whole, parts = (dict(np.load(tmp_path / name / "weights.npz")) for name in ("whole", "parts"))
    assert all(np.array_equal(whole[name], parts[name]) for name in whole)

    run, more = f"run={tmp_path / 'whole'}", ["backend=cpu", f"stack={stack}", f"output.root={tmp_path}"]
    names = [tmp_path / "data" / "images" / f"{number}.png" for number in range(5)]
    (tmp_path / "few").mkdir()
    for path in names:
        (tmp_path / "few" / path.name).write_bytes(path.read_bytes())
    assert main(["infer", run, f"input={tmp_path / 'few'}", *more, "output.name=answers"]) == 0
    lines = (tmp_path / "answers" / "predictions.csv").read_text().splitlines()
    assert lines[0] == ("input,labels,p_blue,p_green,p_red" if kind == "labels" else "input,light")
    if stack == "tf-1.8":  # exported from the same weights.npz as the other stacks
        return
    assert main(["export", run, "format=onnx,hub", f"output={tmp_path / 'out'}", f"output.root={tmp_path}"]) == 0
    for row in json.loads((tmp_path / "out" / "export.json").read_text())["formats"]:
        assert (row["kept"], row["ran"], row["changed"]) == (True, True, 0)
        assert max(row["difference"], row["files"]["difference"]) < 1e-5
    # The files are used as what they were trained for, with the scaling, names and thresholds next to them.
    for file in ("onnx/model.onnx", "hub/model.keras"):
        model, name = f"model={tmp_path / 'out' / file}", file[:3]
        words = ["infer", model, f"input={tmp_path / 'few'}", f"output.root={tmp_path}", f"output.name={name}"]
        assert main(words) == 0
        rows = (tmp_path / name / "predictions.csv").read_text().splitlines()
        assert rows[0] == lines[0]
        for one, other in zip(rows[1:], lines[1:], strict=True):
            first, second = one.split(","), other.split(",")
            assert first[0] == second[0]
            numbers = slice(2, None) if kind == "labels" else slice(1, None)
            assert first[1 : numbers.start] == second[1 : numbers.start]
            np.testing.assert_allclose(
                [*map(float, first[numbers])], [*map(float, second[numbers])], rtol=1e-4, atol=1e-5
            )


@pytest.mark.parametrize("stack", ["tf-2.21", "torch", "tf-1.8"])
@pytest.mark.parametrize("kind", ["labels", "number"])
def test_texts_have_labels_or_a_number(stack: str, kind: str, tmp_path: Path) -> None:
    real_stacks.environment(stack)
    random, signs = (
        np.random.default_rng(4),
        {"fun": ("joke", "smile"), "sad": ("tears", "grief"), "rude": ("fool", "shut")},
    )
    rows = ["text,fun,sad,rude,score"]
    for _ in range(400):
        flags = {name: int(random.random() < share) for name, share in zip(signs, (0.5, 0.4, 0.3), strict=True)}
        words = [*random.choice(["the", "one", "day", "they", "went"], int(random.integers(3, 20)))]
        words += [word for name, given in flags.items() if given for word in signs[name]]
        score = 40 + 20 * flags["fun"] - 15 * flags["sad"]
        rows.append(f"{' '.join(random.permutation(words))},{','.join(map(str, flags.values()))},{score}")
    (tmp_path / "t.csv").write_text("\n".join(rows))
    column = "fun,sad,rude" if kind == "labels" else "score"
    data = ["data=text_table", f"data.root={tmp_path / 't.csv'}", f"data.label_column={column}"]
    more = [f"stack={stack}", "backend=cpu", f"output.root={tmp_path}"]
    words = ["model=transformer/classifier", f"data.target={kind}", "trainer.batch_size=16", "model.length=32", *more]
    assert main(["train", *data, *words, "trainer.epochs=3", "output.name=whole"]) == 0
    metrics = record(tmp_path / "whole")["metrics"]
    assert metrics["test_f1"] > 0.95 if kind == "labels" else metrics["test_r2"] > 0.9
    assert main(["infer", f"run={tmp_path / 'whole'}", "input=a smile and grief", *more, "output.name=answer"]) == 0
    (row,) = json.loads((tmp_path / "answer" / "predictions.json").read_text())
    assert row["labels"] == "fun|sad" if kind == "labels" else abs(row["score"] - 45) < 8
    if stack == "tf-1.8":
        return
    export = ["export", f"run={tmp_path / 'whole'}", "format=onnx", f"output={tmp_path / 'out'}"]
    assert main([*export, f"output.root={tmp_path}"]) == 0
    (row,) = json.loads((tmp_path / "out" / "export.json").read_text())["formats"]
    assert (row["kept"], row["ran"], row["changed"]) == (True, True, 0)
    assert max(row["difference"], row["files"]["difference"]) < 1e-5
