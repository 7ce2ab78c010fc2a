"""Train a small transformer in plain PyTorch; for each line with a number of steps print the seconds they took."""

import json
import sys
import time

import torch  # type: ignore[import-not-found]  # of the stack


def main() -> None:
    """Answer until standard input ends."""
    torch.manual_seed(0)
    threads = json.loads(sys.argv[1])
    if threads:
        torch.set_num_threads(threads)
    layer = torch.nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 3)
    model = torch.nn.Sequential(torch.nn.Embedding(96, 128), encoder, torch.nn.Linear(128, 96))
    optimizer = torch.optim.AdamW(model.parameters())
    texts = torch.randint(96, (16, 65))
    for line in sys.stdin:
        begin = time.perf_counter()
        for _ in range(json.loads(line)["steps"]):
            loss = torch.nn.functional.cross_entropy(model(texts[:, :-1]).flatten(0, 1), texts[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)


if __name__ == "__main__":
    main()
