"""zoo.config.exporters: formats and quantizations, as the sources of the worker declare them."""

import pytest

from zoo.config import exporters


def test_formats_are_read_from_the_sources() -> None:
    assert exporters.formats().keys() == {"coreml", "hub", "litert", "onnx", "openvino", "savedmodel"}
    assert exporters.formats()["onnx"] == ("none", "float16", "dynamic", "int8")
    assert exporters.formats(inside=True)["onnx"] == ("none", "dynamic")
    assert not {"hub", "coreml", "npz"} & exporters.formats(inside=True).keys()


@pytest.mark.parametrize(
    ("names", "quantize", "inside", "words"),
    [
        (["onnx"], ["none"], False, []),
        (["onnx", "hub"], ["none", "int8"], False, []),
        ([], ["int8"], False, []),
        (["onxn"], ["none"], False, ["format must be one of coreml, hub, litert, onnx, openvino, savedmodel, got"]),
        (["onnx"], ["int9"], False, ["quantize must be one of none, float16, dynamic, int8, got 'int9'"]),
        (["onxn"], ["int9"], False, ["quantize must be one of", "format must be one of"]),
        (["hub"], ["int8"], False, ["hub takes quantize=none; int8 is for litert, onnx, openvino"]),
        (["hub"], ["none", "int8"], False, ["quantize=int8 has no effect: it is for litert, onnx, openvino"]),
        (["hub", "onnx"], ["int8"], False, ["hub takes quantize=none; int8 is for"]),
        (["openvino"], ["dynamic"], False, ["openvino takes quantize=none|float16|int8; dynamic is for coreml,"]),
        (["onnx"], ["dynamic"], True, []),
        (["onnx"], ["int8"], True, ["with preprocessing=inside, quantize must be one of none, float16, dynamic"]),
        (["hub"], ["none"], True, ["with preprocessing=inside, format must be one of litert, onnx, openvino"]),
    ],
)
def test_every_format_needs_a_quantization_and_the_reverse(
    names: list[str], quantize: list[str], inside: bool, words: list[str]
) -> None:
    said = [each for each in exporters.problems("format", names, quantize, inside) if each]
    assert [begin for begin, each in zip(words, said, strict=True) if not each.startswith(begin)] == []


def test_training_stacks_write_formats_of_their_own() -> None:
    npz, onnx, unknown = exporters.training_problems(["npz", "onnx", "npy"])
    assert npz is None
    assert onnx is not None
    assert unknown is not None
    assert "use output.export=[onnx]" in onnx
    assert unknown.startswith("trainer.export must be one of ")
    assert "onnx" not in unknown
    assert "did you mean 'npz'" in unknown
