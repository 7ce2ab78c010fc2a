"""The rows of peers.py: what the zoo and its peers run, and the files that they share.

Every measurement is a new process. Preparations, such as exported networks, environments and image files, are made
once, before the first measurement, and are not counted.
"""

import contextlib
import csv
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from scripts.benchmarks import common, generation, serving, small_sets, torch_step, turns
from scripts.benchmarks.turns import CommandError, Figures

Way = Callable[[int, Path], Figures]
LOCK = Path(__file__).with_name("peers.lock.txt")
TIMM = Path(__file__).with_name("peers_timm.txt")
PYTHON = "3.12"  # for the versions of LOCK
PHOTOS, TOKENS, CLIENTS, LOAD_S, WARM_S = 640, 2000, 8, 4.0, 1.5
STEPS = {"language": 60, "mobilenet": 4}
PASSES = 4
WEIGHTS = "mobilenet/mobilenet_v1_0.25_224.h5"
TEXTS, BANKING, REVIEWS = (
    ("text/rt-polarity.pos", "text/rt-polarity.neg"),
    "text/banking77",
    "text/aclImdb_labelled.tar.xz",
)
PHOTO, JPEGS = "imagenet/photos/cat_720p.jpg", ("caffe_cat.jpg", "cat_720p.jpg", "owl.jpg", "pets.jpg")
MNIST = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
NO_BFLOAT16 = "the processor has no bfloat16 instructions"


class Row(NamedTuple):
    """A line of the table.

    Attributes:
        what: the work.
        how: stack and precision of the zoo, or its command.
        unit: of ``speed``; ``s``, of which less is better, or a rate.
        zoo: measures the zoo: (number of the round, empty folder).
        peers: measure the peers, by name.
        seconds: of a round on two cores, with all its peers.
        target: accuracy that a peer must reach; None means that of the zoo, minus ``slack``.
        slack: difference of accuracy that is not counted.
        quality: name of ``accuracy`` in the table.
        cpu_of: what ``cpu_s`` covers.
        prepares: run the zoo once before the first round, which fills its caches.
        prepare: makes files and environments before the first measurement.
        missing: says why the row cannot be measured on this machine; empty if it can.
    """

    what: str
    how: str
    unit: str
    zoo: Way
    peers: dict[str, Way]
    seconds: float
    target: float | None = None
    slack: float = 0.005
    quality: str = "accuracy"
    cpu_of: str = "whole process"
    prepares: bool = False
    prepare: Callable[[], None] | None = None
    missing: Callable[[], str] = str


class Workshop:
    """Data, the scratch folder, and what several rows share, made when it is first needed.

    Attributes:
        data: folder of the data sets.
        folder: scratch folder.
        environments: folder for the environment of the peers; None means the cache of the zoo.
    """

    def __init__(self, data: Path, folder: Path, environments: Path | None = None) -> None:
        self.data, self.folder, self.environments = data, folder, environments

    def lacks(self, *names: str, bfloat16: bool = False) -> Callable[[], str]:
        """Return a function that says which files of the data folder, or which instructions, are missing."""

        def missing() -> str:
            absent = [name for name in names if not (self.data / name).exists()]
            if absent:
                return f"{', '.join(absent)} missing in {self.data}"
            return NO_BFLOAT16 if bfloat16 and not has_bfloat16() else ""

        return missing

    def ready(self, *names: str) -> Callable[[], None]:
        """Return a function that makes some of the properties below."""

        def prepare() -> None:
            for name in names:
                getattr(self, name)

        return prepare

    @functools.cached_property
    def python(self) -> Path:
        """The interpreter of the environment with the versions of peers.lock.txt, built if it is missing."""
        from zoo.core import paths
        from zoo.core.files import locked
        from zoo.environments import uv_client

        key = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:10]
        folder = (self.environments or paths.cache_dir() / "peers").resolve() / f"peers-{key}"
        python, complete = folder / "bin" / "python", folder / "complete"
        with zoo_errors(), locked(folder.with_name(f".{folder.name}.lock"), "builds the environment of the peers"):
            if not complete.exists():
                shutil.rmtree(folder, ignore_errors=True)
                base = uv_client.ensure_interpreter(PYTHON, os.uname().machine)
                install = [
                    "pip",
                    "install",
                    "--quiet",
                    "--require-hashes",
                    "--compile-bytecode",
                    "--python",
                    str(python),
                ]
                for words in (
                    ["venv", "--quiet", "--python", str(base.path), str(folder)],
                    [*install, "-r", str(LOCK)],
                ):
                    outcome = uv_client.run(words)
                    if outcome.code:
                        raise CommandError(f"cannot build the environment of the peers:\n{outcome.tail()}")
                complete.touch()
        return python

    @functools.cached_property
    def mobilenet(self) -> Path:
        """MobileNet 0.25 as exported by the zoo: a folder with model.onnx and model.json."""
        return self._exported("mobilenet", "model.alpha=0.25", f"weights={self.data / WEIGHTS}")

    @functools.cached_property
    def style(self) -> Path:
        """The style network of the zoo, exported."""
        return self._exported("style_transfer/fast", "weights=zoo")

    def _exported(self, model: str, *settings: str) -> Path:
        folder = self.folder / f"{model.replace('/', '-')}-exported"
        words = [f"model={model}", *settings, "format=onnx", f"output={folder}", "items=2"]
        turns.run(command(["export", *words, f"output.root={self.folder / 'exports'}"]), common.ROOT, variables())
        return folder / "onnx"

    @functools.cached_property
    def photos(self) -> Path:
        """A folder of different JPEG files: parts of the JPEG photos, of 85 to 100 % of their width and height."""
        folder = self.folder / "photos"
        folder.mkdir()
        photos = [Image.open(self.data / "imagenet" / "photos" / name).convert("RGB") for name in JPEGS]
        draw = np.random.default_rng(1)
        for number in range(PHOTOS):
            photo = photos[number % len(photos)]
            width, height = (int(edge * draw.uniform(0.85, 1.0)) for edge in photo.size)
            left, top = (int(draw.integers(0, n - m + 1)) for n, m in zip(photo.size, (width, height), strict=True))
            photo.crop((left, top, left + width, top + height)).save(folder / f"{number:04}.jpg", quality=90)
        return folder

    @functools.cached_property
    def labels(self) -> Path:
        """The classes of :attr:`photos`, decoded at their full size, in float32, as a JSON list of numbers."""
        file = self.folder / "labels.json"
        self.peer("peer_photos.py", "exact", self.mobilenet / "model.onnx", self.photos, "float32", file)
        return file

    @functools.cached_property
    def painting(self) -> Path:
        """The photo as the zoo restyles it in float32."""
        restyled(self, self.folder / "painting", "float32")
        return next((self.folder / "painting" / "out").iterdir())

    @functools.cached_property
    def request(self) -> Path:
        """The pixels that clients of servers send, and their class by MobileNet 0.25 next to it (answer.json)."""
        for kind in ("zoo", "litserve"):
            serving.body(kind, self.folder)
        # BentoML takes a list, which it joins with those of other requests.
        content = json.loads((self.folder / "litserve.body").read_text())
        (self.folder / "bentoml.body").write_text(json.dumps({"b64": [content["b64"]]}))
        script = (self.folder / "litserve.lua").read_text().replace("litserve.body", "bentoml.body")
        (self.folder / "bentoml.lua").write_text(script)
        (self.folder / "classes.txt").write_text("".join(f"class {number}\n" for number in range(1000)))
        file = self.folder / "zoo.body"
        answer = self.peer("peer_serving.py", "answer", self.mobilenet / "model.onnx", file)
        (self.folder / "answer.json").write_text(json.dumps(answer["class"]), encoding="utf-8")
        return file

    def snippets(self, number: int) -> Path:
        """Return a folder with train.csv and test.csv: rt-polarity, of which a tenth is drawn for the test."""
        folder = self.folder / f"snippets-{number}"
        if not folder.exists():
            folder.mkdir()
            lines = []
            for name in TEXTS:
                text = (self.data / name).read_text(encoding="utf-8", errors="replace")
                lines += [(line.strip(), name[-3:]) for line in text.splitlines() if line.strip()]
            order = np.random.default_rng(number).permutation(len(lines))
            for part, chosen in (("test", order[: len(order) // 10]), ("train", order[len(order) // 10 :])):
                with (folder / f"{part}.csv").open("w", encoding="utf-8", newline="") as out:
                    csv.writer(out).writerows([("text", "category"), *(lines[row] for row in chosen)])
        return folder

    def images(self, name: str, number: int) -> Path:
        """Return the folder of one of the sets of small_sets.py. Each round has a different sample."""
        root = self.folder / f"{name}-{number}"
        if not root.exists():
            small_sets.write(small_sets.pictures(name, self.data), small_sets.SIZES[name], root, number)
        return root

    def peer(self, script: str, *arguments: object) -> Figures:
        """Run a worker in the environment of the peers; return wall and processor seconds, and its answer."""
        words = [str(self.python), "-I", str(common.WORKERS / script), *map(str, arguments)]
        return costs(turns.run(words, common.ROOT, plain_variables()))

    def torch_peer(self, script: str, *arguments: object, text: str = "", added: Path | None = None) -> Figures:
        """Run a worker in the stack torch, with its settings of allocator and threads; return as :meth:`peer`."""
        with zoo_errors():
            words, settings = common.stack_command("torch", script, *arguments)
            if added:
                words = [str(with_packages("torch", added)), *words[1:]]
        return costs(turns.run(words, common.ROOT, settings, text))


def has_bfloat16() -> bool:
    """Return True if the processor multiplies bfloat16 in hardware (Linux)."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


@contextlib.contextmanager
def zoo_errors() -> Iterator[None]:
    """Turn errors of the zoo into :class:`CommandError`."""
    from zoo.core.errors import ZooError

    try:
        yield
    except ZooError as error:
        raise CommandError(str(error)) from None


def with_packages(stack: str, file: Path) -> Path:
    """Return the interpreter of a stack with the packages of a file of exact versions."""
    from packaging.requirements import Requirement

    from zoo.environments import machine, stacks, store

    lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
    added = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return store.ensure(stacks.load(stack), machine.probe().platform, added=added).python


def plain_variables() -> dict[str, str]:
    """Return the environment variables without those of Python and of the zoo."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ZOO"))}


def variables() -> dict[str, str]:
    """Return the environment variables of a command of the zoo."""
    return {**os.environ, "PYTHONPATH": str(common.ROOT)}


def command(arguments: list[str]) -> list[str]:
    """Return a command of this checkout."""
    return [sys.executable, "-m", "zoo", *arguments]


def costs(result: turns.Result) -> Figures:
    """Return wall seconds as speed and processor seconds of a process, replaced by its answer where it has them."""
    return {"speed": result.wall_s, "cpu_s": result.cpu_s, **result.answer()}


def zoo(arguments: list[str], number: int, folder: Path) -> tuple[Figures, dict[str, Any]]:
    """Run a command of the zoo; return its costs and the record of its run. ``{round}`` is the round's number."""
    words = [word.replace("{round}", str(number)) for word in arguments]
    result = turns.run(command([*words, f"output.root={folder}", "output.name=run"]), common.ROOT, variables())
    record = json.loads((folder / "run" / "run.json").read_text(encoding="utf-8"))
    return {"speed": result.wall_s, "cpu_s": result.cpu_s}, record


def trained(arguments: list[str], number: int, folder: Path) -> Figures:
    """Measure a whole training command and its test accuracy."""
    figures, record = zoo(arguments, number, folder)
    return {**figures, "accuracy": record["metrics"]["test_accuracy"]}


def predicted(shop: Workshop, precision: str, folder: Path) -> tuple[Figures, list[int]]:
    """Classify the photos by the zoo; return images a second from the first file to the last class, and classes."""
    settings = ["model=mobilenet", "model.alpha=0.25", f"weights={shop.data / WEIGHTS}", f"input={shop.photos}"]
    words = ["infer", *settings, "sheets=0", "backend=openvino", f"precision={precision}"]
    figures, record = zoo(words, 0, folder)
    names = json.loads((shop.mobilenet / "model.json").read_text(encoding="utf-8"))["classes"]
    with (folder / "run" / "predictions.csv").open(encoding="utf-8", newline="") as lines:
        classes = {row["input"]: names.index(row["class"]) for row in csv.DictReader(lines)}
    return (
        {**figures, "speed": record["metrics"]["end_to_end_items_per_s"]},
        [classes[name] for name in sorted(classes)],
    )


def classified(shop: Workshop, precision: str, _: int, folder: Path) -> Figures:
    """Classify the photos by the zoo, and compare the classes with :attr:`Workshop.labels`."""
    figures, classes = predicted(shop, precision, folder)
    expected = json.loads(shop.labels.read_text(encoding="utf-8"))
    return {**figures, "accuracy": float(np.mean(np.array(classes) == np.array(expected)))}


def restyled(shop: Workshop, folder: Path, precision: str = "float32") -> Figures:
    """Restyle a photo by the zoo."""
    settings = ["model=style_transfer/fast", "weights=zoo", f"input={shop.data / PHOTO}", f"save={folder / 'out'}"]
    return zoo(["infer", *settings, f"precision={precision}"], 0, folder)[0]


def written(_: int, folder: Path) -> Figures:
    """Generate text by the zoo on torch; return tokens a second without the start."""
    settings = ["model=transformer/lm", "weights=zoo", "prompt=ROMEO:", f"length={TOKENS}", "stack=torch"]
    figures, record = zoo(["infer", *settings], 0, folder)
    return {**figures, "speed": record["metrics"]["items_per_s"]}


def written_by_peer(shop: Workshop, _: int, __: Path) -> Figures:
    """Generate text by the loop of generation_torch.py, with random weights of the same sizes."""
    sizes = json.loads((generation.NETWORK / "request.json").read_text(encoding="utf-8"))["model"]["args"]
    figures = shop.torch_peer("generation_torch.py", json.dumps(sizes), TOKENS)
    return {"speed": figures["tokens_per_s"], "cpu_s": figures["cpu_s"]}


def steps(
    shop: Workshop, network: str, way: str, precision: str, threads: int, added: Path | None, _: int, __: Path
) -> Figures:
    """Take training steps by training_step.py; return items a second of the median step, and its CPU seconds."""
    text = "".join(json.dumps({"steps": count}) + "\n" for count in (4, STEPS[network]))
    words = (network, way, precision, threads, common.ROOT)
    answer = shop.torch_peer("training_step.py", *words, text=text, added=added)
    return {"speed": torch_step.ITEMS[network] / float(np.median(answer["seconds"])), "cpu_s": answer["cpu_seconds"]}


def encoded(precision: str, number: int, folder: Path) -> Figures:
    """Return passes a second of the zoo's encoder by `bench model=transformer`."""
    settings = ["stack=torch", "modes=[evaluation]", f"precisions=[{precision}]", "compiled=false", "repeats=1"]
    words = ["bench", "model=transformer", "implementation=zoo", *settings, f"passes={PASSES}"]
    figures, _ = zoo(words, number, folder)
    rows = json.loads((folder / "run" / "results.json").read_text(encoding="utf-8"))
    timed = [row for row in rows if row["implementation"] == "zoo" and row["mode"] == "evaluation"]
    if not timed or timed[0]["error"]:
        raise CommandError(f"bench model=transformer measured nothing: {timed[0]['error'] if timed else rows}")
    return {**figures, "speed": PASSES / timed[0]["median_s"]}


def served(shop: Workshop, server: str, _: int, folder: Path) -> Figures:
    """Start a server, check one answer, and send requests from several clients.

    Returns:
        Requests a second, processor seconds of the server for each, and 1.0 as accuracy if its answer is right.
    """
    expected = f"class {json.loads((shop.folder / 'answer.json').read_text())}"
    kind = "zoo" if server == "fastapi" else server
    try:
        if server == "zoo":
            with serving.zoo(0.25, "float32", shop.data / WEIGHTS, shop.folder) as target:
                return _load(target, kind, shop.folder, expected)
        port = serving.free_port()
        words = [str(shop.python), "-I", str(common.WORKERS / "peer_serving.py"), server]
        words += [str(shop.mobilenet / "model.onnx"), str(port)]
        address = f"http://127.0.0.1:{port}"
        ready = "/readyz" if server == "bentoml" else "/health"
        with serving.running(words, address + ready) as process:
            return _load((f"{address}/predict", process), kind, shop.folder, expected)
    except (RuntimeError, subprocess.CalledProcessError) as error:
        raise CommandError(str(error)) from None


def _load(target: serving.Served, kind: str, folder: Path, expected: str) -> Figures:
    mime = "application/octet-stream" if kind == "zoo" else "application/json"
    words = [sys.executable, str(common.WORKERS / "http_load.py"), target[0], str(folder / f"{kind}.body"), mime]
    answer = turns.run([*words, str(CLIENTS), str(WARM_S)], common.ROOT, variables()).answer()
    right = float(f'"{expected}"' in answer["first"])
    if shutil.which("wrk"):
        row = serving.load(target, folder / f"{kind}.lua", CLIENTS, LOAD_S)
        return {"speed": row["requests_per_s"], "cpu_s": float(row["cpu_ms"]) / 1000, "accuracy": right}
    before = serving.processor_seconds(target[1])
    answer = turns.run([*words, str(CLIENTS), str(LOAD_S)], common.ROOT, variables()).answer()
    spent = serving.processor_seconds(target[1]) - before
    if answer["failed"]:
        raise CommandError(f"{target[0]} answered {answer['failed']} requests with errors")
    count = answer["requests_per_s"] * LOAD_S
    return {"speed": answer["requests_per_s"], "cpu_s": spent / max(1.0, count), "accuracy": right}


def table(shop: Workshop) -> dict[str, Row]:
    """Return the built-in rows by name."""
    return {
        **_of_digits(shop), **_of_photos(shop), **_of_texts(shop), **_of_language(shop), **_of_steps(shop),
        **_of_servers(shop),
    }  # fmt: skip


def _of_digits(shop: Workshop) -> dict[str, Row]:
    words = ["data=mnist", f"data.root={shop.data / 'mnist'}", "data.validation=0", "backend=cpu", "seed={round}"]
    return {
        name: Row(
            f"MNIST to 0.990 ({model}), whole command", stack, "s",
            functools.partial(trained, ["train", f"model={model}", f"stack={stack}", *words]),
            {"PyTorch, batch normalization, one pass": lambda number, _: shop.torch_peer(
                "peer_mnist.py", shop.data / "mnist", number)},
            25, target=0.990, missing=shop.lacks(*(f"mnist/{name}-ubyte.gz" for name in MNIST)),
        )
        for name, model, stack in (("mnist", "mnist", "tf-2.21"), ("mnist-fast", "mnist_fast", "torch"))
    }  # fmt: skip


def _of_photos(shop: Workshop) -> dict[str, Row]:
    rows = {}
    jpegs = [f"imagenet/photos/{name}" for name in JPEGS]

    def by_peer(way: str, precision: str, *_: object) -> Figures:
        return shop.peer("peer_photos.py", way, shop.mobilenet / "model.onnx", shop.photos, precision, shop.labels)

    for precision in ("float32", "bfloat16"):
        rows[f"photos-{precision}"] = Row(
            f"MobileNet 0.25, {PHOTOS} photos in JPEG files to classes", f"openvino, {precision}", "images/s",
            functools.partial(classified, shop, precision),
            {f"simplejpeg, cv2, OpenVINO, {way}": functools.partial(by_peer, way, precision)
             for way in ("threads", "processes")},
            20, slack=0.02, quality="same class as at full size", prepare=shop.ready("python", "mobilenet", "labels"),
            missing=shop.lacks(WEIGHTS, *jpegs, bfloat16=precision == "bfloat16"),
        )  # fmt: skip

    def probe(name: str, number: int, _: Path) -> Figures:
        return shop.peer("peer_probe.py", shop.images(name, number), shop.mobilenet / "model.onnx")

    def fine_tuned(name: str, number: int, folder: Path) -> Figures:
        words = ["model=mobilenet", "model.alpha=0.25", f"weights={shop.data / WEIGHTS}"]
        words += ["data=folder", f"data.root={shop.images(name, number)}", "stack=tf-2.21", "backend=cpu"]
        return trained(["train", *words, f"seed={number}"], number, folder)

    for name, needs in (("clothes", ["fashion/t10k-images-idx3-ubyte.gz"]), ("paintings", ["style/wave.jpg"])):
        rows[f"set-{name}"] = Row(
            f"MobileNet 0.25 fine-tuned on {4 * small_sets.SIZES[name][0]} images ({name}), whole command", "tf-2.21",
            "s", functools.partial(fine_tuned, name),
            {"OpenVINO features, logistic regression": functools.partial(probe, name)},
            30, slack=0.02, prepare=shop.ready("python", "mobilenet"), missing=shop.lacks(WEIGHTS, *needs),
        )  # fmt: skip

    def painted(_: int, folder: Path) -> Figures:
        figures = restyled(shop, folder)
        return {**figures, "accuracy": similarity(next((folder / "out").iterdir()), shop.painting)}

    def painted_by_peer(runtime: str, _: int, folder: Path) -> Figures:
        file = folder / "out.jpg"
        words = (runtime, shop.style / "model.onnx", shop.data / PHOTO, file)
        return {**shop.peer("peer_style.py", *words), "accuracy": similarity(file, shop.painting)}

    rows["style"] = Row(
        "a photo in a style, one pass, whole command", "default stack, float32", "s", painted,
        {f"{title}, exported network": functools.partial(painted_by_peer, runtime)
         for runtime, title in (("onnxruntime", "ONNX Runtime"), ("openvino", "OpenVINO"))},
        15, target=0.97, quality="similarity", prepare=shop.ready("python", "style", "painting"),
        missing=shop.lacks(PHOTO),
    )  # fmt: skip
    return rows


def similarity(one: Path, two: Path) -> float:
    """Return 1 minus the mean absolute difference of two images of a size, as a share of 255; 0 for two sizes."""
    first, second = (np.asarray(Image.open(path).convert("RGB"), np.float32) for path in (one, two))
    return 1 - float(np.abs(first - second).mean()) / 255 if first.shape == second.shape else 0.0


def _of_texts(shop: Workshop) -> dict[str, Row]:
    words = ["train", "model=transformer/classifier", "stack=torch", "backend=cpu", "linear_baseline=false"]
    columns = ["data=text_table", "data.text_column=text", "data.label_column=category", "seed={round}"]
    of_reviews = ["data=text_folder", f"data.root={shop.data / REVIEWS}", "seed={round}"]
    svm, fast = "words and characters, linear SVM", "fastText"

    def peers(folder: Callable[[int], Path]) -> dict[str, Way]:
        return {
            title: lambda number, _, way=way: shop.peer("peer_texts.py", way, folder(number), number)  # type: ignore[misc]
            for title, way in ((svm, "svm"), (fast, "fasttext"))
        }

    def of_snippets(number: int, folder: Path) -> Figures:
        return trained([*words, *columns, f"data.root={shop.snippets(number)}"], number, folder)

    def reviews(way: str, number: int, _: Path) -> Figures:
        return shop.peer("peer_texts.py", way, shop.data / REVIEWS, number)

    return {
        "snippets": Row(
            "film snippets (rt-polarity), whole command", "torch", "s", of_snippets, peers(shop.snippets), 25,
            slack=0.01, prepare=shop.ready("python"), missing=shop.lacks(*TEXTS),
        ),
        "banking": Row(
            "Banking77, 77 classes of questions, whole command", "torch", "s",
            functools.partial(trained, [*words, *columns, f"data.root={shop.data / BANKING}"]),
            peers(lambda _: shop.data / BANKING), 70, prepares=True, prepare=shop.ready("python"),
            missing=shop.lacks(f"{BANKING}/train.csv", f"{BANKING}/test.csv"),
        ),
        "reviews": Row(
            "film reviews (IMDB), whole command", "torch", "s",
            functools.partial(trained, [*words, *of_reviews]),
            {"words and pairs, logistic regression": functools.partial(reviews, "regression"),
             "log-count ratios of one to three words, linear SVM": functools.partial(reviews, "ratios")},
            120, prepares=True, prepare=shop.ready("python"), missing=shop.lacks(REVIEWS),
        ),
    }  # fmt: skip


def _of_language(shop: Workshop) -> dict[str, Row]:
    return {
        "generation": Row(
            f"{TOKENS:,} tokens of transformer/lm, without the start", "torch, float32", "tokens/s", written,
            {generation.PEER: functools.partial(written_by_peer, shop)}, 12,
        ),
        "encoder": Row(
            "transformer's encoder, evaluation, 1,024 positions", "torch, float32", "passes/s",
            functools.partial(encoded, "float32"),
            {"torch.nn.TransformerEncoder": lambda *_: shop.torch_peer("peer_encoder.py", PASSES)}, 25,
        ),
    }  # fmt: skip


def _of_steps(shop: Workshop) -> dict[str, Row]:
    rows = {}
    ways: dict[str, dict[str, tuple[str, int, Path | None]]] = {
        "language": {
            "PyTorch, explicit attention": ("explicit", 0, None), "PyTorch, fused attention": ("plain", 0, None),
            "PyTorch, explicit attention, one thread": ("explicit", 1, None),
        },
        "mobilenet": {"PyTorch, channels last": ("plain", 0, None), "timm": ("timm", 0, TIMM)},
    }  # fmt: skip
    titles = {"language": ("the language model", "tokens/s", 35), "mobilenet": ("MobileNet 1.0", "images/s", 45)}
    for network, (title, unit, seconds) in titles.items():
        for precision in ("float32", "bfloat16"):
            rows[f"{network}-{precision}"] = Row(
                f"training steps of {title}", f"torch, {precision}", unit,
                functools.partial(steps, shop, network, "zoo", precision, 0, None),
                {name: functools.partial(steps, shop, network, way, precision, threads, added)
                 for name, (way, threads, added) in ways[network].items()},
                seconds, cpu_of="a step", missing=shop.lacks(bfloat16=precision == "bfloat16"),
            )  # fmt: skip
    return rows


def _of_servers(shop: Workshop) -> dict[str, Row]:
    peers = {"FastAPI and OpenVINO": "fastapi", "LitServe": "litserve", "BentoML": "bentoml"}
    return {
        "serving": Row(
            f"MobileNet 0.25 over HTTP, {CLIENTS} clients", "openvino, float32", "requests/s",
            functools.partial(served, shop, "zoo"),
            {title: functools.partial(served, shop, name) for title, name in peers.items()},
            60, target=1.0, quality="same class", cpu_of="a request",
            prepare=shop.ready("python", "mobilenet", "request"),
            missing=shop.lacks(WEIGHTS),
        ),
    }  # fmt: skip


def from_file(path: Path, shop: Workshop) -> dict[str, Row]:
    """Return rows of a JSON file: ``{NAME: {"what": ..., "unit": ..., "zoo": COMMAND, "peers": {NAME: COMMAND}}}``.

    A command is a list of words, run in the current folder. Its last line of output may be JSON with ``speed``,
    ``cpu_s`` and ``accuracy``; without ``speed``, its wall seconds count. ``target``, ``slack``, ``seconds`` and
    ``needs``, a list of files in the data folder, are optional.
    """

    def way(words: list[str]) -> Way:
        return lambda _, __: costs(turns.run(words, Path.cwd()))

    rows = {}
    for name, row in json.loads(path.read_text(encoding="utf-8")).items():
        rows[name] = Row(
            row["what"], row.get("how", ""), row["unit"], way(row["zoo"]),
            {peer: way(words) for peer, words in row["peers"].items()}, row.get("seconds", 1.0),
            target=row.get("target"), slack=row.get("slack", 0.005), missing=shop.lacks(*row.get("needs", ())),
        )  # fmt: skip
    return rows
