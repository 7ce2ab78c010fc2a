"""What the conformance tests ask of each stack: builders of the requests that tests/support/workers answer."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.support import CHECKOUT, published
from tests.support.workers.transformer import ENCODERS
from zoo.config.schemas.text import TextTrainer
from zoo.environments.stacks import Stack
from zoo.weights import convert, io

ASSETS = CHECKOUT / "assets" / "golden"
GOLDEN = {path.stem: json.loads(path.read_text()) for path in sorted(ASSETS.glob("mobilenet*.json"))}
TRANSFORMER = ASSETS / "transformer.npz"
DATA = Path(os.environ.get("ZOO_TEST_DATA") or CHECKOUT.parent / "shared" / "data")
PUBLISHED = DATA / "mobilenet" / "mobilenet_v1_0.25_224.h5"

# The stack whose own keras.applications answers, and the one that learns the texts the others are asked about.
REFERENCE, FIRST = "tf-2.21", "torch"
THEIRS = {"mobilenet": "MobileNet", "mobilenet_v2": "MobileNetV2"}
# All five networks on one stack; elsewhere one or both architectures, since compiling them takes seconds.
SMALLEST = "mobilenet_0.25"
NETWORKS = {
    REFERENCE: tuple(GOLDEN),
    "tf-1.8": (SMALLEST, "mobilenet_1.0", "mobilenet_v2_1.0"),
    "plaidml-0.7": (SMALLEST, "mobilenet_v2_1.0"),
    "tf-2.5": (SMALLEST,),
    "torch": (SMALLEST,),
    "jax": (SMALLEST,),
    "openvino": (SMALLEST,),
    "mlx": (SMALLEST, "mobilenet_v2_1.0"),
}
STACKS: dict[str, tuple[str, ...]] = {
    "probes": ("tf-2.21", "tf-1.8", "plaidml-0.7", "torch", "jax", "openvino", "mlx"),
    "saving": ("tf-1.8",),
    "golden": tuple(NETWORKS),
    "frozen": ("tf-2.21", "tf-1.8", "plaidml-0.7", "torch", "mlx"),
    "features": ("torch", "tf-2.21", "tf-1.8", "tf-2.12", "tf-2.5", "plaidml-0.7", "jax", "openvino", "mlx"),
    "states": ("torch", "tf-2.21", "tf-1.8", "tf-2.5", "tf-2.12", "plaidml-0.7", "jax", "mlx"),
    "steps": ("tf-2.21", "torch", "jax", "mlx"),
    "embedding": ("tf-2.21", "torch", "jax", "tf-1.8", "tf-2.5", "tf-2.12", "plaidml-0.7", "mlx"),
    "maps": ("torch", "jax"),
    "style": ("tf-2.21", "tf-1.8", "tf-2.5", "torch", "jax", "openvino", "plaidml-0.7", "mlx"),
    "text": ("torch", "tf-2.21", "tf-1.8", "plaidml-0.7", "mlx"),
    "spatial": ("torch",),
    "transposes": ("openvino",),
    "transformer": ("torch", "tf-2.21", "jax", "openvino", "tf-2.12", "tf-2.5", "tf-1.8", "plaidml-0.7", "mlx"),
}
KERAS_3 = ("torch", "tf-2.21", "mlx")  # where the transformer also computes in half the precision
FROZEN = {"first": ["conv", "conv_bn"], "normalisation": ["conv_bn", "conv2_bn"], "nothing": []}
# Where the style network also grows by repeating: every generation of Keras once.
REPEATING = ("tf-2.21", "tf-1.8", "torch", "plaidml-0.7")
NARROW = "tf-2.21"
GROWING = ("up1/kernel", "up2/kernel")

VOCABULARY, LENGTH = 12, 16
SMALL = {"vocabulary": VOCABULARY, "length": LENGTH, "layers": 1, "d_model": 16, "heads": 2, "d_ff": 24,
         "activation": "gelu", "norm_first": True, "probabilities": True}  # fmt: skip
LANGUAGE = SMALL | {"length": 8, "dropout": 0.0, "tied": True}
CLASSIFIER = SMALL | {"classes": 2, "pair_buckets": 97, "spelling": True, "dropout": 0.1, "attention_dropout": 0.0,
                      "pooling": "mean"}  # fmt: skip

# Arguments that both must take, or refuse for the value that is named.
GOOD: list[dict[str, Any]] = [
    {"weights": None},
    {"weights": None, "include_top": False, "pooling": "avg", "input_shape": [64, 96, 3], "alpha": 0.5},
    {"weights": None, "include_top": False, "pooling": "max", "input_shape": [None, None, 1]},
    {"weights": None, "input_shape": [33, 47, 3], "classes": 7, "name": "mine", "classifier_activation": None},
    {"weights": None, "tensor": True, "classes": 3},
]
BAD: list[tuple[dict[str, Any], str]] = [
    ({"weights": "nowhere.h5"}, "nowhere.h5"),
    ({"classes": 10}, "10"),
    ({"weights": None, "input_shape": [31, 64, 3]}, "31"),
    ({"weights": None, "input_shape": [64, 64]}, "(64, 64)"),
    ({"weights": None, "input_shape": [None, None, 3]}, "None"),
    ({"input_shape": [200, 200, 3]}, "200"),
    ({"input_shape": [64, 64, 4], "include_top": False}, "(64, 64, 4)"),
    ({"alpha": 0.3}, "0.3"),
    ({"weights": None, "classes": 0}, "0"),
    ({"weights": __file__, "classifier_activation": "relu"}, "relu"),
]
ONLY_V1: list[tuple[dict[str, Any], str]] = [({"depth_multiplier": 2}, "2"), ({"weights": None, "alpha": 0.0}, "0.0")]


def _cases() -> list[tuple[str, dict[str, Any], str | None]]:
    cases: list[tuple[str, dict[str, Any], str | None]] = []
    for name in ("MobileNet", "MobileNetV2"):
        cases += [(name, arguments, None) for arguments in (GOOD if name == "MobileNet" else GOOD[-2:])]
        cases += [(name, arguments, word) for arguments, word in [*BAD, *(ONLY_V1 if name == "MobileNet" else [])]]
    return cases


CASES = _cases()


def nothing(_row: Stack, _out: Path, _root: Path) -> dict[str, Any]:
    """The part needs no more than the stack."""
    return {}


def golden(row: Stack, out: Path, _root: Path) -> dict[str, Any]:
    """The networks with drawn weights, files of weights, and on one stack what keras.applications says."""
    drawn = ("key", "model", "args", "seed", "count", "gain")
    jobs = [{name: GOLDEN[key][name] for name in drawn} for key in NETWORKS[row.name]]
    jobs += _photos(out) if PUBLISHED.is_file() else []
    _weights_files(out)
    request: dict[str, Any] = {"step": row.trains, "files": str(out)}
    if row.name == REFERENCE:
        jobs = [job | {"against": THEIRS[job["model"]]} for job in jobs]
        request |= {"cases": [case[:2] for case in CASES], "imagenet": PUBLISHED.is_file() and str(PUBLISHED)}
    return request | {"jobs": jobs}


def _weights_files(out: Path) -> None:
    """Weights of the smallest network, in the kinds that the host writes."""
    random, shapes = np.random.default_rng(0), GOLDEN[SMALLEST]["weights"].items()
    drawn = io.Weights({name: random.random(shape).astype("f4") for name, shape in shapes}, "drawn")
    for kind in ("w.npz", "w.h5", "w.weights.h5"):
        io.write(out / kind, drawn)


def _photos(out: Path) -> list[dict[str, Any]]:
    """The published network on real photos, by way of the zoo's own reading of its file."""
    convert.convert(PUBLISHED, out / "published.npz")
    opened = [Image.open(file) for file in sorted((DATA / "imagenet" / "photos").iterdir())]
    np.save(out / "pictures.npy", np.stack([np.asarray(each.convert("RGB").resize((224, 224))) for each in opened]))
    given = {
        "weights": str(out / "published.npz"),
        "pictures": str(out / "pictures.npy"),
        "published": str(PUBLISHED),
    }
    return [{"key": "photos", "model": "mobilenet", "args": {"alpha": 0.25, "input_size": 224}, **given}]


def frozen(_row: Stack, _out: Path, _root: Path) -> dict[str, Any]:
    """Which layers learn nothing, by case."""
    return {"frozen": FROZEN}


def style(row: Stack, out: Path, _root: Path) -> dict[str, Any]:
    """A small style network with published weights, in both ways of growing."""
    published.style_network(out / "net", filters=3, blocks=1, edge=5)
    convert.convert(out / "net", out / "net.npz")
    arrays = io.read(out / "net.npz").arrays
    grown = {name: each.swapaxes(2, 3) if name in GROWING else each for name, each in arrays.items()}
    io.write(out / "repeats.npz", io.Weights(grown, "drawn"))
    request = {"model": {"filters": 3, "blocks": 1, "kernel_size": 5}, "trains": row.trains}
    return request | {"narrow": row.name == NARROW, "repeats": row.name in REPEATING}


def transformer(row: Stack, out: Path, _root: Path) -> dict[str, Any]:
    """The golden inputs and PyTorch's weights."""
    for name, _ in ENCODERS:
        encoder_weights(out, name)
    request: dict[str, Any] = {"golden": str(TRANSFORMER), "weights": str(out / "%s.npz"), "trains": row.trains}
    return request | {"tied": row.name != "jax", "mixed": row.name in KERAS_3}


def encoder_weights(folder: Path, encoder: str) -> None:
    """PyTorch's weights of a golden encoder, turned into the zoo's by the zoo's own conversion."""
    stored = np.load(TRANSFORMER)
    prefix = f"{encoder}/"
    arrays = {name.removeprefix(prefix): stored[name] for name in stored.files if name.startswith(prefix)}
    io.write(folder / f"{encoder}.safetensors", io.Weights(arrays, "PyTorch's", order_problems=("no order",)))
    convert.convert(folder / f"{encoder}.safetensors", folder / f"{encoder}.npz")


def text(row: Stack, out: Path, root: Path) -> dict[str, Any]:
    """Train and ask a classifier, train a language model of a text that repeats itself, and let it write."""
    for name in ("classifier", "asked", "language"):
        (out / name).mkdir()
    weights = root / FIRST / "text" / "classifier" / "weights.npz"
    data, clip = _texts(out), None if row.name.startswith("plaidml") else 1.0
    np.save(out / "text.npy", np.tile([2, 3, 4, 5, 6, 7], 60).astype(np.uint16))
    np.save(out / "held_back.npy", np.load(out / "text.npy")[300:360])
    language = {"tokens": str(out / "text.npy"), "parts": {"train": [0, 300], "validation": [300, 360]}}
    pieces = ["", "\u00ef\u00bf\u00bd", *"abcdefghij"]
    asked = {key: path for key, path in data.items() if key != "split"}
    return {"requests": [
        {"job": "train_text_classifier", "model": {"name": "transformer/classifier", "args": dict(CLASSIFIER)},
         "data": data, "train": _text_settings(epochs=6, clip=clip), "pieces": pieces,
         "run_dir": str(out / "classifier")},
        {"job": "predict_text", "model": {"name": "transformer/classifier", "args": dict(CLASSIFIER)}, "data": asked,
         "weights": str(weights), "infer": {"batch_size": 20}, "run_dir": str(out / "asked")},
        {"job": "train_language_model", "model": {"name": "transformer/lm", "args": dict(LANGUAGE)},
         "data": language, "train": _text_settings(epochs=2, steps=40, clip=clip), "run_dir": str(out / "language")},
        {"job": "generate_text", "model": {"name": "transformer/lm", "args": dict(LANGUAGE)},
         "weights": str(out / "language" / "weights.npz"), "pieces": pieces, "run_dir": str(out / "language"),
         "generate": {"tokens": [2, 3], "prompt": "ab", "length": 20, "temperature": 0.0, "seed": 1}},
        {"job": "score_text", "model": {"name": "transformer/lm", "args": dict(LANGUAGE)},
         "weights": str(out / "language" / "weights.npz"), "data": {"tokens": str(out / "held_back.npy")},
         "run_dir": str(out / "language")},
    ]}  # fmt: skip


def _texts(folder: Path, count: int = 96) -> dict[str, str]:
    """Texts of 1 to 40 tokens; those of class 1 hold token 5 somewhere where it is read, those of class 0 do not."""
    random = np.random.default_rng(1)
    pieces, labels = [], np.arange(count) % 2
    for label in labels:
        piece = random.choice([2, 3, 4, 6, 7, 8], random.integers(1, 41))
        if label:
            piece[min(len(piece), LENGTH // 2) - 1 if len(piece) > LENGTH else 0] = 5
        pieces.append(piece)
    order = random.permutation(count)
    arrays = {
        "tokens": np.concatenate(pieces).astype(np.uint16),
        "offsets": np.cumsum([0, *(len(piece) for piece in pieces)]),
        "labels": labels.astype(np.int64),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    np.savez(folder / "split.npz", train=order[:64], validation=order[64:80], test=order[80:])
    return {name: str(folder / f"{name}.npy") for name in arrays} | {"split": str(folder / "split.npz")}


def _text_settings(**changed: Any) -> dict[str, Any]:
    small = TextTrainer(batch_size=16, learning_rate=0.01, clip=1.0, word_dropout=0.05, label_smoothing=0.05)
    return dataclasses.asdict(small) | {"seed": 1} | changed


# In the order in which a stack answers them: the probes see a framework that did nothing before.
BUILDERS = {
    "probes": nothing,
    "saving": nothing,
    "golden": golden,
    "frozen": frozen,
    "features": nothing,
    "states": nothing,
    "steps": nothing,
    "embedding": nothing,
    "maps": nothing,
    "style": style,
    "text": text,
    "spatial": nothing,
    "transposes": nothing,
    "transformer": transformer,
}
# What the tests of other stacks compare with, of the stacks that they compare with.
COMPARED = {REFERENCE: ["golden"], FIRST: ["text", "transformer"]}


def of(stack: str) -> list[str]:
    """The parts that a stack answers."""
    return [name for name in BUILDERS if stack in STACKS[name]]
