"""Sentiment of film reviews: the zoo's classifier and that of a Keras example, one after the other.

python scripts/benchmarks/imdb.py ARCHIVE [--stack torch] [--rounds 1]

ARCHIVE is aclImdb as a folder or a tar archive. Both start from prepared tokens; the preparation takes the same time
for both and is printed separately. Both are timed as whole processes: start, imports, training, and the accuracy on
all 25,000 test reviews. The example is the model, data and training of
https://keras.io/examples/nlp/text_classification_with_transformer/ (20,000 words, the last 200 of a review, one block
of width 32 with two heads, batches of 32, two epochs, each followed by a pass over the test reviews), written anew;
it runs on stack tf-2.21.
"""

import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common

WORDS, LENGTH = 20_000, 200


def main() -> int:
    """Prepare, run both, print times and accuracies."""
    parser = common.parser(__doc__)
    parser.add_argument("archive")
    parser.add_argument("--stack", default="torch")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    archive, ratios = str(Path(options.archive).resolve()), []
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        arrays = prepare(archive, Path(folder))
        print(f"preparing the tokens, once for both: {time.monotonic() - began:.1f} s", flush=True)
        for number in range(1, options.rounds + 1):
            ours = zoo(archive, options.stack, Path(folder) / f"runs{number}")
            theirs = keras_example(arrays)
            show(f"zoo, {options.stack}", ours)
            show("Keras example, tf-2.21", theirs)
            ratios.append(theirs["process_s"] / ours["process_s"])
            print(f"zoo / Keras example: {1 / ratios[-1]:.2f} of the time", flush=True)
    note = f"test accuracy {ours['accuracy'][-1]:.4f} and {theirs['accuracy'][-1]:.4f}"
    row = ("film reviews, whole process", options.stack, "Keras's example, tf-2.21", ratios, None, note)
    common.write_ratios(options.output, [row])
    return 0


def show(name: str, result: dict[str, Any]) -> None:
    """Print times and accuracies."""
    accuracies = ", ".join(f"{each:.4f}" for each in result["accuracy"])
    print(f"{name:<24} {result['process_s']:7.1f} s in all, {result['train_s']:7.1f} s of training, "
          f"test accuracy {accuracies}")  # fmt: skip


def settings(archive: str) -> list[str]:
    """Return the settings of the zoo; everything else is its recipe."""
    return ["model=transformer/classifier", "backend=cpu", "data=text_folder", f"data.root={archive}"]


def prepare(archive: str, folder: Path) -> Path:
    """Let the zoo prepare its tokens, and write the example's: (reviews, 200), the last words of each."""
    import numpy as np

    from zoo.config.overrides import Overrides
    from zoo.data.text import dataset
    from zoo.tasks import registry

    composed = registry.compose_settings("train", Overrides.parse(settings(archive)))
    prepared = dataset.prepare(composed.data, composed.seed)
    # The example's data set has words only, by their frequency, with ids below 20,000.
    word = np.array([bool(re.match(r"\w", piece)) for piece in prepared.tokenizer.tokens[2:]])
    ids = np.zeros(len(prepared.tokenizer), np.int32)
    ids[2:][word] = np.arange(3, 3 + word.sum())
    ids[ids >= WORDS] = 2
    ids[1] = 2
    tokens, offsets = np.load(prepared.folder / "tokens.npy"), np.load(prepared.folder / "offsets.npy")
    rows = np.zeros((len(offsets) - 1, LENGTH), np.int32)
    for row, begin, end in zip(rows, offsets, offsets[1:], strict=False):
        words = ids[tokens[begin:end]]
        words = words[words > 0][-LENGTH:]
        row[LENGTH - len(words) :] = words
    test = np.load(prepared.folder / "test.npy")
    path = folder / "example.npz"
    np.savez(path, x=rows, y=np.load(prepared.folder / "labels.npy"), test=test)
    return path


def zoo(archive: str, stack: str, root: Path) -> dict[str, Any]:
    """Train by the zoo's recipe."""
    record, wall = common.train([*settings(archive), f"stack={stack}", f"output.root={root}"])
    accuracy = [record["metrics"]["test_accuracy"]]
    return {"process_s": wall, "train_s": common.training_s(record), "accuracy": accuracy}


def keras_example(arrays: Path) -> dict[str, Any]:
    """Train the example."""
    began = time.monotonic()
    answer = common.run_in_stack("tf-2.21", "imdb_keras.py", arrays)
    return {"process_s": time.monotonic() - began, **answer}


if __name__ == "__main__":
    sys.exit(main())
