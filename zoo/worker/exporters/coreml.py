"""Core ML, an ``.mlpackage`` for macOS 13 and iOS 16 or newer: converted on any system, run only on macOS.

The batch size is 1, because Core ML needs a fixed size. Image classifiers take an image, scale its pixels, and return
class names. ``dynamic`` stores the weights in 8 bits.
"""

import os
import sys
import tempfile
from unittest.mock import patch

import numpy as np

from zoo.worker.exporting import inside, programs, tracing

KIND = "export"
NAME = "model.mlpackage"
NEEDS = ("coremltools",)
QUANTIZATIONS = ("none", "float16", "dynamic")
RUNTIME, PACKAGE = "Core ML", "coremltools"
NOT_RUN = None if sys.platform == "darwin" else "Core ML runs on macOS only"
# Example code for an app: for image classifiers, and for all other models.
SWIFT, SWIFT_ELSE = programs.ending("swift_images"), programs.ending("swift")
# Smallest, default and largest size of variable dimensions, in pixels or tokens.
SIZES = {"pictures": (64, 256, 2048), "texts": (1, 64, 512)}


def export(subject, path, quantize, calibration, facts):
    """Write ``model.mlpackage``; the arguments are those of the exporter for ONNX."""
    # coremltools removes its copies of models only when Python exits normally, which a worker does not.
    with tempfile.TemporaryDirectory() as folder, patch.object(tempfile, "tempdir", folder):
        import coremltools as ct

        scaled = subject.kind == "images"
        with tracing.gelu_by_erf():
            before = inside.scaling(subject) if scaled else None
            traced = tracing.frozen(tracing.function(subject, batch=1, before=before, named=False))
        model = ct.convert(
            [traced],
            source="tensorflow",
            convert_to="mlprogram",
            inputs=[_input(ct, subject, row) for row in subject.inputs],
            classifier_config=ct.ClassifierConfig(labels(subject)) if scaled else None,
            minimum_deployment_target=ct.target.macOS13,
            skip_model_load=True,
            compute_precision=ct.precision.FLOAT32 if quantize == "none" else ct.precision.FLOAT16,
        )
        if quantize == "dynamic":
            optimize = ct.optimize.coreml
            config = optimize.OptimizationConfig(optimize.OpLinearQuantizerConfig(mode="linear_symmetric"))
            model = optimize.linear_quantize_weights(model, config)
        model = model if scaled else _with_names(ct, model, subject)
        model.user_defined_metadata.update(facts)
        model.short_description = facts["description"]
        model.save(path)


def _with_names(ct, model, subject):
    """Return the model with the output names of all formats; the converter numbers them."""
    spec = model.get_spec()
    for place, name in enumerate(subject.outputs):
        ct.utils.rename_feature(spec, "Identity_%d" % place if place else "Identity", name)
    return ct.models.MLModel(spec, weights_dir=model.weights_dir, skip_model_load=True)


def labels(subject):
    """Return the class names; duplicates get their class number, because Core ML keeps only one of each name."""
    names = subject.request.classes
    return [name if names.count(name) == 1 else "%s (%d)" % (name, place) for place, name in enumerate(names)]


def _input(ct, subject, row):
    name, shape, dtype = row
    if subject.kind == "images":
        layout = ct.colorlayout.GRAYSCALE if shape[-1] == 1 else ct.colorlayout.RGB
        return ct.ImageType(name=name, shape=(1, *shape[1:]), color_layout=layout)
    least, usual, most = SIZES.get(subject.kind, (1, 1, 1))
    sizes = [ct.RangeDim(least, most, default=usual) if size is None else size for size in shape[1:]]
    return ct.TensorType(name=name, shape=[1, *sizes], dtype=np.int32 if dtype == "int32" else np.float32)


def opened(folder, about):
    """Return the function that maps inputs, arrays by name, to the list of outputs; it runs only on macOS.

    Image classifiers scale pixels themselves, so arrays are converted back to images.
    """
    import coremltools as ct
    from PIL import Image

    model = ct.models.MLModel(os.path.join(folder, "model.mlpackage"))

    def image(array):
        how = about["preprocessing"]
        pixels = array.reshape(how["height"], how["width"], -1) * np.array(how["divide"]) + np.array(how["subtract"])
        pixels = np.rint(pixels).clip(0, 255).astype(np.uint8)
        if pixels.shape[-1] == 1:
            return Image.fromarray(pixels[..., 0])
        return Image.fromarray(pixels[..., ::-1] if how["channels"] == "BGR" else pixels)

    def one(inputs):
        if "classes" not in about or "image" not in inputs:
            answers = model.predict(inputs)
            return [answers[name] for name in about["outputs"]]
        answers = model.predict({"image": image(inputs["image"])})
        (shares,) = [value for value in answers.values() if isinstance(value, dict)]
        return [np.array([[shares[name] for name in about["labels"]]], np.float32)]

    def run(inputs):
        count = len(next(iter(inputs.values())))
        items = [{name: array[place : place + 1] for name, array in inputs.items()} for place in range(count)]
        return [np.concatenate(outputs) for outputs in zip(*map(one, items))]

    return run
