"""Runs transformers for tests and scripts/maintenance/golden.py; runs inside a stack, Python 3.6 or newer.

With ``golden_out`` PyTorch's own encoder is asked and its weights, inputs and outputs are written; else the zoo's
encoder, and what it says is written, one array a case.
"""

import os

import numpy as np

SIZES = {"layers": 2, "d_model": 16, "heads": 4, "d_ff": 24}
LENGTH, BATCH = 7, 3
ENCODERS = (
    ("post_relu", {"norm_first": False, "activation": "relu"}),
    ("pre_gelu", {"norm_first": True, "activation": "gelu", "final_norm": True}),
)
CASES = tuple((causal, padding) for causal in (False, True) for padding in (False, True))
# Language models that NumPy decodes.
DECODED = {
    "pre_gelu_tied": {"norm_first": True, "activation": "gelu", "tied": True},
    "post_relu": {"norm_first": False, "activation": "relu", "tied": False},
}
TEXT = {"vocabulary": 20, "length": LENGTH, "layers": 2, "d_model": 16, "heads": 2, "d_ff": 24}


def name_of(encoder, causal, padding):
    return encoder + ("_causal" if causal else "") + ("_padding" if padding else "")


def golden(out):
    """Write what PyTorch's encoder makes of random vectors, with weights far from those it begins with."""
    import torch

    arrays = {}
    x = torch.randn(BATCH, LENGTH, SIZES["d_model"], generator=torch.Generator().manual_seed(1))
    keep = torch.ones(BATCH, LENGTH)
    keep[1, 4:], keep[2, 1:] = 0, 0
    arrays["x"], arrays["keep"] = x.numpy(), keep.numpy()
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
        arrays.update((name + "/" + key, value.numpy()) for key, value in model.state_dict().items())
        for causal, padding in CASES:
            past = torch.ones(LENGTH, LENGTH).triu(1).bool() if causal else None
            answer = model(x, mask=past, src_key_padding_mask=keep == 0 if padding else None)
            arrays[name_of(name, causal, padding)] = answer.detach().numpy()
    np.savez_compressed(out, **arrays)


def compare(request):
    """Run the zoo's encoder over the golden inputs, and the models of text over tokens."""
    from zoo.models import compat, transformer
    from zoo.worker import weights

    arrays, answers = {}, {"keras": compat.version(), "backend": compat.backend_name()}
    stored = np.load(request["golden"])
    x, keep, fused = stored["x"], stored["keep"], compat.backend_name() == "torch"
    for name, settings in ENCODERS:
        for causal in (False, True):
            compat.keras.backend.clear_session()
            models = {}
            for masked in (True, False) if fused else (True,):
                arguments = dict(SIZES, length=LENGTH, causal=causal, masked=masked, **settings)
                models[masked] = transformer.build(compat, **arguments)
                weights.load(models[masked], request["weights"] % name)
            arrays[name_of(name, causal, True)] = compat.outputs(models[True], [x, keep])[0]
            whole = compat.outputs(models[not fused], x if fused else [x, np.ones_like(keep)])[0]
            arrays[name_of(name, causal, False)] = whole
            if causal:
                arrays[name + "_nothing"] = compat.outputs(models[True], [x, np.zeros_like(keep)])[0]
        arrays[name + "_by_torch_names"] = by_torch_names(request["weights"] % name, settings, [x, keep])
    texts(arrays, answers, request)
    np.savez(os.path.join(request["out"], "arrays.npz"), **arrays)
    return answers


def by_torch_names(path, settings, inputs):
    """Compute with the encoder that users build, whose arguments bear the names of PyTorch."""
    from zoo import models
    from zoo.models import compat

    model = models.TransformerEncoder(
        num_encoder_layers=SIZES["layers"],
        d_model=SIZES["d_model"],
        nhead=SIZES["heads"],
        dim_feedforward=SIZES["d_ff"],
        length=LENGTH,
        masked=True,
        **settings,
    )
    models.load_weights(model, path)
    return compat.outputs(model, inputs)[0]


def texts(arrays, answers, request):
    """What the models of text begin with, say, and learn."""
    from zoo.models import compat
    from zoo.models.transformer import classifier, decoding, lm
    from zoo.worker import weights

    compat.keras.backend.clear_session()
    tokens = np.random.RandomState(2).randint(1, TEXT["vocabulary"], (2, LENGTH)).astype(np.int32)
    language = dict(TEXT, deviation=0.3, tied=request["tied"])
    model = lm.build(compat, fixed=True, **language)
    weights.initialise(model, 5)
    answers["lm"] = compat.named_weights(model)
    names = {type(layer).__name__ for layer in model.layers}
    arrays["lm"] = compat.outputs(model, tokens)[0]
    cached = decoding.CachedDecoder(language, model.get_weights(), batch=2)
    arrays["steps"] = np.stack([cached.step(tokens[:, place]) for place in range(LENGTH)], axis=1)
    decoded(arrays, tokens)
    tokens[1, 3:] = 0
    model = classifier.build(compat, classes=3, dropout=0.0, fixed=True, **TEXT)
    weights.initialise(model, 5)
    answers["classifier"] = compat.named_weights(model)
    answers["classes"] = sorted(names.union(type(layer).__name__ for layer in model.layers))
    arrays["classifier"] = compat.outputs(model, tokens)[0]
    if request["trains"]:
        compat.compile_classifier(model, "sgd", 0.1, False)
        before = model.get_weights()
        model.train_on_batch(tokens, np.eye(3, dtype=np.float32)[[0, 2]])
        changes = [new - old for new, old in zip(model.get_weights(), before)]  # noqa: B905  (Python 3.6)
        arrays["gradients"] = np.array([np.sqrt(np.square(each).sum()) / 0.1 for each in changes])
        dropping(answers)
    saved(arrays, tokens, model, request)


def decoded(arrays, tokens):
    """Logits of whole texts, and those of NumPy's decoder after three tokens together and each of the rest."""
    from zoo.models import compat
    from zoo.models.transformer import lm, numpy_decoding
    from zoo.worker import weights

    for name, settings in DECODED.items():
        model = lm.build(compat, fixed=True, deviation=0.3, **dict(TEXT, **settings))
        weights.initialise(model, 7)
        arrays["whole_" + name] = compat.outputs(model, tokens)[0][0, 2:]
        named = dict(zip((path for path, _ in compat.named_weights(model)), model.get_weights()))  # noqa: B905
        own = {key: settings[key] for key in ("activation", "norm_first")}
        decoder = numpy_decoding.NumpyDecoder(named, TEXT["heads"], **own)
        first, rest = tokens[0, :3], tokens[0, 3:]
        arrays["decoded_" + name] = np.stack([decoder.read(first), *(decoder.read([token]) for token in rest)])


def dropping(answers):
    """Dropout drops while training, and then only."""
    from zoo.models import compat, transformer

    model = transformer.build(compat, length=LENGTH, dropout=0.5, **SIZES)
    model.compile("sgd", "mse")
    x = np.random.RandomState(3).randn(2, LENGTH, SIZES["d_model"]).astype(np.float32)
    y = compat.outputs(model, x)[0]
    answers["evaluated_loss"] = float(np.ravel(model.test_on_batch(x, y))[0])
    answers["trained_loss"] = float(np.ravel(model.train_on_batch(x, y))[0])


def saved(arrays, tokens, model, request):
    """The model's own file, read again."""
    from zoo.models import compat

    if not request["trains"]:
        return
    path = os.path.join(request["out"], "own" + compat.native_suffix())
    arrays["before"] = compat.outputs(model, tokens)[0]
    model.save(path)
    arrays["after"] = compat.outputs(compat.keras.models.load_model(path), tokens)[0]


def mixed(request):
    """The same encoder in half the precision."""
    from zoo.models import compat, transformer
    from zoo.worker import weights

    name, settings = ENCODERS[1]
    stored, arrays = np.load(request["golden"]), {}
    for policy in ("mixed_bfloat16", "bfloat16", "float32"):
        compat.keras.config.set_dtype_policy(policy)
        model = transformer.build(compat, length=LENGTH, masked=True, **dict(SIZES, **settings))
        weights.load(model, request["weights"] % name)
        arrays[policy] = np.asarray(model.predict([stored["x"], stored["keep"]], verbose=0)).astype(np.float32)
    np.savez(os.path.join(request["out"], "mixed.npz"), **arrays)


def attended(request):
    """Attention of texts of 9 tokens and its gradients: in bfloat16, all together and one by one, and in float32."""
    import torch

    from zoo.models.compat import attention

    arrays, drawn, products = {}, torch.Generator().manual_seed(1), []
    by_products, together = attention._by_products, attention.PAIRS_TOGETHER

    def counted(*parts):
        products.append(len(parts[0]))
        return by_products(*parts)

    attention._by_products = counted
    q, k, v, wanted = torch.randn(4, 5, 9, 8, generator=drawn)
    keep = (torch.arange(9) < torch.tensor([9, 1, 4, 9, 6])[:, None]).float()
    cases = {"plain": (None, False), "past": (None, True), "kept": (keep, False), "kept past": (keep, True)}
    ways = (
        ("float32", torch.float32, together),
        ("together", torch.bfloat16, together),
        ("one by one", torch.bfloat16, 1),
    )
    for case, (masked, causal) in cases.items():
        for way, kind, pairs in ways:
            attention.PAIRS_TOGETHER = pairs
            del products[:]
            parts = [each.clone().to(kind).requires_grad_() for each in (q, k, v)]
            output = attention.attention(*parts, heads=2, keep=masked, causal=causal, drop=None)
            (output * wanted.to(kind)).sum().backward()
            values = torch.stack([output, *(each.grad for each in parts)])
            arrays[case + ", " + way] = values.detach().float().numpy()
            arrays[case + ", texts of products, " + way] = np.array(products)
    attention._by_products, attention.PAIRS_TOGETHER = by_products, together
    np.savez(os.path.join(request["out"], "attended.npz"), **arrays)


def answer(request):
    """Names and shapes of the weights, and answers; the arrays are written beside."""
    if request.get("golden_out"):
        golden(request["golden_out"])
        return {}
    answers = compare(request)
    if request["mixed"]:
        mixed(request)
    if request["framework"] == "torch":
        attended(request)
    return answers
