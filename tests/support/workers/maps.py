"""Computes feature maps as the zoo lets Keras compute them, and as Keras does by itself; runs inside a stack."""

import contextlib

SIZE = 33
# Size of the kernel, outputs for each channel, stride, padding, dilation; the last is left to Keras.
DEPTHWISE = (
    (3, 1, 1, "same", 1), (3, 2, 2, "same", 1), (3, 1, 2, "valid", 1), (5, 1, 2, "same", 1), (5, 3, 1, "valid", 1),
    (3, 1, 1, "same", 2),
)  # fmt: skip


def answer(request):
    """For training and inference, how far outputs, gradients and statistics are from those in float64.

    Returns:
        name -> {"zoo": error, "keras": error}, relative to the largest value.
    """
    import numpy as np

    if request["framework"] == "jax":
        return {str(number): _depthwise(*case) for number, case in enumerate(DEPTHWISE)}
    rows = {}
    for training in (True, False):
        exact = _computed("float64", training)
        zoo = _computed("float32", training)
        with _as_keras_computes():
            keras = _computed("float32", training)
        for name, right in exact.items():
            most = np.abs(right).max() + 1e-9
            errors = {
                who: float(np.abs(own[name] - right).max() / most) for who, own in (("zoo", zoo), ("keras", keras))
            }
            rows[("training, " if training else "inference, ") + name] = errors
    return dict(rows, **_leaping())


def _leaping():
    """The same of the gradients of a depthwise convolution with a stride, in bfloat16."""
    import numpy as np
    import torch

    from zoo.models.compat.version import network_operations

    nn = network_operations()

    draw = np.random.RandomState(0)
    arrays = [draw.standard_normal(shape) for shape in ((3, 12, 15, 6), (3, 3, 6, 1), (3, 5, 7, 6))]

    def gradients(kind):
        x, kernel, outer = (torch.from_numpy(each).to(kind).requires_grad_() for each in arrays)
        return torch.autograd.grad(nn.depthwise_conv(x, kernel, 2, "valid", "channels_last"), (x, kernel), outer)

    exact, zoo = gradients(torch.float64), gradients(torch.bfloat16)
    with _as_keras_computes():
        keras = gradients(torch.bfloat16)
    names = ("bfloat16, gradient of the maps", "bfloat16, gradient of the kernel")
    return {
        name: {who: float((own.double() - right).abs().max() / right.abs().max()) for who, own in
               (("zoo", zoo[place]), ("keras", keras[place]))}
        for place, (name, right) in enumerate(zip(names, exact, strict=True))
    }  # fmt: skip


@contextlib.contextmanager
def _as_keras_computes():
    from zoo.models.compat import torch_maps

    applies, torch_maps.applies = torch_maps.applies, lambda x: False
    yield
    torch_maps.applies = applies


def _computed(dtype, training):
    import numpy as np
    import torch

    from zoo.models import compat

    keras, layers = compat.keras, compat.keras.layers
    with compat.dtype_policy(dtype):
        model = keras.Sequential([
            keras.Input((SIZE, SIZE, 3)),
            layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False, name="wide"),
            layers.BatchNormalization(name="first"),
            layers.ReLU(6.0, name="clipped"),
            layers.ZeroPadding2D(((0, 1), (0, 1)), name="padding"),
            layers.DepthwiseConv2D(3, strides=2, use_bias=False, name="deep"),
            layers.BatchNormalization(momentum=0.9, name="second", scale=False),
            layers.Conv2D(12, 1, name="points", activation="relu"),
            layers.BatchNormalization(name="frozen", trainable=False),
            layers.Conv2D(6, 1, strides=2, padding="same", name="fewer"),
            layers.MaxPooling2D(2, strides=1, padding="same", name="largest"),
            layers.AveragePooling2D(2, name="mean"),
            layers.Flatten(name="flat"),
        ])  # fmt: skip
    draw = np.random.RandomState(0)
    model.set_weights([0.5 + draw.rand(*each.shape) / 2 if "gamma" in each.path or "variance" in each.path
                       else draw.standard_normal(each.shape) / 3 for each in model.weights])  # fmt: skip
    x = torch.from_numpy(draw.standard_normal((5, SIZE, SIZE, 3)).astype(dtype))
    outputs = model(x, training=training)
    (outputs * outputs).sum().backward()
    gradients = [each.value.grad.numpy().ravel() for each in model.trainable_variables]
    statistics = [keras.ops.convert_to_numpy(each).ravel() for each in model.non_trainable_variables]
    arrays = {"outputs": outputs.detach().numpy(), "statistics": np.concatenate(statistics)}
    return dict(arrays, gradients=np.concatenate([each / np.abs(each).max() for each in gradients]))


def _depthwise(size, multiplier, stride, padding, dilation):
    """How far the convolution and its gradients are from Keras's own."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from zoo.models.compat import jax_maps
    from zoo.models.compat.version import network_operations

    nn = network_operations()
    draw = np.random.RandomState(0)
    x = jnp.array(draw.standard_normal((2, 14, 15, 6)), "float32")
    kernel = jnp.array(draw.standard_normal((size, size, 6, multiplier)), "float32")

    def convolved(x, kernel):
        return nn.depthwise_conv(x, kernel, (stride, stride), padding, "channels_last", dilation)

    def computed():
        gradients = jax.grad(lambda *both: (convolved(*both) ** 2).sum(), (0, 1))(x, kernel)
        return [np.array(each) for each in (convolved(x, kernel), *gradients)]

    zoo, applies = computed(), jax_maps.applies
    jax_maps.applies = lambda *_: False
    keras, jax_maps.applies = computed(), applies
    return {
        "zoo": max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(zoo, keras, strict=True)),
        "keras": 0.0,
    }
