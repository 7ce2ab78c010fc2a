"""Runs transformers inside a stack's interpreter for tests and scripts/maintenance/golden.py, Python 3.6 or newer.

``python -I -B transformer_worker.py request.json``. With ``golden`` PyTorch's own encoder is asked and its weights,
inputs and outputs are written; else the zoo's encoder, and what it says is written, one array a case.
"""

import importlib
import json
import os
import runpy
import sys

import numpy as np

SIZES = {"layers": 2, "d_model": 16, "heads": 4, "d_ff": 24}
LENGTH, BATCH = 7, 3
ENCODERS = (
    ("post_relu", {"norm_first": False, "activation": "relu"}),
    ("pre_gelu", {"norm_first": True, "activation": "gelu", "final_norm": True}),
)
CASES = tuple((causal, padding) for causal in (False, True) for padding in (False, True))
TEXT = {"vocabulary": 20, "length": LENGTH, "layers": 2, "d_model": 16, "heads": 2, "d_ff": 24}


def name_of(encoder, causal, padding):
    return encoder + ("_causal" if causal else "") + ("_padding" if padding else "")


def golden(out):
    """Write what PyTorch's encoder makes of random vectors, with weights far from those it begins with."""
    import torch

    found = {}
    x = torch.randn(BATCH, LENGTH, SIZES["d_model"], generator=torch.Generator().manual_seed(1))
    keep = torch.ones(BATCH, LENGTH)
    keep[1, 4:], keep[2, 1:] = 0, 0
    found["x"], found["keep"] = x.numpy(), keep.numpy()
    for seed, (name, settings) in enumerate(ENCODERS):
        torch.manual_seed(seed)
        layer = torch.nn.TransformerEncoderLayer(
            SIZES["d_model"],
            SIZES["heads"],
            SIZES["d_ff"],
            activation=settings["activation"],
            batch_first=True,
            norm_first=settings["norm_first"],
        )
        last = torch.nn.LayerNorm(SIZES["d_model"]) if settings.get("final_norm") else None
        model = torch.nn.TransformerEncoder(layer, SIZES["layers"], last, enable_nested_tensor=False).eval()
        for value in model.state_dict().values():
            value.add_(0.2 * torch.randn(value.shape))
        found.update((name + "/" + key, value.numpy()) for key, value in model.state_dict().items())
        for causal, padding in CASES:
            past = torch.ones(LENGTH, LENGTH).triu(1).bool() if causal else None
            answer = model(x, mask=past, src_key_padding_mask=keep == 0 if padding else None)
            found[name_of(name, causal, padding)] = answer.detach().numpy()
    np.savez_compressed(out, **found)


def compare(request):
    """Run the zoo's encoder over the golden inputs, and the models of text over tokens."""
    from zoo.models import compat, transformer
    from zoo.worker import weights

    found, told = {}, {"keras": compat.version(), "backend": compat.backend_name()}
    stored = np.load(request["golden"])
    x, keep, fused = stored["x"], stored["keep"], compat.backend_name() == "torch"
    for name, settings in ENCODERS:
        for causal in (False, True):
            models = {}
            for masked in (True, False) if fused else (True,):
                arguments = dict(SIZES, length=LENGTH, causal=causal, masked=masked, **settings)
                models[masked] = transformer.build(compat, **arguments)
                weights.load(models[masked], request["weights"] % name)
            found[name_of(name, causal, True)] = compat.outputs(models[True], [x, keep])[0]
            whole = compat.outputs(models[not fused], x if fused else [x, np.ones_like(keep)])[0]
            found[name_of(name, causal, False)] = whole
            if causal:
                found[name + "_nothing"] = compat.outputs(models[True], [x, np.zeros_like(keep)])[0]
    texts(found, told, request)
    np.savez(os.path.join(request["out"], "found.npz"), **found)
    with open(os.path.join(request["out"], "told.json"), "w") as stream:
        json.dump(told, stream)


def texts(found, told, request):
    """What the models of text begin with, say, and learn."""
    from zoo.models import compat
    from zoo.models.transformer import classifier, decoding, lm
    from zoo.worker import weights

    tokens = np.random.RandomState(2).randint(1, TEXT["vocabulary"], (2, LENGTH)).astype(np.int32)
    language = dict(TEXT, deviation=0.3, tied=request["tied"])
    model = lm.build(compat, fixed=True, **language)
    weights.initialise(model, 5)
    told["lm"] = compat.named_weights(model)
    found["lm"] = compat.outputs(model, tokens)[0]
    cached = decoding.Cached(language, model.get_weights(), batch=2)
    found["steps"] = np.stack([cached.next(tokens[:, place]) for place in range(LENGTH)], axis=1)
    tokens[1, 3:] = 0
    model = classifier.build(compat, classes=3, dropout=0.0, fixed=True, **TEXT)
    weights.initialise(model, 5)
    told["classifier"] = compat.named_weights(model)
    found["classifier"] = compat.outputs(model, tokens)[0]
    if request["trains"]:
        compat.compile_classifier(model, "sgd", 0.1, False)
        before = model.get_weights()
        model.train_on_batch(tokens, np.eye(3, dtype=np.float32)[[0, 2]])
        changes = [new - old for new, old in zip(model.get_weights(), before)]  # noqa: B905  (Python 3.6)
        found["gradients"] = np.array([np.sqrt(np.square(each).sum()) / 0.1 for each in changes])
        dropping(told)
    saved(found, tokens, model, request)


def dropping(told):
    """Dropout drops while training, and then only."""
    from zoo.models import compat, transformer

    model = transformer.build(compat, length=LENGTH, dropout=0.5, **SIZES)
    model.compile("sgd", "mse")
    x = np.random.RandomState(3).randn(2, LENGTH, SIZES["d_model"]).astype(np.float32)
    y = compat.outputs(model, x)[0]
    told["evaluated_loss"] = float(np.ravel(model.test_on_batch(x, y))[0])
    told["trained_loss"] = float(np.ravel(model.train_on_batch(x, y))[0])


def saved(found, tokens, model, request):
    """The model's own file, read again."""
    from zoo.models import compat

    if not request["trains"]:
        return
    path = os.path.join(request["out"], "own" + compat.native_suffix())
    found["before"] = compat.outputs(model, tokens)[0]
    model.save(path)
    found["after"] = compat.outputs(compat.keras.models.load_model(path), tokens)[0]


def mixed(request):
    """The same encoder in half the precision."""
    from zoo.models import compat, transformer
    from zoo.worker import weights

    name, settings = ENCODERS[1]
    stored, found = np.load(request["golden"]), {}
    for policy in ("mixed_bfloat16", "bfloat16", "float32"):
        compat.keras.config.set_dtype_policy(policy)
        model = transformer.build(compat, length=LENGTH, masked=True, **dict(SIZES, **settings))
        weights.load(model, request["weights"] % name)
        found[policy] = np.asarray(model.predict([stored["x"], stored["keep"]], verbose=0)).astype(np.float32)
    np.savez(os.path.join(request["out"], "mixed.npz"), **found)


def main(path):
    with open(path) as stream:
        request = json.load(stream)
    if request.get("golden_out"):
        golden(request["golden_out"])
        return
    runpy.run_path(os.path.join(request["zoo"], "worker", "bootstrap.py"))
    os.environ["ZOO_KERAS"] = request["keras"]
    importlib.import_module("zoo.worker.devices." + request["framework"]).start({"promise": "cpu"})
    compare(request)
    if request["mixed"]:
        mixed(request)


if __name__ == "__main__":
    main(sys.argv[1])
