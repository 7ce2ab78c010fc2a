"""Time generated text: `zoo infer` and `zoo serve` next to a cached loop in plain PyTorch, in turns.

python scripts/benchmarks/generation.py [--stacks torch tf-2.21 jax] [--rounds 5] [--tokens 2000] [--before CHECKOUT]

All generate with the sizes of the bundled language model, each round in separate processes. The zoo's tokens a second
are those of the run's record, without the start; of the server they are counted from the first to the last event of
a stream. `cpu_ms` is the processor time of a token, of the server and its worker. `--before` adds an earlier commit.
The load of the machine is printed with each round.
"""

import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common, serving

NETWORK = common.ROOT / "assets" / "weights" / "transformer" / "lm" / "shakespeare"
PEER = "cached loop in plain PyTorch"
Figures = dict[str, float]


def main() -> int:
    """Time all; print medians and ratios."""
    parser = common.parser(__doc__)
    parser.add_argument("--stacks", nargs="+", default=["torch", "tf-2.21", "jax"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--before", type=Path, help="checkout of an earlier commit")
    parser.add_argument("--without-serve", action="store_true")
    options = parser.parse_args()
    ways: dict[str, Callable[[], Figures]] = {PEER: functools.partial(peer, options.tokens)}
    for stack in options.stacks:
        ways[f"infer, {stack}"] = functools.partial(infer, common.ROOT, stack, options.tokens)
        if options.before:
            ways[f"infer before, {stack}"] = functools.partial(infer, options.before, stack, options.tokens)
        if not options.without_serve:
            ways[f"serve, {stack}"] = functools.partial(stream, stack, min(options.tokens, 2000))
    rounds: dict[str, list[Figures]] = {name: [] for name in ways}
    for number in range(options.rounds):
        for name, measure in ways.items():
            rounds[name].append(measure())
            words = ", ".join(f"{key} {value:,.2f}" for key, value in rounds[name][-1].items())
            print(f"round {number + 1}, load {os.getloadavg()[0]:.1f}: {name}: {words}", flush=True)
    rows = []
    for name, figures in rounds.items():
        speeds = [row["tokens_per_s"] for row in figures]
        print(f"{name}: {statistics.median(speeds):,.0f} tokens/s ({min(speeds):,.0f} to {max(speeds):,.0f})", end="")
        if name != PEER:
            theirs = [1 / row["tokens_per_s"] for row in rounds[PEER]]
            ratios, words = common.times_as_fast([1 / speed for speed in speeds], theirs)
            print(f"; {words} as the {PEER}", end="")
            rows.append(("generated text, " + name.split(",")[0], name.split(", ")[1], PEER, ratios))
        print()
    common.write_ratios(options.output, rows)
    return 0


def peer(tokens: int) -> Figures:
    """Measure the loop in PyTorch."""
    sizes = json.loads((NETWORK / "request.json").read_text())["model"]["args"]
    return common.run_in_stack("torch", "generation_torch.py", json.dumps(sizes), tokens)


def infer(tree: Path, stack: str, tokens: int) -> Figures:
    """Measure the command line of a checkout."""
    with tempfile.TemporaryDirectory() as folder:
        settings = ["prompt=ROMEO:", f"length={tokens}", f"stack={stack}", f"output.root={folder}", "--json"]
        words = [sys.executable, "-m", "zoo", "infer", "model=transformer/lm", "weights=zoo", *settings]
        variables = {**os.environ, "PYTHONPATH": str(tree)}
        answer = subprocess.run(words, cwd=tree, env=variables, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise SystemExit(answer.stderr[-2000:])
    return {"tokens_per_s": json.loads(answer.stdout)["metrics"]["items_per_s"]}


def stream(stack: str, tokens: int) -> Figures:
    """Measure a stream of the server."""
    port = serving.free_port()
    address = f"http://127.0.0.1:{port}"
    words = [*serving.ZOO, "serve", "model=transformer/lm", "weights=zoo", f"stack={stack}", "name=play"]
    with serving.running([*words, f"port={port}"], f"{address}/readyz") as process:
        body = json.dumps({"prompt": "ROMEO:", "length": tokens}).encode()
        request = urllib.request.Request(f"{address}/v1/models/play:generate", body)  # noqa: S310  (our own)
        before, times = serving.processor_seconds(process), []
        with urllib.request.urlopen(request, timeout=600) as answer:  # noqa: S310
            times = [time.perf_counter() for line in answer if line.startswith(b"data:")]
        spent = serving.processor_seconds(process) - before
    return {"tokens_per_s": (tokens - 1) / (times[-1] - times[0]), "cpu_ms": 1000 * spent / tokens}


if __name__ == "__main__":
    sys.exit(main())
