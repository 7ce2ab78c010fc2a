"""Which operations of a model Apple's GPU has, by the list in a wheel of PyTorch."""

from pathlib import Path

import pytest

from scripts import operations
from scripts.linking import tensorflow_operations, wheels
from scripts.linking.torch_operations import Operations

LIST = """
- func: matmul(Tensor self, Tensor other) -> Tensor

- func: add.Tensor(Tensor self, Tensor other) -> Tensor
  structured_delegate: add.out
  dispatch:
    SparseCPU, SparseCUDA, SparseMPS: add_sparse

- func: add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU, CUDA, MPS: add_out
    MTIA: add_out_mtia

- func: erfinv.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU, CUDA: erfinv_out  # no MPS: yet

- func: erfinv(Tensor self) -> Tensor
  structured_delegate: erfinv.out

- func: clone(Tensor self) -> Tensor
  dispatch:
    CompositeExplicitAutograd: clone
    NestedTensorCPU: clone_nested
  autogen: clone.out

- func: linear(Tensor input, Tensor weight) -> Tensor
  dispatch:
    CompositeImplicitAutograd: linear
    MPS: _mps_linear

- func: _softmax(Tensor self, int dim, bool half_to_float) -> Tensor
  dispatch:
    MPS: softmax_mps

- func: embedding_renorm_(Tensor(a!) self, Tensor indices) -> Tensor(a!)
  dispatch:
    CPU: embedding_renorm_cpu_
"""
GRADES = {
    "aten::matmul": "composed", "aten::add.Tensor": "gpu", "aten::add.out": "gpu", "aten::erfinv": "missing",
    "aten::erfinv.out": "missing", "aten::clone": "composed", "aten::clone.out": "composed", "aten::linear": "gpu",
    "aten::embedding_renorm_": "fallback", "aten::not_there": "missing",
    "aten::_safe_softmax": "gpu",
}  # fmt: skip


@pytest.mark.parametrize(("name", "grade"), GRADES.items())
def test_the_grade_of_an_operation_follows_its_kernels_and_delegates(name: str, grade: str) -> None:
    assert Operations(LIST).grade(name) == grade


def test_calls_are_gathered_by_operation() -> None:
    text = "aten::add.Tensor float32\naten::ones\naten::add.Tensor float32 int64\n"
    assert operations.parse(text) == {"aten::add.Tensor": ["float32", "int64"], "aten::ones": []}


def test_a_recorded_model_replaces_only_its_own_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "CALLS", tmp_path / "operations.json")
    operations.CALLS.write_text('{"one": {"aten::add.Tensor": ["float32"]}}')
    operations.update("two", {"aten::mul.Tensor": ["float32"]})
    operations.update("two", {"aten::div.Tensor": ["float32"]})
    assert operations.recorded() == {
        "one": {"aten::add.Tensor": ["float32"]},
        "two": {"aten::div.Tensor": ["float32"]},
    }


def test_every_trained_model_has_a_record_without_wide_numbers() -> None:
    assert {
        "mnist",
        "mobilenet",
        "mobilenet_v2",
        "style_transfer/fast",
        "transformer/lm",
    } <= operations.recorded().keys()
    types = {each for calls in operations.recorded().values() for kinds in calls.values() for each in kinds}
    assert not types.intersection(operations.WIDE)


def test_names_in_a_plug_in_are_whole_constants(tmp_path: Path) -> None:
    library = tmp_path / tensorflow_operations.LIBRARY
    library.write_bytes(b"\xcf\xfa\0Conv2DBackpropInput\0_MatMulFused\0xMatMul\0Softmax\0\xffCumsum\0")
    assert tensorflow_operations.named(library) == {"Conv2DBackpropInput", "_MatMulFused", "Softmax"}


def test_an_operation_without_a_kernel_for_the_plug_in_runs_on_the_processor() -> None:
    recorded = "Identity default float32\nSoftmax - float32\nCast - int32 int64\nResizeNearestNeighbor - float32\n"
    calls = tensorflow_operations.parse(recorded + "ReadVariableOp - int64\nReadVariableOp default float32\n")
    lacking, unknown = tensorflow_operations.on_processor(calls, {"Softmax"})
    assert (lacking, unknown) == (
        ["ReadVariableOp (int64)", "ResizeNearestNeighbor (float32)"],
        ["Cast (int32,int64)"],
    )


def test_a_part_of_a_lock_has_one_package_with_its_hashes() -> None:
    lock = "# made by hand\nnumpy==1.0 \\\n    --hash=sha256:1\nTensorflow_Metal==1.2 \\\n    --hash=sha256:2\n"
    assert wheels.only(lock, "tensorflow-metal") == "Tensorflow_Metal==1.2 \\\n    --hash=sha256:2\n\n"
