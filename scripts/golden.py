"""Make assets/golden anew: what the MobileNets say of five random pictures with random weights, and how they learn.

    python3 scripts/run.py python scripts/golden.py

Run it when a network is meant to give other numbers than before, never to make a test pass. The stack that computes
them is tf-2.21 on the CPU; pictures and weights are drawn from a seed by tests/golden_worker.py.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

GOLDEN = ROOT / "assets" / "golden"
STACK = "tf-2.21"
VALUES = 8
COMMON = {"seed": 1, "count": 5}
# The gain of the last layer spreads the probabilities, so that they are not all near a thousandth.
JOBS: list[dict[str, Any]] = [
    *(
        {"key": f"mobilenet_{alpha}", "model": "mobilenet", "gain": 6, "args": {"alpha": alpha, "input_size": 224}}
        for alpha in (0.25, 0.5, 0.75, 1.0)
    ),
    {"key": "mobilenet_v2_1.0", "model": "mobilenet_v2", "gain": 2, "args": {"alpha": 1.0, "input_size": 224}},
]


def main() -> int:
    """Compute and write every golden file."""
    from zoo import envs, machine, stacks

    stack = stacks.load(STACK)
    environment = envs.ensure(stack, machine.probe().platform)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        jobs = [COMMON | job for job in JOBS]
        request = {"zoo": str(ROOT / "zoo"), "keras": stack.keras, "framework": stack.framework, "out": folder}
        (out / "jobs.json").write_text(json.dumps(request | {"jobs": jobs, "step": True}), encoding="utf-8")
        worker = ROOT / "tests" / "golden_worker.py"
        command = [str(environment.python), "-I", "-B", str(worker), str(out / "jobs.json")]
        subprocess.run(command, check=True, env=envs.child_environment(stack))
        GOLDEN.mkdir(parents=True, exist_ok=True)
        for job in jobs:
            _write(job, out)
        lengths = json.loads((out / "step.json").read_text(encoding="utf-8"))
    rounded = {name: float(f"{length:.6g}") for name, length in lengths.items()}
    (GOLDEN / "learning_step.json").write_text(json.dumps(rounded, indent=0) + "\n", encoding="utf-8")
    return 0


def _write(job: dict[str, Any], out: Path) -> None:
    import numpy as np

    told = json.loads((out / f"{job['key']}.json").read_text(encoding="utf-8"))
    probabilities = np.load(out / f"{job['key']}.npy")
    classes = probabilities.max(axis=0).argsort()[::-1][:VALUES]  # those that the network finds likeliest
    golden = job | {
        "made_with": {"stack": STACK, "keras": told["keras"]},
        "parameters": told["parameters"],
        "classes": classes.tolist(),
        "probabilities": [[round(float(value), 7) for value in row[classes]] for row in probabilities],
    }
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(shape)}" for name, shape in told["weights"])
    text = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in golden.items())
    (GOLDEN / f"{job['key']}.json").write_text(f'{{\n{text},\n"weights": {{\n{rows}\n}}\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
