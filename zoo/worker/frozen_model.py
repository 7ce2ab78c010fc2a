"""Run a model without Keras layers in its own runtime: TensorFlow Lite, ONNX, or a signature of a SavedModel.

Layout, quantization, names and shapes are read from the file. Operations that access files, the network or Python are
rejected before a SavedModel is loaded.
"""

import importlib
import os
import re

import numpy as np

from zoo.worker.errors import UserError, describe

# TensorFlow's operations with effects outside of the graph, by parts of their names.
EFFECTS = re.compile(
    "File|Py|Save|Checkpoint|Reader|Dataset|Iterator|Record|Summary|Debug|Print|Rpc|Remote|Sql|BigQuery|Gcs|LMDB|"
    "Collective|Send|Recv|XlaHost|TPU|Snapshot|Disk"
)
MOST_GRAPH_BYTES = 1 << 30
# Collections of operations that TensorFlow runs at loading, in addition to the restore operation.
INITIALIZERS = ("saved_model_main_op", "legacy_init_op")


class FrozenModel:
    """A model with one input, and with the interface of a compiled Keras model.

    Attributes:
        shape: (height, width, channels) of an image; None for any size.
        dtype: dtype of the input.
        quantization: (scale, zero point) of the input, or None.
        outputs: name -> shape, without the batch, of the numeric outputs.
        metadata: the ``names`` of the classes and the ``author`` in an ONNX file, as texts, if any.
    """

    compiled, predict_function = True, None

    def __init__(self, spec, outputs, ask):
        """Wrap ``ask``, which maps the stored input to a named output; ``spec`` is (shape, dtype, quantization)."""
        shape, self.dtype, self.quantization = spec
        self._batch, self._layout, self.shape = shape[0], *_image(shape)
        self._ask, self.outputs, self.name, self._finish = ask, outputs, None, lambda rows: rows
        self.trackable, self._traced, self.metadata = None, None, {}

    def described(self):
        return {
            "shape": list(self.shape), "dtype": self.dtype.name, "quantization": self.quantization,
            "metadata": self.metadata,
            "outputs": {name: [None if size is None else int(size) for size in shape]
                        for name, shape in self.outputs.items()},
        }  # fmt: skip

    def choose(self, name, path, rank=None):
        """Choose the output by name, or the only one; ``rank`` 1 allows only one number for each class."""
        fitting = [each for each, shape in self.outputs.items() if rank is None or _width(shape) is not None]
        if name is None and len(fitting) == 1:
            name = fitting[0]
        if name not in fitting:
            words = ", ".join("%s %s" % (each, tuple(shape)) for each, shape in self.outputs.items())
            if len(fitting) > 3 and any(len(shape) != 1 for shape in self.outputs.values()):
                words = "%s has %d outputs, as networks for detection: %s. An image classifier has one"
                raise UserError(words % (path, len(fitting), ", ".join(fitting)))
            raise UserError("%s has the outputs %s: choose one with model.output=NAME" % (path, words))
        self.name = name
        return self

    def predict_on_batch(self, pixels):
        """Return the chosen output for preprocessed images, (n, height, width, channels) float32."""
        stored = self._stored(np.asarray(pixels, np.float32))
        step = self._batch or len(stored)
        parts = []
        for begin in range(0, len(stored), step):
            part = stored[begin : begin + step]
            padding = np.zeros((step - len(part), *part.shape[1:]), part.dtype)
            rows = self._ask(np.concatenate([part, padding]) if len(padding) else part, self.name)
            parts.append(rows[: len(part)])
        return self._finish(np.concatenate(parts))

    def __call__(self, images, training=False):
        """Return the output of a SavedModel inside a TensorFlow function, for the converters."""
        return self._traced(images[..., 0] if self._layout == "NHW" else images, self.name)

    def get_weights(self):
        """Return nothing: the weights are constants of the graph."""
        return []

    def _stored(self, pixels):
        if self._layout == "NCHW":
            pixels = pixels.transpose(0, 3, 1, 2)
        elif self._layout == "NHW":
            pixels = pixels[..., 0]
        elif self._layout == "flat":
            pixels = pixels.reshape(len(pixels), -1)
        if self.dtype.kind == "f":
            return np.ascontiguousarray(pixels, self.dtype)
        scale, zero = self.quantization or (1.0, 0)
        limits = np.iinfo(self.dtype)
        return np.clip(np.rint(pixels / np.float32(scale)) + zero, limits.min, limits.max).astype(self.dtype)

    def end_unchanged(self):
        """Take the chosen output, (n, labels) or (n, 1), as it is; return no notes."""
        self._finish = lambda rows: np.asarray(rows, np.float32).reshape(len(rows), -1)
        return []

    def end_in_probabilities(self, classes, path):
        """Convert the chosen output to (n, classes) probabilities, by its range on random images; return notes."""
        width = _width(self.outputs[self.name])
        if width not in ((classes, 1) if classes == 2 else (classes,)):
            raise UserError("%s returns %d numbers for an image, but there are %d classes" % (path, width, classes))
        height, across, channels = self.shape
        probe = np.random.RandomState(0).uniform(-3, 3, (4, height or 224, across or 224, channels))
        rows = self.predict_on_batch(probe).reshape(4, -1)
        within = rows.min() >= 0 and rows.max() <= 1
        sums = np.abs(rows.sum(axis=1) - 1).max() < 0.005 * width + 0.01

        def finish(rows):
            rows = np.asarray(rows, np.float32).reshape(len(rows), -1)
            if width == 1:
                second = rows if within else 1 / (1 + np.exp(-rows))
                return np.concatenate([1 - second, second], axis=1)
            if within:
                return rows
            powers = np.exp(rows - rows.max(axis=1, keepdims=True))
            return powers / powers.sum(axis=1, keepdims=True)

        self._finish = finish
        if width == 1:
            what = "probability" if within else "logit"
            return ["The model has one output number, used as the %s of the second class" % what]
        if not within:
            return ["The model has no final activation: a softmax is applied"]
        return [] if sums else ["The model's outputs do not sum to one; they are shown unchanged"]


def _image(shape):
    """Return the layout of an input with a batch, and the (height, width, channels) of its images."""
    sizes = list(shape[1:])
    if len(sizes) == 3 and sizes[2] in (1, 3):
        return "NHWC", tuple(sizes)
    if len(sizes) == 3 and sizes[0] in (1, 3):
        return "NCHW", (sizes[1], sizes[2], sizes[0])
    if len(sizes) == 2:
        return "NHW", (sizes[0], sizes[1], 1)
    for channels in (1, 3):
        edge = round((sizes[0] / channels) ** 0.5) if len(sizes) == 1 and sizes[0] else 0
        if edge and edge * edge * channels == sizes[0]:
            return "flat", (edge, edge, channels)
    raise UserError("the input of shape %s is not an image of 1 or 3 channels" % (tuple(shape),))


def _width(shape):
    """Return the number of classes of an output, or None if it is not one number for each class."""
    sizes = [size for size in shape if size != 1]
    return None if len(sizes) > 1 or None in sizes else int(np.prod(shape, dtype=int))


def build(model):
    """Open the file of a request's model; with ``classes``, the model ends in a probability for each class."""
    opened = open_model(model.saved)
    classes, name = model.args["classes"], model.args.get("output")
    if classes is None:
        return opened
    opened.choose(name, model.saved, rank=1)
    unchanged = model.args.get("unchanged")
    model.notes = opened.end_unchanged() if unchanged else opened.end_in_probabilities(classes, model.saved)
    return opened


def open_model(path):
    """Open a SavedModel's folder, or a TensorFlow Lite or ONNX file."""
    try:
        if os.path.isdir(path):
            return _saved_model(path)
        with open(path, "rb") as stream:
            is_lite = stream.read(8)[4:] == b"TFL3"
        return _lite(path) if is_lite else _onnx(path)
    except UserError:
        raise
    except Exception as error:
        weights = re.search('External data path does not exist: "(.+)"', str(error))
        cause = "its file of weights, %s, is missing" % weights.group(1) if weights else describe(error)
        raise UserError("%s cannot be opened: %s" % (path, cause)) from error


def _only(rows, path):
    if len(rows) != 1:
        raise UserError("%s has %d inputs; an image classifier has one" % (path, len(rows)))
    return rows[0]


def _module(path, *names):
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise UserError("this stack cannot run %s: choose stack=export" % path)


def _lite(path):
    model = _module(path, "ai_edge_litert.interpreter", "tensorflow.lite").Interpreter(model_path=path)
    asked, answers = _only(model.get_input_details(), path), model.get_output_details()
    shape = [None if size < 0 else int(size) for size in asked.get("shape_signature", asked["shape"])]
    model.allocate_tensors()

    def ask(stored, name):
        if model.get_input_details()[0]["shape"].tolist() != list(stored.shape):
            model.resize_tensor_input(asked["index"], stored.shape)
            model.allocate_tensors()
        model.set_tensor(asked["index"], stored)
        model.invoke()
        row = next(each for each in answers if each["name"] == name)
        values, quantization = model.get_tensor(row["index"]), _quantization(row)
        if quantization is None:
            return values
        scale, zero = quantization
        return (values.astype(np.float32) - zero) * np.float32(scale)

    outputs = {row["name"]: [int(size) for size in row["shape"][1:]] for row in answers}
    return FrozenModel((shape, np.dtype(asked["dtype"]), _quantization(asked)), outputs, ask)


def _quantization(row):
    scale, zero = row["quantization"]
    return (float(scale), int(zero)) if scale else None


def _onnx(path):
    session = _module(path, "onnxruntime").InferenceSession(path, providers=["CPUExecutionProvider"])
    asked = _only(session.get_inputs(), path)
    shape = [size if isinstance(size, int) else None for size in asked.shape]
    if len(shape) == 4 and shape.count(None) >= 3:  # as Hugging Face exports networks: channels first
        shape[1] = shape[1] or (None if shape[3] else 3)
    outputs = {row.name: [size if isinstance(size, int) else None for size in row.shape[1:]]
               for row in session.get_outputs() if re.match(r"tensor\((?!string)", row.type)}  # fmt: skip
    kind = asked.type[len("tensor(") : -1].replace("double", "float64")
    dtype = np.dtype("float32" if kind == "float" else kind)
    opened = FrozenModel(
        (shape, dtype, None), outputs, lambda stored, name: session.run([name], {asked.name: stored})[0]
    )
    opened.metadata = {key: value for key, value in session.get_modelmeta().custom_metadata_map.items()
                       if key in ("names", "author")}  # fmt: skip
    return opened


def _saved_model(path):
    tf = _module(path, "tensorflow")
    refuse_effects(path)
    loaded = tf.saved_model.load(path)
    signatures = dict(loaded.signatures)
    wanted = [name for name in ("serving_default", "serve", *sorted(signatures)) if name in signatures]
    if not wanted:
        raise UserError("%s has no signature to call" % path)
    serve = signatures[wanted[0]]
    specs = sorted(serve.structured_input_signature[1].items())
    if any(spec.dtype == tf.string for _, spec in specs):
        words = (
            "%s takes strings: texts, which no command uses, or the bytes of image files, as AutoML exports it. For"
            " images, export it as TensorFlow Lite"
        )
        raise UserError(words % path)
    name, spec = _only(specs, path)
    shape = spec.shape.as_list() if spec.shape.rank is not None else []

    def ask(stored, wanted, _kept=loaded):
        return serve(**{name: tf.constant(stored)})[wanted].numpy()

    outputs = {each: out.shape.as_list()[1:] for each, out in serve.structured_outputs.items()
               if out.dtype.is_floating and out.shape.rank}  # fmt: skip
    opened = FrozenModel((shape, np.dtype(spec.dtype.as_numpy_dtype), None), outputs, ask)
    opened.trackable, opened._traced = loaded, lambda images, wanted: serve(**{name: images})[wanted]
    return opened


def refuse_effects(path):
    """Raise UserError if loading or calling a SavedModel could run an operation with effects outside of it."""
    from tensorflow.core.protobuf import saved_model_pb2

    place = os.path.join(path, "saved_model.pb")
    if os.path.getsize(place) > MOST_GRAPH_BYTES:
        raise UserError("%s is refused: its graph is larger than %d bytes" % (path, MOST_GRAPH_BYTES))
    with open(place, "rb") as stream:
        model = saved_model_pb2.SavedModel.FromString(stream.read())
    for graph in model.meta_graphs:
        bodies = {each.signature.name: each.node_def for each in graph.graph_def.library.function}
        nodes = {node.name: node for node in graph.graph_def.node}
        # Only the save operation writes files; loading and calling never reach it.
        saves = _reached(nodes, [graph.saver_def.save_tensor_name])
        saves -= _reached(nodes, _roots(graph))
        outside = [node for name, node in nodes.items() if name not in saves]
        called = _called([nodes[name] for name in saves], bodies) - set(graph.object_graph_def.concrete_functions)
        called -= _called(outside, bodies)
        outside += [node for name, body in bodies.items() if name not in called for node in body]
        for node in outside:
            if EFFECTS.search(node.op):
                words = "%s is refused: its operation %s (%s) has effects outside of the model"
                raise UserError(words % (path, node.name, node.op))


def _roots(graph):
    """List the tensors and operations of the main graph that loading or calling runs."""
    roots = [graph.saver_def.restore_op_name, graph.saver_def.filename_tensor_name]
    for signature in graph.signature_def.values():
        roots += [row.name for row in signature.outputs.values()]
    for name in INITIALIZERS:
        roots += list(graph.collection_def[name].node_list.value) if name in graph.collection_def else []
    return roots


def _reached(nodes, roots):
    reached, pending = set(), list(roots)
    while pending:
        name = pending.pop().lstrip("^").partition(":")[0]
        if name in nodes and name not in reached:
            reached.add(name)
            pending += nodes[name].input
    return reached


def _called(nodes, bodies):
    called, pending = set(), list(nodes)
    while pending:
        for value in pending.pop().attr.values():
            for name in [value.func.name, *(each.name for each in value.list.func)]:
                if name in bodies and name not in called:
                    called.add(name)
                    pending += bodies[name]
    return called
