"""Which operations of a model the GPU of a Mac has, by what is read of small libraries made here."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import operations
from scripts.linking import (
    jax_operations,
    mlx_operations,
    plaidml_operations,
    record,
    tensorflow_operations,
    wheels,
)  # fmt: skip
from scripts.linking.torch_operations import Operations
from tests.support import CHECKOUT
from tests.support.model_jobs import MODELS

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
    assert record.parse(text) == {"aten::add.Tensor": ["float32", "int64"], "aten::ones": []}


def test_a_recorded_model_replaces_only_its_own_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "FOLDER", tmp_path / "operations")
    record.update("torch", "one", {"aten::add.Tensor": ["float32"]})
    record.update("torch", "two", {"aten::mul.Tensor": ["float32"]})
    record.update("torch", "two", {"aten::div.Tensor": ["float32"]})
    assert record.read("torch") == {
        "one": {"aten::add.Tensor": ["float32"]},
        "two": {"aten::div.Tensor": ["float32"]},
    }
    assert record.read("jax") == {}


def test_an_operation_or_type_that_is_not_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "FOLDER", tmp_path)
    monkeypatch.delenv(record.UPDATE, raising=False)
    record.update("mlx", "mnist", {"Add": ["float32"], "Exp": []})
    assert record.unlisted("mlx", "mnist", {"Add": ["float32"], "Exp": []}) == ""
    for new in ({"Add": ["float64"]}, {"Erf": []}):
        assert next(iter(new)) in record.unlisted("mlx", "mnist", new)
    monkeypatch.setenv(record.UPDATE, "1")
    assert record.unlisted("mlx", "mnist", {"Erf": []}) == ""
    assert record.read("mlx") == {"mnist": {"Erf": []}}


def test_every_trained_model_has_a_record_without_wide_numbers() -> None:
    assert {*MODELS, operations.ONE_BY_ONE} <= record.read("torch").keys()
    assert set(MODELS) <= record.read("tf-2.19").keys()
    types = {each for calls in record.read("torch").values() for kinds in calls.values() for each in kinds}
    assert not types.intersection(operations.WIDE)


def test_names_in_a_plug_in_are_whole_constants(tmp_path: Path) -> None:
    library = tmp_path / tensorflow_operations.LIBRARY
    library.write_bytes(b"\xcf\xfa\0Conv2DBackpropInput\0_MatMulFused\0xMatMul\0Softmax\0\xffCumsum\0")
    assert tensorflow_operations.named(library) == {"Conv2DBackpropInput", "_MatMulFused", "Softmax"}


def test_an_operation_without_a_kernel_for_the_plug_in_runs_on_the_processor() -> None:
    calls = {
        "Identity": ["default:float32"], "Softmax": ["float32"], "Cast": ["int32,int64"],
        "ResizeNearestNeighbor": ["float32"], "ReadVariableOp": ["default:float32", "int64"],
    }  # fmt: skip
    lacking, unknown = tensorflow_operations.on_processor(calls, {"Softmax"})
    assert (lacking, unknown) == (["ResizeNearestNeighbor", "ReadVariableOp"], ["Cast"])


PROGRAM = """
module @jit_step {
  func.func public @main(%arg0: tensor<4x8xf32> {mhlo.sharding = "x"}) -> tensor<ui32> {
    %c = stablehlo.constant dense<[0, 1]> : tensor<2xui32>
    %0 = chlo.square %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
    %1 = stablehlo.convolution(%0, %c) dim_numbers = [b, f]x[o, i]->[b, f] : (tensor<4xf32>) -> tensor<4xf64>
    %2 = "stablehlo.gather"(%1) <{numbers = #stablehlo.gather<offset_dims = [0]>}> : (tensor<f32>) -> tensor<f32>
    %3 = "stablehlo.reduce_window"(%2) <{window_dimensions = array<i64: 1>, x = dense<1> : tensor<2xi64>}> ({
      stablehlo.return %2 : tensor<f32>
    %4 = stablehlo.custom_call @Sharding(%3) : (tensor<f32>) -> tensor<f32>
"""
CALLS = {
    "chlo.square": ["f32"], "stablehlo.constant": ["ui32"], "stablehlo.convolution": ["f32", "f64"],
    "stablehlo.custom_call Sharding": ["f32"], "stablehlo.gather": ["f32"], "stablehlo.reduce_window": [],
}  # fmt: skip


def test_operations_of_jax_are_read_from_its_programs(tmp_path: Path) -> None:
    (tmp_path / "step.mlir").write_text(PROGRAM)
    assert jax_operations.parse(tmp_path) == CALLS
    known = {"chlo.square", "stablehlo.constant", "stablehlo.convolution", "stablehlo.custom_call"}
    assert jax_operations.missing(CALLS, known) == [
        "stablehlo.convolution", "stablehlo.gather", "stablehlo.reduce_window",
    ]  # fmt: skip


def test_handlers_are_the_names_that_the_first_part_of_the_code_loads(tmp_path: Path) -> None:
    names = ["stablehlo.add", "stablehlo.einsum", jax_operations.NOT_ITS_OWN]
    header, code, texts = 32 + 72 + 80, 8192, 12 * 4096
    places = dict(zip(names, (texts + 1, texts + 31, texts + 61), strict=True))
    # Its own code loads the first name, StableHLO's pass the last one, and StableHLO itself the second.
    words = []
    for number, name in enumerate([names[0], names[2], names[1]]):
        pages = (places[name] >> 12) - ((code + 4 * len(words)) >> 12)
        adrp = 0x90000000 | (pages & 3) << 29 | (pages >> 2) << 5 | number
        add = 0x91000000 | (places[name] & 0xFFF) << 10 | number << 5 | number
        words += [adrp, 0xD503201F, add]
    data = bytearray(texts + 100)
    struct.pack_into("<8I", data, 0, 0xFEEDFACF, 0x100000C, 0, 6, 1, header - 32, 0, 0)
    struct.pack_into("<II16s4QiiII", data, 32, 0x19, header - 32, b"__TEXT", 0, len(data), 0, len(data), 5, 5, 1, 0)
    struct.pack_into("<16s16sQQI", data, 104, b"__text", b"__TEXT", code, 4 * len(words) + 16, code)
    struct.pack_into(f"<{len(words)}I", data, code, *words)
    for name, place in places.items():
        data[place : place + len(name)] = name.encode()
    library = tmp_path / jax_operations.LIBRARY
    library.write_bytes(data)
    assert jax_operations.handled(library) == {"stablehlo.add", jax_operations.NOT_ITS_OWN}


def test_an_operation_of_mlx_that_only_throws_an_error_has_no_kernel(tmp_path: Path) -> None:
    library = tmp_path / mlx_operations.LIBRARY
    symbols = b"__ZN3mlx4core3Add8eval_gpuERKSt6vector\0__ZN3mlx4core6Reduce8eval_gpuE\0__ZN3mlx4core4SortC2E\0"
    errors = b"__ZN3mlx4core3SVD8eval_gpuE\0[SVD::eval_gpu] Metal SVD NYI.\0[Load::eval_gpu] Not implemented.\0"
    library.write_bytes(symbols + errors + b"[Arange::eval_gpu] Does not support bool\0")
    functions, refused = mlx_operations.kernels(library)
    assert (functions, refused) == ({"Add", "Reduce", "SVD"}, {"SVD", "Load"})
    calls: record.Calls = {"Add": [], "Sum": [], "SVD": [], "Sort": []}
    assert mlx_operations.sort_out(calls, functions, refused) == (["SVD"], ["Sort"])


def test_functions_of_plaidml_that_refuse_are_read_from_its_source(tmp_path: Path) -> None:
    source = tmp_path / "backend.py"
    source.write_text(
        "def _report_unimplemented(name):\n    raise NotImplementedError(name)\n"
        "def foldl(fn):\n    'Fold.'\n    _report_unimplemented('foldl')\n"
        "def rnn(mask):\n    if mask:\n        raise NotImplementedError('mask')\n"
        "def exp(x):\n    raise ValueError(x)\n"
    )
    assert plaidml_operations.missing(source) == ({"foldl"}, {"rnn"})


def test_a_cell_counts_what_does_not_run_on_the_gpu() -> None:
    assert operations.Verdict().cell(9) == "9"
    verdict = operations.Verdict(processor=["a"], missing=["b", "c"], unknown=["d"])
    assert verdict.cell(9) == "5, 1 processor, 2 missing, 1 ?"


def test_a_reader_that_stops_reading_gets_no_traceback() -> None:
    script = f"{sys.executable} {CHECKOUT / 'scripts' / 'operations.py'} torch-1.12 | true"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_a_part_of_a_lock_has_one_package_with_its_hashes() -> None:
    lock = "# made by hand\nnumpy==1.0 \\\n    --hash=sha256:1\nTensorflow_Metal==1.2 \\\n    --hash=sha256:2\n"
    assert wheels.only(lock, "tensorflow-metal") == "Tensorflow_Metal==1.2 \\\n    --hash=sha256:2\n\n"
