"""What each stack answers to the questions of the conformance tests: one process a stack answers all."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support import SUPPORT, questions, real_stacks
from tests.support.once import once
from zoo.core import paths
from zoo.environments import stacks, store

WORKER = SUPPORT / "workers" / "conformance.py"
BACKENDS = {"plaidml": "plaidml", "openvino": "openvino"}
# Most of the time of JAX is that of its compiler, which takes a quarter of it for code that it does not optimize.
QUICK = {"jax": {"XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"}}


class Answers:
    """The answers of all stacks, each asked when a test first needs it, by whichever process that is."""

    def __init__(self, root: Path, others: bool) -> None:
        """``others``: the stacks of the default ring are asked only for what others are compared with."""
        self.root = root
        self.asked = questions.COMPARED if others else {}

    def of(self, stack: str, part: str) -> Any:
        """What a stack answers to one part; skips where the stack cannot be had."""
        out = self.folder(stack, part).parent
        if (error := out / f"{part}.error").exists():
            pytest.fail(error.read_text())
        return json.loads((out / f"{part}.json").read_text())

    def folder(self, stack: str, part: str) -> Path:
        """Where a stack left what it computed for one part."""
        real_stacks.environment(stack)
        if stack in questions.STACKS["text"] and stack != questions.FIRST:
            self.folder(questions.FIRST, part)  # whose weights the others are asked with
        return once(self.root / stack, lambda out: self._ask(stacks.load(stack), out)) / part

    def _ask(self, row: stacks.Stack, out: Path) -> None:
        parts = {}
        for name in self.asked.get(row.name, questions.of(row.name)):
            (out / name).mkdir(parents=True)
            parts[name] = questions.BUILDERS[name](row, out / name, self.root) | {"out": str(out / name)}
        ask(row, parts, out)


def ask(row: stacks.Stack, parts: dict[str, dict[str, Any]], out: Path) -> None:
    """Let a process of a stack answer these parts; each leaves PART.json or PART.error in a folder."""
    device = {
        "device_kind": "cpu",
        "backend": BACKENDS.get(row.framework, "cpu"),
        "framework": row.framework,
        "id": None,
    }
    request = {"zoo": str(paths.PACKAGE), "keras": row.keras, "framework": row.framework, "device": device}
    (out / "request.json").write_text(json.dumps(request | {"out": str(out), "parts": parts}))
    command = [str(real_stacks.python(row.name)), "-I", "-B", str(WORKER), str(out / "request.json")]
    environment = store.child_environment(row, QUICK.get(row.framework))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    (out / "stderr.log").write_text(done.stderr)
    if done.returncode:
        raise RuntimeError(f"{row.name} ended with {done.returncode}: {done.stderr[-3000:]}")
