"""Generate text with a cached loop in plain PyTorch, on one thread: python generation_torch.py SIZES TOKENS

SIZES is JSON with vocabulary, length, layers, d_model, heads, d_ff. Weights are random. When the window is full, its
second half is encoded again in one pass. Writes JSON: tokens a second, and processor seconds.
"""

import json
import sys
import time
from typing import Any

import torch  # type: ignore[import-not-found, unused-ignore]
from torch.nn.functional import gelu, layer_norm, linear  # type: ignore[import-not-found, unused-ignore]

torch.set_num_threads(1)
torch.manual_seed(1)


def weights(sizes: dict[str, int]) -> tuple[torch.Tensor, torch.Tensor, list[dict[str, Any]]]:
    """Draw token table, position table, and the kernels and biases of each layer."""
    width, inner = sizes["d_model"], sizes["d_ff"]
    shapes = {"qkv": (3 * width, width), "out": (width, width), "up": (inner, width), "down": (width, inner)}
    layers = [
        {name: (0.05 * torch.randn(shape), torch.zeros(shape[0])) for name, shape in shapes.items()}
        for _ in range(sizes["layers"])
    ]
    return torch.randn(sizes["vocabulary"], width), torch.randn(sizes["length"], width), layers


class Loop:
    """A language model and its cache."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.width, self.heads, self.length = sizes["d_model"], sizes["heads"], sizes["length"]
        self.tokens, self.positions, self.layers = weights(sizes)
        shape = (sizes["layers"], self.heads, self.length, self.width // self.heads)
        self.keys, self.values, self.position = torch.zeros(shape), torch.zeros(shape), 0
        self.gamma, self.beta = torch.ones(self.width), torch.zeros(self.width)
        self.past = torch.full((self.length, self.length), float("-inf")).triu(1)

    def normal(self, x: torch.Tensor) -> torch.Tensor:
        return layer_norm(x, (self.width,), self.gamma, self.beta)

    def read(self, tokens: list[int]) -> torch.Tensor:
        """Append tokens; return the logits after the last, (1, vocabulary)."""
        begin, end, count = self.position, self.position + len(tokens), len(tokens)
        x = self.tokens[tokens] + self.positions[begin:end]
        for number, layer in enumerate(self.layers):
            qkv = linear(self.normal(x), *layer["qkv"]).view(count, 3, self.heads, -1)
            q, k, v = qkv.permute(1, 2, 0, 3)
            self.keys[number, :, begin:end], self.values[number, :, begin:end] = k, v
            scores = q @ self.keys[number, :, :end].transpose(1, 2) * q.shape[-1] ** -0.5
            if count > 1:
                scores = scores + self.past[begin:end, :end]
            attended = scores.softmax(-1) @ self.values[number, :, :end]
            x = x + linear(attended.transpose(0, 1).reshape(count, self.width), *layer["out"])
            x = x + linear(gelu(linear(self.normal(x), *layer["up"])), *layer["down"])
        self.position = end
        logits: torch.Tensor = self.normal(x[-1:]) @ self.tokens.T
        return logits

    @torch.inference_mode()  # type: ignore[untyped-decorator, unused-ignore]
    def write(self, count: int) -> None:
        """Generate so many tokens."""
        self.position, seen = 0, [2]
        logits = self.read(seen)
        for _ in range(count):
            seen.append(int(torch.multinomial((logits[0] / 0.8).softmax(-1), 1)))
            if self.position == self.length:
                self.position = 0
                logits = self.read(seen[-(self.length // 2) :])
            else:
                logits = self.read(seen[-1:])


def main() -> None:
    """Time it."""
    loop, count = Loop(json.loads(sys.argv[1])), int(sys.argv[2])
    loop.write(100)
    began, spent = time.perf_counter(), time.process_time()
    loop.write(count)
    seconds = time.perf_counter() - began
    print(json.dumps({"tokens_per_s": count / seconds, "cpu_ms": 1000 * (time.process_time() - spent) / count}))


if __name__ == "__main__":
    main()
