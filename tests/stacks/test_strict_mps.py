"""Every model by `backend=mps` on a stand-in for Apple's GPU that enforces its rules; only the kernels are missing.

The command line runs as on a Mac (:mod:`tests.support.stand_in_mac`), and the worker in the Linux environment of the
stack, in `tests/support/workers/strict_mps.py`. The operations that each model calls are held against the list beside
this test, so that a new one is noticed: `scripts/operations.py` says whether each Mac stack has them.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts import operations
from scripts.linking import torch_operations
from tests.environments.test_rehearsal import Mac
from tests.support import CHECKOUT, real_stacks
from tests.support.pictures import stripes
from zoo.core import paths

pytestmark = [pytest.mark.stacks("torch"), pytest.mark.slow]

PHOTO = str(CHECKOUT / "assets" / "landscape.jpg")
SENTENCES = "good fine great", "bad poor awful"
Jobs = Callable[[Path], list[list[str]]]


def _digits(name: str, *more: str) -> Jobs:
    train = [
        "train",
        f"model={name}",
        "data=digits",
        "data.train_limit=200",
        "data.test_limit=50",
        "trainer.epochs=1",
    ]
    return lambda folder: [
        [*train, *more],
        ["infer", "run=last", "input=test"],
        ["train", "resume=last", "trainer.epochs=2"],
    ]


def _images(name: str, *more: str) -> Jobs:
    def jobs(folder: Path) -> list[list[str]]:
        images = stripes(folder / "images", 6, 40)
        data = ["data=folder", f"data.root={images}", "model.input_size=64"]
        return [
            ["train", f"model={name}", *more, *data, "trainer.epochs=1", "trainer.batch_size=8"],
            ["infer", "run=last", f"input={images}"],
        ]

    return jobs


def _texts(folder: Path) -> list[list[str]]:
    rows = [f"{SENTENCES[number % 2]} film number {number}\t{number % 2}\n" for number in range(60)]
    (folder / "texts.tsv").write_text("text\tlabel\n" + "".join(rows))
    data = ["data=text_table", f"data.root={folder / 'texts.tsv'}"]
    return [
        ["train", "model=transformer/classifier", *data, "trainer.epochs=1"],
        ["infer", "run=last", "input=a good film"],
    ]


def _writing(folder: Path) -> list[list[str]]:
    (folder / "book.txt").write_text("To be, or not to be, that is the question.\n" * 30)
    sizes = ["model.layers=1", "model.length=16", "model.d_model=16", "model.d_ff=32", "model.heads=2"]
    data = ["data=text_file", f"data.root={folder / 'book.txt'}", "trainer.epochs=1", "trainer.steps=4"]
    return [["train", "model=transformer/lm", *sizes, *data], ["infer", "run=last", "prompt=To be", "length=6"]]


def _painting(folder: Path) -> list[list[str]]:
    pictures = [f"content={PHOTO}", f"style={PHOTO}", "features=random", "size=64"]
    return [
        ["train", "model=style_transfer", *pictures, "steps=2", f"optimizer={name}"] for name in ("adam", "lbfgs")
    ]


def _style_network(folder: Path) -> list[list[str]]:
    images = stripes(folder / "images", 6, 40)
    train = [f"style={PHOTO}", f"photos={images}", "features=random", "trainer.steps=2", "trainer.size=64"]
    return [["train", "model=style_transfer/fast", *train], ["infer", "run=last", f"input={PHOTO}"]]


MODELS: dict[str, Jobs] = {
    "mnist": _digits("mnist"),
    "mnist_conv5": _digits("mnist_conv5"),
    "mnist_dense": _digits("mnist_dense"),
    "mobilenet": _images("mobilenet", "model.alpha=0.25"),
    "mobilenet_v2": _images("mobilenet_v2", "model.alpha=0.35"),
    "style_transfer": _painting,
    "style_transfer/fast": _style_network,
    "transformer/classifier": _texts,
    "transformer/lm": _writing,
}


@pytest.mark.parametrize("model", MODELS)
def test_it_runs_by_the_rules_of_mps_and_calls_no_operation_that_is_not_listed(model: str, tmp_path: Path) -> None:
    _run(model, MODELS[model], tmp_path)


def test_without_operations_on_lists_the_weights_are_updated_one_by_one(tmp_path: Path) -> None:
    site = next(real_stacks.python("torch").parent.parent.glob("lib/python*/site-packages"))
    text = (site / torch_operations.LIST).read_text("utf-8")
    older = tmp_path / "older.yaml"
    # As in PyTorch 2.1 and 2.2, whose lists name these kernels for the processor only.
    older.write_text(text.replace("CompositeExplicitAutograd: foreach_", "CPU: foreach_"))
    calls = _run(operations.ONE_BY_ONE, MODELS["mnist"], tmp_path, STRICT_MPS_LIST=str(older))
    assert not [name for name in calls if name.startswith(operations.LISTS)]


def _run(model: str, jobs: Jobs, folder: Path, **variables: str) -> dict[str, list[str]]:
    """Run the commands on the stand-in, and return the operations that they called."""
    mac, calls = Mac("m4", "arm64", folder / "mac"), folder / "operations.txt"
    passed = ["STRICT_MPS_OPERATIONS", *variables]
    mac.variables |= variables | {
        "STRICT_MPS": str(real_stacks.python("torch")), "STRICT_MPS_OPERATIONS": str(calls),
        "ZOO_WORKER_ENV": ",".join(passed), "ZOO_CACHE": str(paths.cache_dir()),
    }  # fmt: skip
    for job in jobs(folder):
        code, shown = mac.zoo(*job, "backend=mps")
        assert code == 0, shown
        record = mac.record()
        assert (record["device"]["name"], record["device"]["device_kind"]) == ("mps:0", "gpu")
    seen = operations.parse(calls.read_text())
    if operations.UPDATE in os.environ:
        operations.update(model, seen)
    listed = operations.listed(model)
    new = {name: types for name, types in seen.items() if set(types) - set(listed.get(name, ()))}
    assert not new, f"not in {operations.CALLS}: {json.dumps(new)}; {operations.UPDATE}=1 adds them"
    return seen
