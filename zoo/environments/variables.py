"""Select the user's environment variables for a worker, and for a user's own script.

A worker gets only the variables listed here, because variables of other projects can break it;
``ZOO_WORKER_ENV=NAME,NAME`` adds more. The list excludes variables that change results (JAX_ENABLE_X64, XLA_FLAGS,
TF_XLA_FLAGS), break the import of a framework, or are set by a stack (KERAS_BACKEND). A script gets all variables
except those that change which libraries are loaded or how they compute.
"""

import os
from collections.abc import Mapping

from zoo.protocol.variables import KERAS

MORE = "ZOO_WORKER_ENV"

# By default, glibc returns the memory of a large network to the system after each step. The page faults of the next
# step take a third of the training time (docs/background/benchmarks.md, "Memory of a step"). These settings keep the
# memory and request huge pages. Other systems and old versions of glibc ignore them.
_TUNABLES = ("hugetlb=1", f"mmap_threshold={1 << 32}", f"trim_threshold={1 << 33}")
ALLOCATOR = {"GLIBC_TUNABLES": ":".join(f"glibc.malloc.{each}" for each in _TUNABLES)}

_SYSTEM = {
    "PATH", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "LANG", "LANGUAGE", "TMPDIR", "TEMP", "TMP", "LD_LIBRARY_PATH",
    "LD_PRELOAD", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "GLIBC_TUNABLES",
}  # fmt: skip

# Variables that select devices, threads and memory; some change the results.
_COMPUTE = {
    "TF_CPP_MIN_LOG_LEVEL", "TF_FORCE_GPU_ALLOW_GROWTH", "TF_GPU_ALLOCATOR", "TF_GPU_THREAD_MODE",
    "TF_GPU_THREAD_COUNT", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "TF_ENABLE_ONEDNN_OPTS",
    "TF_CUDNN_DETERMINISTIC", "TF_DETERMINISTIC_OPS", "ENABLE_PJRT_COMPATIBILITY",
    "HDF5_USE_FILE_LOCKING",
}  # fmt: skip
_COMPUTE_PREFIXES = (
    "CUDA_", "NVIDIA_", "NCCL_", "HIP_", "HSA_", "ROCR_", "ROCM_", "AMD_", "GPU_", "MTL_", "METAL_", "PYTORCH_",
    "XLA_PYTHON_CLIENT_", "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "VECLIB_", "ONEDNN_", "DNNL_",
)  # fmt: skip

# Prefixes of variables for frameworks, whose removal is reported.
_FRAMEWORKS = ("TF_", "JAX_", "XLA_", "KERAS_", "PLAIDML_", "TORCH_", "TORCHINDUCTOR_", "OV_", "OPENVINO_")

# Variables that replace libraries or the Keras of a stack, or change results.
_HARMFUL = {
    "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONEXECUTABLE", "PYTHONPLATLIBDIR", "__PYVENV_LAUNCHER__",
    "KERAS_BACKEND", "KERAS_TORCH_DEVICE", "TF_USE_LEGACY_KERAS", "TF_KERAS", "JAX_PLATFORMS", "JAX_ENABLE_X64",
    "XLA_FLAGS", "TF_XLA_FLAGS", KERAS, "PLAIDML_DEVICE_IDS", "PLAIDML_SETTINGS",
}  # fmt: skip


def for_script(own: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the variables of a script: the user's, with harmful variables replaced by the stack's.

    The stack's variables, ``own``, take precedence, except for TensorFlow's verbosity, glibc's tunables and names in
    ``ZOO_WORKER_ENV``.

    Returns:
        All variables, and the names of the user's variables that were removed or replaced.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _HARMFUL - _named()}
    chosen = ({"TF_CPP_MIN_LOG_LEVEL", *ALLOCATOR} | _named()) & set(kept)
    variables = ALLOCATOR | kept | {name: value for name, value in own.items() if name not in chosen}
    dropped = [name for name in sorted(_HARMFUL & set(os.environ)) if os.environ[name] != variables.get(name)]
    return variables, dropped


def passed_on() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if is_passed_on(name)}


def computing() -> dict[str, str]:
    return {name: value for name, value in passed_on().items() if not _is_system(name)}


def is_passed_on(name: str) -> bool:
    return _is_system(name) or _computes(name) or name in _named()


def configures_framework(name: str) -> bool:
    return name.startswith(_FRAMEWORKS) or _computes(name)


def _named() -> set[str]:
    return {name.strip() for name in os.environ.get(MORE, "").split(",")} - {""}


def _is_system(name: str) -> bool:
    return name.upper() in _SYSTEM or name.startswith("LC_")


def _computes(name: str) -> bool:
    return name in _COMPUTE or name.startswith(_COMPUTE_PREFIXES)
