"""Trains networks by the zoo's steps and by Keras's own, from the same weights; runs inside a stack."""

STEPS = 6


def answer(request):
    """For each case the largest differences of loss, accuracy and second moments, and what else the steps did.

    ``learnt`` is how far Keras's steps reduced the loss, ``calls`` how often the zoo's called a layer of Keras.
    """
    if request["framework"] == "torch":
        import torch

        torch.set_num_threads(2)  # with which the language model learns from a batch by halves
    return {name: _differences(*case) for name, case in _cases().items()}


def _cases():
    from zoo.models import mnist, mnist_dense, mnist_fast
    from zoo.models.transformer import lm

    def language(compat):
        return lm.build(compat, 11, 8, layers=2, d_model=16, heads=2, probabilities=True)

    def convolutions(compat):
        return mnist.build(compat, input_shape=(16, 16, 1), dropout=0.3)

    def shared(compat):
        from zoo.models.compat import tensors
        from zoo.models.transformer.layers import ZooLayer

        class Sum(ZooLayer):
            """Two tables with one gradient, and one that has no part in it."""

            def build(self, _):
                self._add_weights(dict.fromkeys(("one", "two", "unused"), ((11, 11), 0.1)))
                self.built = True

            def call(self, tokens):
                return tensors.take(tensors.weight(self.one) + tensors.weight(self.two), tokens)

        tokens = compat.keras.Input((8,), dtype="int32")
        softmax = compat.keras.layers.Activation("softmax", name="probabilities")
        return compat.keras.Model(tokens, softmax(Sum(name="sum")(tokens)))

    def points(compat):
        layers = compat.keras.layers
        return compat.keras.Sequential([
            layers.Conv2D(10, 1, name="points", input_shape=(1, 1, 24)), layers.Flatten(name="flatten"),
            layers.Activation("softmax", name="predictions"),
        ])  # fmt: skip

    def twice(compat):
        """One dense layer with a softmax, used in the middle of the network too."""
        layers = compat.keras.layers
        pixels, dense = compat.keras.Input((10, 10, 1)), layers.Dense(10, activation="softmax", name="dense")
        mean = layers.GlobalAveragePooling2D(name="mean")(layers.Conv2D(10, 3, name="conv")(pixels))
        return compat.keras.Model(pixels, dense(dense(mean)))

    def normalized(compat):
        return mnist_fast.build(compat, input_shape=(16, 16, 1), bn_momentum=0.5)

    def dense(compat):
        return mnist_dense.build(compat, input_shape=(16, 16, 1), dropout=0.3)

    regularized = {"weight_decay": 0.1, "clip": 0.5, "beta_2": 0.99}
    return {
        "language model, clipped and shrunk": (language, "adam", regularized, False),
        "language model, clipped by nothing": (language, "adam", {"clip": 1e3}, False),
        "two tables with one gradient": (shared, "adam", {"clip": 1e-3}, False),
        "convolutions": (convolutions, "adam", {}, False),
        "convolutions, weighted items": (convolutions, "adam", {"clip": 1.0}, True),
        "a convolution of single points of one point": (points, "adam", {}, False),
        "batch normalization": (normalized, "adam", {}, False),
        "a dense layer with a softmax, used twice": (twice, "adam", {}, False),
        "dense, softmax in the last layer": (dense, "adam", {}, True),
        "another rule": (dense, "momentum", {"clip": 1.0}, False),
        "regularized": (_regularized, "adam", {"clip": 1.0}, True),
    }


def _regularized(compat):
    layers = compat.keras.layers
    return compat.keras.Sequential([
        layers.Flatten(name="flatten", input_shape=(16, 16, 1)),
        layers.Dense(10, kernel_regularizer="l2", kernel_constraint="non_neg", name="hidden"),
        layers.Activation("softmax", name="predictions"),
    ])  # fmt: skip


def _differences(build, optimizer, settings, weighted):
    import numpy as np

    from zoo.models import compat

    own, keras = (_train(build, optimizer, settings, weighted, by_keras) for by_keras in (False, True))
    rows = {name: float(np.abs(own[name] - keras[name]).max()) for name in ("loss", "accuracy")}
    apart = [
        np.abs(a - b).max() / (1e-6 + np.abs(b).max()) for a, b in zip(own["moments"], keras["moments"], strict=True)
    ]
    compat.keras.backend.clear_session()
    return dict(rows, moments=float(max(apart)), learnt=keras["learnt"], calls=own["calls"])


def _train(build, optimizer, settings, weighted, by_keras):
    import numpy as np

    from zoo.models import compat
    from zoo.worker import weights

    compat.seed(3)
    model = build(compat)
    weights.initialise(model, 3)
    compat.compile_classifier(model, optimizer, 1e-2, False, **settings)
    draw, figures = np.random.RandomState(0), []
    if len(model.inputs[0].shape) == 2:
        x = draw.randint(0, 11, (16, 8)).astype(np.int32)
        y = np.eye(11, dtype=np.float32)[draw.randint(0, 11, (16, 8))]
    else:
        x = draw.rand(16, *model.inputs[0].shape[1:]).astype(np.float32)
        y = np.eye(10, dtype=np.float32)[draw.randint(0, 10, 16)]
    batch = (x, y, draw.rand(16).astype(np.float32)) if weighted else (x, y)
    before = model.test_on_batch(*batch)[0]  # nothing is dropped there
    kind, calls = compat.keras.layers.Layer, []
    usual = kind.__call__
    kind.__call__ = lambda layer, *given, **named: (calls.append(layer), usual(layer, *given, **named))[1]
    for _ in range(STEPS):
        if by_keras:
            figures.append(model.train_on_batch(*batch)[:2])
        else:
            figures.append(compat.train_classifier(model, *batch)[:2])
    kind.__call__ = usual
    moments = [np.array(each) for each in model.optimizer.variables if "velocity" in each.path]
    columns = np.array(figures, float).T
    learnt = float(before - model.test_on_batch(*batch)[0])
    rows = {"loss": columns[0], "accuracy": columns[1], "moments": moments or [np.zeros(1)]}
    return dict(rows, learnt=learnt, calls=len(calls))
