"""The zoo of an earlier commit, the zoo of this one, and peers, in turns: one table.

python scripts/benchmarks/before_after.py BEFORE DATA [--rows NAME ...] [--rounds 5] [--log FILE] [--output FILE]
python scripts/benchmarks/before_after.py DATA [the same options]

BEFORE is a checkout of the earlier commit; without it, neither that nor peers are measured. DATA is a folder with
``mnist`` (the four files), ``text`` (the archive ``aclImdb_labelled.tar.xz``, ``rt-polarity.pos`` and ``.neg``,
``tinyshakespeare_input.txt``), ``imagenet/photos`` and ``mobilenet/mobilenet_v1_0.25_224.h5``. Each measurement is a
command of its own, such as ``python -m zoo train``, in the folder of its checkout; which one begins changes from
round to round. A first command of each checkout prepares environments and texts and is not counted. --log keeps each
measurement when it is there: a run that was stopped goes on where it was.

Each measurement of this commit is followed by matrix products. --output has the rows against the earlier commit,
peers and those products, which `ratios.py FILE --check
docs/background/ratios.json` compares with the rows of another day.
"""

import functools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import (
    common,
    imdb,
    large_inputs,
    long_text,
    mnist,
    mobilenet_inference,
    ratios,
    torch_step,
    turns,
)
from scripts.benchmarks.turns import spread

BEFORE, NOW = "before", "now"
COPIES = 64  # of ten photos
RUNS, EPOCHS, PICTURES, MEGABYTES = 10_000, 10_000, 100_000, 1000
EDGE, REPEATS = 2048, 10  # of matrix products
NAMES = {"language": "the language model", "mobilenet": "MobileNet"}
UNITS = {"language": "tokens/s", "mobilenet": "images/s"}
Figures = dict[str, float]


class Row(NamedTuple):
    """One line of the table.

    Attributes:
        what: what is measured.
        unit: of ``speed``; a rate, or ``s``, of which less is better.
        ours: measures a checkout: (folder of the checkout, number of the round, folder to write to).
        peers: by name, what measures each: (number of the round).
        prepares: a first measurement of each checkout prepares something, and does not count.
    """

    what: str
    unit: str
    ours: Callable[[Path, int, Path], Figures]
    peers: dict[str, Callable[[int], Figures]]
    prepares: bool = True


def main() -> int:
    """Measure, print the table, write rows for ratios.py."""
    parser = common.parser(__doc__)
    parser.add_argument("before", type=Path, nargs="?")
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--log", type=Path, help="file to keep measurements in, a line each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = table(options.data.resolve(), Path(folder))
        unknown = sorted(set(options.rows or ()) - set(rows))
        if unknown:
            parser.error(f"there is no row called {', '.join(unknown)}; choose from {', '.join(rows)}")
        chosen = {name: rows[name] for name in options.rows or rows}
        trees, commit = {NOW: common.ROOT}, ""
        if options.before:
            trees = {BEFORE: options.before.resolve(), **trees}
            command = ["git", "-C", str(trees[BEFORE]), "rev-parse", "--short", "HEAD"]
            commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        else:
            chosen = {name: row._replace(peers={}) for name, row in chosen.items()}
        log = options.log or Path(folder) / "log.jsonl"
        measure(chosen, trees, options.rounds, log, Path(folder))
        measured = turns.read(log)
    show(chosen, measured)
    common.write_ratios(options.output, compared(chosen, measured, commit))
    return 0


def table(data: Path, folder: Path) -> dict[str, Row]:
    """Return all lines by their names."""
    text, photos = data / "text", folder / "photos"
    snippets = folder / "snippets"
    snippets.mkdir()
    for kind in ("pos", "neg"):
        shutil.copy(text / f"rt-polarity.{kind}", snippets)
    photos.mkdir()
    for number in range(COPIES):
        for photo in sorted((data / "imagenet" / "photos").iterdir()):
            shutil.copy(photo, photos / f"{number}-{photo.name}")
    digits, reviews = mnist.pack(data / "mnist", folder), text / "aclImdb_labelled.tar.xz"
    weights = {0.25: data / "mobilenet" / "mobilenet_v1_0.25_224.h5", 1.0: Path(mobilenet_inference.draw(folder))}
    on_cpu, classifier, seed = ["backend=cpu"], ["train", "model=transformer/classifier"], ["seed={round}"]
    of_reviews = [*classifier, "stack=torch", "data=text_folder", f"data.root={reviews}"]
    of_snippets = [*classifier, "data=text_lines", f"data.root={snippets}", "data.fold={round}"]
    of_mnist = ["train", "model=mnist", "data=mnist", f"data.root={data / 'mnist'}", "data.validation=0"]
    infer = ["infer", "model=mobilenet", f"input={photos}", "sheets=0", "backend=openvino"]
    with_keras = "Keras's example, tf-2.21"
    rows = {
        "reviews": Row(
            "film reviews, whole command on torch", "s", functools.partial(whole, [*of_reviews, *on_cpu, *seed]),
            {with_keras: functools.partial(keras_reviews, reviews, folder)},
        ),
        "mnist": Row(
            "MNIST to 0.99, whole command on tf-2.21", "s",
            functools.partial(whole, [*of_mnist, "stack=tf-2.21", *on_cpu, *seed]),
            {with_keras: functools.partial(keras_digits, digits)},
        ),
        "digits": Row(
            "train model=mnist data=digits, whole command", "s",
            functools.partial(whole, ["train", "model=mnist", "data=digits", *seed]), {},
        ),
        "first": Row(
            "train model=mnist data=digits with empty caches, from the clone on", "s", first_run, {}, False,
        ),
    }  # fmt: skip
    for width, file in weights.items():
        rows[f"files-{width}"] = Row(
            f"MobileNet {width} over 640 photos in files, openvino, float32", "images/s",
            functools.partial(predicted, [*infer, f"model.alpha={width}", f"weights={file}"]),
            {"keras.applications on tf-2.21": functools.partial(stock_files, photos, width)},
        )  # fmt: skip
    rows["files-auto"] = Row(
        "MobileNet 0.25 over 640 photos in files, openvino, precision=auto, before float32", "images/s",
        functools.partial(predicted_by_choice, [*infer, "model.alpha=0.25", f"weights={weights[0.25]}"]), {},
    )  # fmt: skip
    rows["list"] = Row(f"list {RUNS:,} runs", "s", functools.partial(listed, folder), {})
    rows["report"] = Row(f"report of a run of {EPOCHS:,} epochs", "s", functools.partial(reported, folder), {})
    rows["pictures"] = Row(
        f"an epoch of {PICTURES:,} pictures in a folder, whole command on tf-2.21", "s",
        functools.partial(of_pictures, folder), {},
    )  # fmt: skip
    rows["long-text"] = Row(
        f"40 steps of a language model on a new text of {MEGABYTES:,} MB, 1 MB of it for validation, "
        "whole command on torch", "s",
        functools.partial(of_long_text, text / "tinyshakespeare_input.txt"), {}, False,
    )  # fmt: skip
    for stack in ("torch", "jax"):
        arguments = [*of_snippets, f"stack={stack}", *on_cpu]
        rows[f"snippets-{stack}"] = Row(
            f"film snippets, training on {stack}", "s", functools.partial(trained, arguments), {}
        )
    for stack, precision in (("torch", "float32"), ("torch", "bfloat16"), ("tf-2.21", "float32"), ("jax", "float32")):
        peers = {"plain PyTorch": "plain", "torch.compile": "compiled"} if stack == "torch" else {}
        for network in torch_step.STEPS:
            rows[f"{network}-{stack}-{precision}"] = Row(
                f"training steps of {NAMES[network]}, {stack}, {precision}", UNITS[network],
                functools.partial(steps, network, stack, precision),
                {name: functools.partial(plain_steps, network, way, precision) for name, way in peers.items()}, False,
            )  # fmt: skip
    return rows


def measure(rows: dict[str, Row], trees: dict[str, Path], rounds: int, log: Path, folder: Path) -> None:
    """Take all rounds that the log lacks, a line for each measurement."""
    known = {tuple(line[key] for key in ("row", "way", "round")) for line in turns.read(log)}
    for number in range(rounds + 1):  # the first is not counted
        for name, row in rows.items():
            for way in turns.order([*trees, *row.peers], number):
                if (name, way, number) in known or (number == 0 and (way in row.peers or not row.prepares)):
                    continue
                with tempfile.TemporaryDirectory(dir=folder) as to:
                    peer = row.peers.get(way)
                    taken = peer(number) if peer else row.ours(trees[way], number, Path(to))
                if way == NOW:
                    taken["product_s"] = product()
                line = {"row": name, "way": way, "round": number, **taken}
                print(json.dumps(line), file=sys.stderr, flush=True)
                turns.append(log, line)


def product() -> float:
    """Seconds of a matrix product by NumPy, the median of some."""
    left = np.random.default_rng(0).standard_normal((EDGE, EDGE), np.float32)
    out, seconds = np.empty_like(left), []
    for _ in range(REPEATS):
        began = time.perf_counter()
        np.dot(left, left, out=out)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def zoo(arguments: list[str], tree: Path, number: int, folder: Path) -> dict[str, Any]:
    """Run a command of a checkout; return its run's record, with ``wall``, the seconds of the process.

    Raises:
        subprocess.CalledProcessError: it failed; `python -m zoo` with the same arguments says why.
    """
    words = [word.replace("{round}", str(number)) for word in arguments]
    wall = command([*words, f"output.root={folder}", "output.name=run"], tree)
    return {**json.loads((folder / "run" / "run.json").read_text(encoding="utf-8")), "wall": wall}


def command(arguments: list[str], tree: Path) -> float:
    """Run a command of a checkout; return the seconds of its process.

    Raises:
        subprocess.CalledProcessError: it failed; `python -m zoo` with the same arguments says why.
    """
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "zoo", *arguments], cwd=tree, env={**os.environ, "PYTHONPATH": str(tree)},
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)  # fmt: skip
    return time.monotonic() - began


def figures(speed: float, record: dict[str, Any]) -> Figures:
    """Return a speed, with the test accuracy of a run that has one."""
    accuracy = record["metrics"].get("test_accuracy")
    return {"speed": speed, **({} if accuracy is None else {"accuracy": accuracy})}


def whole(arguments: list[str], tree: Path, number: int, folder: Path) -> Figures:
    """Seconds of a whole command."""
    record = zoo(arguments, tree, number, folder)
    return figures(record["wall"], record)


def trained(arguments: list[str], tree: Path, number: int, folder: Path) -> Figures:
    """Seconds of training and compiling."""
    record = zoo(arguments, tree, number, folder)
    return figures(common.training_s(record), record)


def first_run(tree: Path, _: int, folder: Path) -> Figures:
    """Seconds of the README's first command in a new clone, with an empty home: all is downloaded and built."""
    (folder / "home").mkdir()
    pip = Path.home() / ".config" / "pip"
    if pip.is_dir():  # where packages come from
        shutil.copytree(pip, folder / "home" / ".config" / "pip")
    of_here = ("VIRTUAL_ENV", "UV_CACHE_DIR", "PIP_CACHE_DIR", "ZOO_CACHE", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if name not in of_here}
    home = {"HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "home" / ".cache")}
    os.sync()  # the gigabytes that the measurement before has left to be written are no matter of this one
    began = time.monotonic()
    subprocess.run(["git", "clone", "-q", str(tree), str(folder / "zoo")], check=True)
    command = ["python3", "scripts/run.py", "zoo", "train", "model=mnist", "data=digits"]
    subprocess.run(command, cwd=folder / "zoo", env=kept | home, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)  # fmt: skip
    return {"speed": time.monotonic() - began}


def predicted(arguments: list[str], tree: Path, number: int, folder: Path) -> Figures:
    """Images a second from the first file to the last answer."""
    return {"speed": zoo(arguments, tree, number, folder)["metrics"]["end_to_end_items_per_s"]}


def predicted_by_choice(arguments: list[str], tree: Path, number: int, folder: Path) -> Figures:
    """As :func:`predicted`, in a precision that the commit chooses itself where it can."""
    can = (tree / "zoo" / "worker" / "inference" / "lower_precision.py").exists()
    return predicted([*arguments, *(["precision=auto"] if can else [])], tree, number, folder)


def listed(folder: Path, tree: Path, _: int, to: Path) -> Figures:
    """Seconds to list many runs."""
    root = folder / f"runs-of-{_named(tree)}"
    if not root.exists():
        large_inputs.many_runs(digits_run(tree, to), root, RUNS)
    return {"speed": command(["report", "--root", str(root), "--list"], tree)}


def reported(folder: Path, tree: Path, _: int, to: Path) -> Figures:
    """Seconds to write the page of a run of many epochs."""
    run = folder / f"epochs-of-{_named(tree)}"
    if not run.exists():
        large_inputs.many_epochs(digits_run(tree, to), run, EPOCHS)
    return {"speed": command(["report", str(run)], tree)}


def of_pictures(folder: Path, tree: Path, number: int, to: Path) -> Figures:
    """Seconds of a command that trains on a folder of many pictures for an epoch."""
    root = folder / "pictures"
    if not root.exists():
        large_inputs.many_pictures(root, PICTURES)
    sizes = ["model.alpha=0.25", f"model.input_size={large_inputs.EDGE}", f"data.size={large_inputs.EDGE}"]
    settings = ["train", "model=mobilenet", "data=folder", f"data.root={root}", "trainer.epochs=1", *sizes]
    return whole([*settings, "weights=none", "stack=tf-2.21", "backend=cpu"], tree, number, to)


def of_long_text(lines: Path, tree: Path, number: int, to: Path) -> Figures:
    """Seconds of a command that prepares the tokens of a text, new to this checkout, and begins to train on it."""
    file = to / "text.txt"
    # By time, because what an earlier measurement has prepared is in the cache.
    long_text.write(file, lines, MEGABYTES * 1_000_000, time.time_ns() % 2**32)
    settings = ["train", "model=transformer/lm", "data=text_file", f"data.root={file}", "trainer.epochs=1"]
    # The zoo once validated on a whole tenth of the text, which takes minutes beside those 40 steps.
    settings += ["data.validation=0.001", "trainer.steps=40"]
    return whole([*settings, "stack=torch", "backend=cpu"], tree, number, to)


def _named(tree: Path) -> str:
    return str(tree).strip("/").replace("/", "-")


def digits_run(tree: Path, folder: Path) -> Path:
    """Train on digits; return the run folder."""
    zoo(["train", "model=mnist", "data=digits"], tree, 0, folder)
    return folder / "run"


def steps(network: str, stack: str, precision: str, tree: Path, number: int, folder: Path) -> Figures:
    """Items a second of training steps of a network of training_step.py."""
    return rate(torch_step.process(network, "zoo", precision, stack=stack, tree=tree), network)


def plain_steps(network: str, way: str, precision: str, _: int) -> Figures:
    """Items a second of plain PyTorch, as its user starts it, see torch_step.py."""
    return rate(torch_step.process(network, way, precision), network)


def rate(process: common.WorkerProcess, network: str) -> Figures:
    """Take steps of a worker, and end it."""
    process.ask(steps=2)  # compiles, and gets its memory
    seconds = process.ask(steps=torch_step.STEPS[network])["seconds"]
    process.close()
    return {"speed": torch_step.ITEMS[network] / statistics.median(seconds)}


def keras_reviews(archive: Path, folder: Path, _: int) -> Figures:
    """Seconds and accuracy of Keras's example for film reviews, its tokens prepared before."""
    arrays = folder / "example.npz"
    if not arrays.exists():
        imdb.prepare(str(archive), folder)
    answer = imdb.keras_example(arrays)
    return {"speed": answer["process_s"], "accuracy": answer["accuracy"][-1]}


def keras_digits(digits: Path, number: int) -> Figures:
    """Seconds of Keras's example to an accuracy of 0.99."""
    answer = mnist.plain("tf-2.21", "keras", digits, number, 0.99)
    return {"speed": answer["seconds"], "accuracy": answer["accuracy"][-1]}


def stock_files(photos: Path, width: float, _: int) -> Figures:
    """Images a second of Keras's ``predict`` from files."""
    process = common.WorkerProcess("tf-2.21", "mobilenet.py", "stock", "tensorflow", "float32", width)
    process.ask(photos=str(photos))  # compiles
    rate = float(process.ask(photos=str(photos))["rate"])
    process.close()
    return {"speed": rate}


def rounds_of(measured: list[dict[str, Any]], name: str, way: str, key: str = "speed") -> list[float]:
    """Return the figures of a line by round, the first left out."""
    return list(turns.by_round(measured, name, way, key).values())


def times(row: Row, ours: list[float], theirs: list[float]) -> list[float]:
    """Return how many times as fast ours is in each round."""
    pairs = zip(ours, theirs, strict=True)
    return [turns.ratio(row.unit, our, their) for our, their in pairs]


def compared(rows: dict[str, Row], measured: list[dict[str, Any]], commit: str) -> list[tuple[Any, ...]]:
    """Return rows for ratios.py: this commit against the earlier one, peers, and matrix products."""
    result: list[tuple[Any, ...]] = []
    for name, row in rows.items():
        ours = rounds_of(measured, name, NOW)
        for way, against in ((BEFORE, f"the zoo at {commit}"), *((peer, peer) for peer in row.peers)):
            if theirs := rounds_of(measured, name, way):
                result.append((row.what, "", against, times(row, ours, theirs)))
        seconds = rounds_of(measured, name, NOW, "product_s")
        # Commands take about as long as a hundred products; of rates, the ratio is the items in the time of one.
        count = f"100 {ratios.PRODUCTS}s" if row.unit == "s" else f"a {ratios.PRODUCTS}"
        against = f"{count} of {EDGE} x {EDGE} by NumPy"
        products = [100 * each if row.unit == "s" else 1 / each for each in seconds]
        result.append((row.what, "", against, times(row, ours, products)))
    return result


def show(rows: dict[str, Row], measured: list[dict[str, Any]]) -> None:
    """Print the table in Markdown: medians and extremes."""
    print("| what | before | now | peers | now, times as fast as before | now, times as fast as peers |")
    print("|---|---|---|---|---|---|")
    for name, row in rows.items():
        ours, figures_by, ratios_by = rounds_of(measured, name, NOW), {}, {}
        for way in (BEFORE, NOW, *row.peers):
            accuracy, theirs = rounds_of(measured, name, way, "accuracy"), rounds_of(measured, name, way)
            if not theirs:
                continue
            figures_by[way] = spread(theirs, 1) + (f", right {spread(accuracy, 4)}" if accuracy else "")
            ratios_by[way] = spread(times(row, ours, theirs), 2)
        cells = [f"{row.what}, {row.unit}", figures_by.get(BEFORE, ""), figures_by[NOW]]
        cells += ["; ".join(f"{peer} {figures_by[peer]}" for peer in row.peers), ratios_by.get(BEFORE, "")]
        cells += ["; ".join(ratios_by[peer] for peer in row.peers)]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    sys.exit(main())
