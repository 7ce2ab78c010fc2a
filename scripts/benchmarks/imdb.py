"""Film reviews, good or bad: the zoo's classifier and the Keras example's, one after the other, in one run.

python scripts/benchmarks/imdb.py ARCHIVE [--stack torch] [--rounds 1]

ARCHIVE is aclImdb as a folder or a tar archive. Both begin with the tokens prepared, which takes the same time for
both and is told by itself, and both are timed as whole processes: start, imports, training, and the accuracy on all
25,000 test reviews. The example is the model, data and training of
https://keras.io/examples/nlp/text_classification_with_transformer/ (20,000 words, the last 200 of a review, one block
of width 32 with two heads, batches of 32, two epochs, each followed by a pass over the test reviews), written anew;
it runs on stack tf-2.21.
"""

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
WORDS, LENGTH, WIDTH = 20_000, 200, 32


def main() -> int:
    """Prepare, run both, print what each took and reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", nargs="?")
    parser.add_argument("--stack", default="torch")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--output", type=Path, help="a JSON file for ratios.py")
    parser.add_argument("--inside", metavar="ARRAYS", help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.inside:
        example(told.inside)
        return 0
    if not told.archive:
        parser.error("name the archive")
    archive = str(Path(told.archive).resolve())
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        arrays = prepare(archive, Path(folder))
        print(f"preparing the tokens, once for both: {time.monotonic() - began:.1f} s", flush=True)
        times = []
        for number in range(1, told.rounds + 1):
            ours = zoo(archive, told.stack, Path(folder) / f"runs{number}")
            theirs = keras_example(arrays)
            for name, found in ((f"zoo, {told.stack}", ours), ("Keras example, tf-2.21", theirs)):
                print(f"{name:<24} {found['process_s']:7.1f} s in all, {found['train_s']:7.1f} s of training, "
                      f"test accuracy {', '.join(f'{each:.4f}' for each in found['accuracy'])}")  # fmt: skip
            times.append(theirs["process_s"] / ours["process_s"])
            print(f"zoo / Keras example: {ours['process_s'] / theirs['process_s']:.2f} of the time", flush=True)
    if told.output:
        import ratios

        note = f"test accuracy {ours['accuracy'][-1]:.4f} and {theirs['accuracy'][-1]:.4f}"
        what = "film reviews, whole process"
        ratios.write(told.output, [ratios.row(what, told.stack, "Keras's example, tf-2.21", times, note=note)])
    return 0


def settings(archive: str) -> list[str]:
    """What the zoo is told; all else is its recipe."""
    return ["model=transformer/classifier", "backend=cpu", "data=text_folder", f"data.root={archive}"]


def prepare(archive: str, folder: Path) -> Path:
    """Let the zoo prepare its tokens, and lay out the example's: (reviews, 200), the last words of each."""
    import numpy as np

    from zoo.config import compose
    from zoo.data.text import dataset

    composed = compose.compose("train", settings(archive))
    prepared = dataset.prepare(composed.data)
    # The example's data set has words only, by their frequency, with numbers below 20,000.
    word = np.array([bool(re.match(r"\w", piece)) for piece in prepared.tokenizer.tokens[2:]])
    numbers = np.zeros(len(prepared.tokenizer), np.int32)
    numbers[2:][word] = np.arange(3, 3 + word.sum())
    numbers[numbers >= WORDS] = 2
    numbers[1] = 2
    tokens, offsets = np.load(prepared.folder / "tokens.npy"), np.load(prepared.folder / "offsets.npy")
    rows = np.zeros((len(offsets) - 1, LENGTH), np.int32)
    for row, begin, end in zip(rows, offsets, offsets[1:], strict=False):
        found = numbers[tokens[begin:end]]
        found = found[found > 0][-LENGTH:]
        row[LENGTH - len(found) :] = found
    test = np.load(prepared.folder / "test.npy")
    path = folder / "example.npz"
    np.savez(path, x=rows, y=np.load(prepared.folder / "labels.npy"), test=test)
    return path


def zoo(archive: str, stack: str, root: Path) -> dict[str, Any]:
    """Train with the zoo's command line."""
    command = [sys.executable, "-m", "zoo", "train", *settings(archive), f"stack={stack}", f"output.root={root}"]
    began = time.monotonic()
    answer = subprocess.run(
        [*command, "--json"], stdout=subprocess.PIPE, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    spent, record = time.monotonic() - began, json.loads(answer.stdout)
    trained = record["phases"]["train_s"] + record["phases"]["compile_s"]
    return {"process_s": spent, "train_s": trained, "accuracy": [record["metrics"]["test_accuracy"]]}


def keras_example(arrays: Path) -> dict[str, Any]:
    """Train the example in an interpreter of stack tf-2.21."""
    from zoo.environments import machine, stacks, store

    stack = stacks.load("tf-2.21")
    python = store.ensure(stack, machine.probe().platform).python
    began = time.monotonic()
    answer = subprocess.run(
        [str(python), "-I", "-B", __file__, "--inside", str(arrays)],
        env=store.child_environment(stack),
        stdout=subprocess.PIPE,
        check=True,
    )
    return {"process_s": time.monotonic() - began, **json.loads(answer.stdout.splitlines()[-1])}


def example(arrays: str) -> None:
    """The example's model and training; runs where Keras is."""
    import numpy as np

    keras: Any = importlib.import_module("keras")
    layers: Any = keras.layers

    class Block(layers.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.attention = layers.MultiHeadAttention(num_heads=2, key_dim=WIDTH)
            self.inner, self.outer = layers.Dense(WIDTH, activation="relu"), layers.Dense(WIDTH)
            self.norms = [layers.LayerNormalization(epsilon=1e-6) for _ in range(2)]
            self.drops = [layers.Dropout(0.1) for _ in range(2)]

        def call(self, x, training=None):  # type: ignore[no-untyped-def]
            x = self.norms[0](x + self.drops[0](self.attention(x, x), training=training))
            return self.norms[1](x + self.drops[1](self.outer(self.inner(x)), training=training))

    class Embeddings(layers.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = layers.Embedding(WORDS, WIDTH), layers.Embedding(LENGTH, WIDTH)

        def call(self, x):  # type: ignore[no-untyped-def]
            return self.words(x) + self.places(keras.ops.arange(0, LENGTH))

    keras.utils.set_random_seed(1)
    inputs = layers.Input(shape=(LENGTH,))
    x = layers.GlobalAveragePooling1D()(Block()(Embeddings()(inputs)))
    x = layers.Dense(20, activation="relu")(layers.Dropout(0.1)(x))
    outputs = layers.Dense(2, activation="softmax")(layers.Dropout(0.1)(x))
    model = keras.Model(inputs, outputs)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    with np.load(arrays) as stored:
        x, y, test = stored["x"], stored["y"], stored["test"]
    mixed = np.random.RandomState(1).permutation(np.flatnonzero(~test))
    began = time.monotonic()
    history = model.fit(x[mixed], y[mixed], batch_size=32, epochs=2, validation_data=(x[test], y[test]), verbose=0)
    spent = time.monotonic() - began
    print(json.dumps({"train_s": spent, "accuracy": history.history["val_accuracy"]}))


if __name__ == "__main__":
    sys.exit(main())
