"""The worker on a stand-in for Apple's GPU: `python strict_mps.py REQUEST`, in the environment of stack torch.

Tensors say that they are on `mps:0` and enforce its rules, while the processor does the arithmetic: no numbers of 64
bits but integers, only operations that PyTorch registers for MPS (`native_functions.yaml` in its wheel, or the file
that STRICT_MPS_LIST names), no tensors of two devices in one operation, no pinned memory, and nothing reads memory of
the GPU without a copy. Each operation, with the types of its tensors, is appended once to the file that
STRICT_MPS_OPERATIONS names.

It cannot show what Metal itself does: wrong numbers, missing types of one kernel, memory and speed.
"""

import functools
import os
import runpy
import sys
from pathlib import Path

import torch
import torch._dynamo  # before its functions are replaced, which it lists
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._pytree import tree_map

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from scripts.linking.torch_operations import Operations, installed  # noqa: E402

DEVICE = torch.device("mps:0")
WIDE = {torch.float64: "float64", torch.complex128: "complex128"}
# They read one device and write another, or take indices in the memory of the processor.
ACROSS = {
    "aten::copy_",
    "aten::_to_copy",
    "aten::index",
    "aten::index_put",
    "aten::index_put_",
    "aten::_index_put_impl_",
}
FACTORIES = (
    "tensor", "as_tensor", "asarray", "empty", "zeros", "ones", "full", "arange", "linspace", "eye", "rand", "randn",
    "randint", "randperm", "normal", "tril_indices", "triu_indices", "empty_strided", "scalar_tensor", "logspace",
    "empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like",
)  # fmt: skip


class MpsTensor(torch.Tensor):
    """A tensor of the processor that says it is on Apple's GPU and is used only by the rules of MPS."""

    @staticmethod
    def __new__(cls, inner):
        # To autograd, which has no queue for a GPU that is not there, it is on the processor.
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), storage_offset=inner.storage_offset(), dtype=inner.dtype,
            layout=inner.layout, device="cpu",
        )  # fmt: skip

    def __init__(self, inner):
        refuse_wide(inner.dtype)
        self.inner = inner

    device = property(lambda self: DEVICE)
    is_mps = property(lambda self: True)
    is_cpu = property(lambda self: False)

    @property
    def grad(self):
        """Autograd copies some gradients to memory of the device that it knows, which is the processor's."""
        gradient = torch.Tensor.grad.__get__(self)
        return gradient if gradient is None or isinstance(gradient, MpsTensor) else MpsTensor(gradient)

    @grad.setter
    def grad(self, gradient):
        torch.Tensor.grad.__set__(self, gradient)

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return compute(function, args, kwargs or {})

    def cpu(self, *_):
        return self.to("cpu")

    def tolist(self):
        return self.cpu().tolist()

    def numpy(self, *_, **__):
        raise TypeError(
            "can't convert mps:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
        )

    __array__ = numpy

    def pin_memory(self, *_):
        raise RuntimeError("cannot pin 'torch.mps.FloatTensor' only dense CPU tensors can be pinned")


def refuse_wide(dtype):
    if dtype in WIDE:
        raise TypeError(
            f"Cannot convert a MPS Tensor to {WIDE[dtype]} dtype as the MPS framework doesn't support {WIDE[dtype]}. "
            "Please use float32 instead."
        )


class Record:
    """Append each operation with the types of its tensors to a file, once."""

    def __init__(self, path, operations: Operations):
        self.path, self.operations, self.known = path, operations, set()

    def add(self, name, tensors):
        if self.operations.grade(name) == "missing":
            raise NotImplementedError(f"The operator '{name}' is not currently implemented for the MPS device.")
        line = " ".join([name, *sorted({str(tensor.dtype).replace("torch.", "") for tensor in tensors})])
        if line not in self.known:
            self.known.add(line)
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(line + "\n")


def name_of(function):
    schema = function._schema
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name


def compute(function, args, kwargs):
    """Do an operation on the processor, if MPS would do it."""
    wrappers, others = {}, []

    def opened(value):
        if isinstance(value, MpsTensor):
            wrappers[id(value.inner)] = value
            return value.inner
        if isinstance(value, torch.Tensor):
            others.append(value)
            wrappers[id(value)] = value
        return value

    inner_args, inner_kwargs = tree_map(opened, args), tree_map(opened, dict(kwargs))
    base = function._schema.name
    if base not in ACROSS and (strange := [each for each in others if each.dim()]):
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, mps:0 and "
            f"{strange[0].device}! ({base})"
        )
    device = inner_kwargs.get("device")
    away = device is not None and torch.device(device).type != "mps"
    if device is not None and not away:
        inner_kwargs["device"] = "cpu"
    if inner_kwargs.get("pin_memory"):
        raise RuntimeError("pin_memory is for tensors of the processor")
    record.add(name_of(function), [each for each in wrappers.values() if isinstance(each, MpsTensor)])

    def closed(value):
        if not isinstance(value, torch.Tensor):
            return value
        return wrappers[id(value)] if id(value) in wrappers else value if away else MpsTensor(value)

    return tree_map(closed, function(*inner_args, **inner_kwargs))


def create(factory, *args, device=None, requires_grad=False, **kwargs):
    """Create a tensor on the device that is asked for."""
    if device is None or torch.device(device).type != "mps":
        return factory(*args, device=device, requires_grad=requires_grad, **kwargs) if device else factory(
            *args, **kwargs, **({"requires_grad": True} if requires_grad else {})
        )  # fmt: skip
    if kwargs.get("pin_memory"):
        raise RuntimeError("pin_memory is for tensors of the processor")
    created = factory(*args, device="cpu", **kwargs)
    return (created if isinstance(created, MpsTensor) else MpsTensor(created.detach())).requires_grad_(requires_grad)


def to(plain, self, *args, **kwargs):
    """Stand in for `Tensor.to`, whose C++ part asks for the real device."""
    args, device = list(args), kwargs.pop("device", None)
    if args and isinstance(args[0], (str, torch.device)):
        device = args.pop(0)
    elif args and isinstance(args[0], torch.Tensor):
        device, args[0] = args[0].device, args[0].dtype
    elif args and args[0] is None:
        args.pop(0)
    kind = None if device is None else torch.device(device).type
    if isinstance(self, MpsTensor):
        if kind in (None, "mps"):
            return plain(self, *args, **kwargs) if args or kwargs.get("dtype") else self
        record.add("aten::_to_copy", [self])
        inner = self.detach().inner
        return plain(inner.clone(), device, *args, **kwargs)
    if kind != "mps":
        return plain(self, *([] if device is None else [device]), *args, **kwargs)
    kwargs.pop("non_blocking", None)
    # The values are converted on the processor, the copy is on the GPU.
    return MpsTensor(plain(self.detach(), *args, **kwargs).clone())


def attend(attention, query, key, value, attn_mask=None, is_causal=False, **kwargs):
    """Stand in for fused attention, which on the processor has kernels and masks of the processor's own."""
    if is_causal:
        attn_mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
    with sdpa_kernel(SDPBackend.MATH):
        return attention(query, key, value, attn_mask=attn_mask, **kwargs)


class Generator(torch.Generator):
    """A generator of random numbers, of the processor on whatever device."""

    def __new__(cls, device="cpu"):
        return super().__new__(cls, "cpu")


def has_kernel(name, key):
    """Stand in for PyTorch's answer, which is about the kernels of this build."""
    return operations.grade(name) == ("gpu" if key == "MPS" else "composed")


def install():
    """Make PyTorch in this process believe that it has Apple's GPU."""
    for name in FACTORIES:
        setattr(torch, name, functools.partial(create, getattr(torch, name)))
    attention = torch.nn.functional.scaled_dot_product_attention
    torch.nn.functional.scaled_dot_product_attention = functools.partial(attend, attention)
    plain = torch.Tensor.to
    torch.Tensor.to = lambda self, *args, **kwargs: to(plain, self, *args, **kwargs)
    torch.Generator = Generator
    torch._C._dispatch_has_kernel_for_dispatch_key = has_kernel
    torch.backends.mps.is_available = torch.backends.mps.is_built = lambda: True
    torch.mps.synchronize = torch.mps.empty_cache = lambda: None
    torch.mps.recommended_max_memory = lambda: 8_000_000_000
    torch.mps.current_allocated_memory = torch.mps.driver_allocated_memory = lambda: 0
    torch.mps.manual_seed = lambda seed: None


LISTED = os.environ.get("STRICT_MPS_LIST")
operations = Operations(Path(LISTED).read_text("utf-8")) if LISTED else installed(Path(torch.__file__).parent.parent)
record = Record(Path(os.environ["STRICT_MPS_OPERATIONS"]), operations)

if __name__ == "__main__":
    install()
    runpy.run_path(str(ROOT / "zoo" / "worker" / "__main__.py"), run_name="__main__")
