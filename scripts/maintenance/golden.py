"""Compute assets/golden: outputs of the classifiers for random images and weights, and one training step of each.

    python3 scripts/run.py python scripts/maintenance/golden.py
    python3 scripts/run.py python scripts/maintenance/golden.py mnist         # one of them
    python3 scripts/run.py python scripts/maintenance/golden.py transformer   # torch.nn.TransformerEncoder's outputs
    python3 scripts/run.py python scripts/maintenance/golden.py first_epochs torch jax   # losses of first epochs, and
                                                                    # how far those of other stacks are from them

Run it when a network is meant to compute other numbers than before, never to make a test pass. They are computed by
tf-2.21 on the CPU, from images and weights drawn from a seed by zoo/worker/benchmarks/golden.py; those of the
transformer by PyTorch's own module, in tests/support/workers/transformer.py.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

GOLDEN = ROOT / "assets" / "golden"
STACK = "tf-2.21"
VALUES = 8
COMMON = {"seed": 1, "count": 5}
DIGITS = {"input_shape": [28, 28, 1], "classes": 10}
# The gain of the last layer spreads the probabilities, so that they are not all near a thousandth.
JOBS: list[dict[str, Any]] = [
    *(
        {"key": f"mobilenet_{alpha}", "model": "mobilenet", "gain": 6, "args": {"alpha": alpha, "input_size": 224}}
        for alpha in (0.25, 0.5, 0.75, 1.0)
    ),
    {"key": "mobilenet_v2_1.0", "model": "mobilenet_v2", "gain": 2, "args": {"alpha": 1.0, "input_size": 224}},
    {"key": "mnist", "model": "mnist", "gain": 1, "args": DIGITS},
    {"key": "mnist_conv5", "model": "mnist_conv5", "gain": 1, "args": DIGITS},
    {"key": "mnist_fast", "model": "mnist_fast", "gain": 1, "args": DIGITS},
    {"key": "mnist_dense", "model": "mnist_dense", "gain": 1, "args": DIGITS | {"units": 128}},
]


def main(arguments: list[str]) -> int:
    """Compute and write the golden files: of all classifiers or of those named, or ``transformer``."""
    if arguments and arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0
    if arguments[:1] == ["first_epochs"]:
        return _first_epochs(arguments[1:])
    if arguments == ["transformer"]:
        _run("torch", "transformer", {"golden_out": str(GOLDEN / "transformer.npz")})
        return 0
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        jobs = [COMMON | job for job in JOBS if not arguments or job["key"] in arguments]
        _run(STACK, "golden", {"out": folder, "jobs": jobs, "step": True})
        GOLDEN.mkdir(parents=True, exist_ok=True)
        for job in jobs:
            _write(job, out)
        lengths = json.loads((out / "step.json").read_text(encoding="utf-8"))
    rounded = {name: float(f"{length:.6g}") for name, length in lengths.items()}
    (GOLDEN / "learning_step.json").write_text(json.dumps(rounded, indent=0) + "\n", encoding="utf-8")
    return 0


# How far the losses of a first epoch may be from the golden ones, as a share of them: several times what those of the
# stacks differed by when they were measured (docs/how-to/certify.md).
TOLERANCES = {
    "mnist_dense": 1e-4, "mnist": 0.01, "mobilenet": 0.05, "transformer/classifier": 1e-3, "transformer/lm": 1e-3,
}  # fmt: skip


def _first_epochs(stacks: list[str]) -> int:
    """Write the losses of the first epoch of each model, and print how far those of other stacks are from them."""
    from zoo.certification import samples, steps
    from zoo.config.overrides import Overrides
    from zoo.tasks import registry

    def losses(model: str, stack: str, folder: Path) -> dict[str, float]:
        backend = "plaidml" if stack.startswith("plaidml") else "cpu"
        settings = steps.first_epoch_settings(model, folder / "samples")
        run = registry.dispatch(
            "train", Overrides.parse([*settings, f"backend={backend}", f"stack={stack}", f"output.root={folder}"])
        )
        return {name: float(f"{run.history[0][name]:.7g}") for name in ("loss", "val_loss")}

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        samples.draw(folder / "samples")
        golden = {model: losses(model, STACK, folder) for model in TOLERANCES}
        rows = {model: {**row, "tolerance": TOLERANCES[model]} for model, row in golden.items()}
        text = json.dumps({"stack": STACK, "losses": rows}, indent=1)
        steps.FIRST_EPOCHS.write_text(text + "\n", encoding="utf-8")
        for model, wanted in golden.items():
            for stack in stacks:
                off = max(abs(value / wanted[key] - 1) for key, value in losses(model, stack, folder).items())
                print(f"{model} on {stack}: off by {off:.2g}", flush=True)
    return 0


def _run(stack_name: str, part: str, request: dict[str, Any]) -> None:
    """Let a stack answer one part of the conformance tests."""
    from zoo.environments import machine, stacks, store

    stack = stacks.load(stack_name)
    environment = store.ensure(stack, machine.probe().platform)
    device = {"device_kind": "cpu", "backend": "cpu", "framework": stack.framework, "id": None}
    whole = {"zoo": str(ROOT / "zoo"), "keras": stack.keras, "framework": stack.framework, "device": device}
    worker = ROOT / "tests" / "support" / "workers" / "conformance.py"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "request.json"
        path.write_text(json.dumps(whole | {"out": folder, "parts": {part: request}}), encoding="utf-8")
        command = [str(environment.python), "-I", "-B", str(worker), str(path)]
        subprocess.run(command, check=True, env=store.child_environment(stack))
        if (error := Path(folder, f"{part}.error")).exists():
            raise RuntimeError(error.read_text(encoding="utf-8"))


def _write(job: dict[str, Any], out: Path) -> None:
    import numpy as np

    facts = json.loads((out / f"{job['key']}.json").read_text(encoding="utf-8"))
    probabilities = np.load(out / f"{job['key']}.npy")
    classes = probabilities.max(axis=0).argsort()[::-1][:VALUES]  # the most likely ones
    golden = job | {
        "made_with": {"stack": STACK, "keras": facts["keras"]},
        "parameters": facts["parameters"],
        "classes": classes.tolist(),
        "probabilities": [[round(float(value), 7) for value in row[classes]] for row in probabilities],
    }
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(shape)}" for name, shape in facts["weights"])
    text = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in golden.items())
    (GOLDEN / f"{job['key']}.json").write_text(f'{{\n{text},\n"weights": {{\n{rows}\n}}\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
