"""Keras 3 on OpenVINO: predictions on the CPU. It cannot train."""

import threading

import numpy as np

from zoo.protocol.events import DeviceProof
from zoo.worker.errors import UserError
from zoo.worker.inference import openvino_transposes

_PREDICTS = "OpenVINO only predicts"
CAPABILITIES = {
    "trains": False,
    "skipped_probes": {
        "wide_integers": "OpenVINO uses 32-bit integers on a CPU",
        **dict.fromkeys(("dropout", "train_step", "normalised_step", "variable"), _PREDICTS),
    },
}

HINTS = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
# Images per request: 1, 4 and 16 are equally fast, but with 1 small networks wait for Python.
FEW = 4
# Seconds without a result after which the requests are checked for failures.
DOUBT_S = 5.0

# On CPUs with bfloat16 or float16 instructions, OpenVINO rounds all weights to that precision by default.
_settings = {"INFERENCE_PRECISION_HINT": "f32"}
_used = []
_graphs = []


def start(device):
    """Make OpenVINO compute in float32, like every other stack, and without the transposes that Keras adds.

    Must run before Keras is imported. Keras 3.15 has no setting for either, so ``openvino.compile_model`` is wrapped.
    """
    import openvino

    plain = openvino.compile_model

    def compile_model(model, device_name="CPU", config=None):
        openvino_transposes.cancel(model)
        _graphs[:] = [model]
        compiled = plain(model, device_name, dict(_settings, **(config or {})))
        wish = _settings["INFERENCE_PRECISION_HINT"]
        took = compiled.get_property("INFERENCE_PRECISION_HINT").to_string()
        if took != wish:
            raise UserError("this CPU has no instructions for %s (OpenVINO selected %s)" % (wish, took))
        _used[:] = compiled.get_property("EXECUTION_DEVICES")
        return compiled

    openvino.compile_model = compile_model


def compute_in(precision):
    """Set ``float32``, ``float16`` or ``bfloat16`` for all models compiled later."""
    _settings["INFERENCE_PRECISION_HINT"] = HINTS[precision]


def proof(device):
    """Multiply two matrices in a compiled model and ask it for its devices."""
    from keras import layers, models

    ones = np.ones((64, 64), dtype="float32")
    pair = [layers.Input(batch_shape=(1, 64, 64)), layers.Input(batch_shape=(1, 64, 64))]
    product = models.Model(pair, layers.Dot(axes=(2, 1))(pair)).predict_on_batch([ones[None], ones[None]])
    if not _used or float(product[0, 0, 0]) != 64.0:
        raise RuntimeError("OpenVINO did not report the device of the matrix product")
    name = ", ".join(_used)
    kind = "cpu" if all(used.upper().startswith("CPU") for used in _used) else "gpu"
    return DeviceProof(name=name, device_kind=kind, proof="matmul", description="")


def predictor(predict, preprocess, shape):
    """Compile Keras's predict function again, including the preprocessing, for a few images at a time.

    Keras compiles for any batch size and float32 inputs; a fixed size and bytes are faster. A few images per core are
    also faster than all cores on one batch, whose feature maps exceed every cache.

    Args:
        predict: Keras's function from a batch of inputs to probabilities.
        preprocess: from bytes to inputs.
        shape: (batch, height, width, channels) of the largest batch.

    Returns:
        A function from pixels, uint8 of that shape or of fewer images, to probabilities. Threads may call it
        concurrently: their images share a queue, so that no core is idle at the end of a batch.
    """
    predict(preprocess(np.zeros((1, *shape[1:]), np.uint8)))
    few = FEW if shape[0] >= 2 * FEW else 1
    graph, takes_bytes = _with_preprocessing(_graphs[0].clone(), preprocess, (few, *shape[1:]))
    wish = "LATENCY" if shape[0] == 1 else "THROUGHPUT"
    queues = {size: _queue(graph, size, wish, shape[0] // size) for size in sorted({few, 1}, reverse=True)}
    turn = threading.Lock()

    def infer(pixels):
        x, begin = np.asarray(pixels if takes_bytes else preprocess(pixels)), 0
        answers, answered = np.empty((len(x), *graph.output(0).shape[1:]), np.float32), threading.Semaphore(0)
        started = 0
        with turn:  # a queue first selects a free request, then starts it
            for size, queue in queues.items():
                end = len(x) - len(x) % size  # the remaining images are computed one by one, without padding
                for place in range(begin, end, size):
                    queue.start_async([x[place : place + size]], (answers, place, answered), share_inputs=True)
                    started += 1
                begin = end
        for _ in range(started):
            while not answered.acquire(timeout=DOUBT_S):
                for queue in queues.values():
                    queue.wait_all()  # raises the error of a failed request, which has no result
        return answers

    return infer


def _with_preprocessing(graph, preprocess, shape):
    """Make a graph accept bytes, if its preprocessing is linear; return the graph and whether it accepts them."""
    import openvino

    graph.reshape({graph.input(0): list(shape)})
    scale, offset = _straight_line(preprocess)
    if scale is None:
        return graph, False
    steps = openvino.preprocess.PrePostProcessor(graph)
    steps.input().tensor().set_element_type(openvino.Type.u8)
    steps.input().preprocess().convert_element_type(openvino.Type.f32).mean(-offset / scale).scale(1 / scale)
    return steps.build(), True


def _queue(graph, size, wish, most):
    """Compile a graph for ``size`` images; return a queue with room for two calls of ``most`` requests each."""
    import openvino

    graph = graph.clone()
    graph.reshape({graph.input(0): [size, *graph.input(0).shape[1:]]})
    compiled = openvino.Core().compile_model(graph, "CPU", dict(_settings, PERFORMANCE_HINT=wish))
    queue = openvino.AsyncInferQueue(compiled, 2 * most)  # more than are computed at once: the rest wait in the queue

    def keep(request, call):
        answers, place, answered = call
        answers[place : place + size] = request.get_output_tensor(0).data
        answered.release()

    queue.set_callback(keep)
    return queue


def _straight_line(preprocess):
    """Return (scale, offset) if the preprocessing is one linear function of every byte, else (None, None)."""
    every = np.arange(256, dtype=np.uint8).reshape(1, 256, 1, 1)
    lines = np.asarray(preprocess(np.repeat(every, 3, axis=3)), dtype=np.float64)
    scale, offset = (lines[0, 255, 0, 0] - lines[0, 0, 0, 0]) / 255, lines[0, 0, 0, 0]
    line = scale * every.ravel() + offset
    straight = lines.shape == (1, 256, 1, 3) and np.abs(lines[0, :, 0, :].T - line).max() < 1e-6
    return (scale, offset) if straight and scale else (None, None)


def place(variable):
    """Return None: OpenVINO does not report the device of a variable."""


def versions():
    import openvino

    return {"openvino": openvino.__version__.split("-")[0]}
