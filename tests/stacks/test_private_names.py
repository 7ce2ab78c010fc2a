"""The private names of Keras that the zoo uses are there, in the release and in the nightly builds."""

import json
import os
import re
import subprocess

import pytest

from tests.support import CHECKOUT, real_stacks

COMMON = [
    "keras.src.backend.common.dtypes:BIT64_TO_BIT32_DTYPE",
    "keras.src.utils.naming:reset_uids",
]
# Backend -> module:name, and the zoo's function that chooses between two places.
NAMES = {
    "torch": [
        *COMMON, "keras.src.backend.common.variables:AutocastScope", "keras.src.backend:random",
        "zoo.models.compat.version:network_operations",
    ],
    "jax": [
        *COMMON, "keras.src.backend.jax.distribution_lib:distribute_tensor",
        "zoo.models.compat.version:network_operations",
    ],
    "tensorflow": [
        *COMMON, "keras.src.backend.common.stateless_scope:in_stateless_scope", "keras.src.backend:random",
        "zoo.models.compat.version:network_operations",
    ],
}  # fmt: skip
SCRIPT = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
missing = []
for text in json.loads(sys.argv[2]):
    module, name = text.split(":")
    found = getattr(importlib.import_module(module), name, None)
    if found is None or (name == "network_operations" and not hasattr(found(), "conv")):
        missing.append(text)
print(json.dumps(missing))
"""


@pytest.mark.parametrize(
    ("stack", "backend"),
    [
        pytest.param(stack, backend, marks=pytest.mark.stacks(stack))
        for stack, backend in (("torch", "torch"), ("jax", "jax"), ("tf-2.21", "tensorflow"))
    ],
)
def test_every_private_name_is_there(stack: str, backend: str) -> None:
    command = [str(real_stacks.python(stack)), "-B", "-c", SCRIPT, str(CHECKOUT), json.dumps(NAMES[backend])]
    variables = os.environ | {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_no_other_private_module_of_keras_is_used() -> None:
    known = {text.partition(":")[0] for names in NAMES.values() for text in names}
    used = set()
    for path in (CHECKOUT / "zoo").rglob("*.py"):
        used.update(re.findall(r"keras\.src[\w.]*\w", path.read_text(encoding="utf-8")))
    parents = {".".join(name.split(".")[:size]) for name in known for size in range(2, name.count(".") + 2)}
    strange = {name for name in used if name not in parents and name.rpartition(".")[0] not in parents}
    assert not strange
