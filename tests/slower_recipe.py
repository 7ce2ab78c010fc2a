"""What regression_worker.py does, with a fifth more time spent in every optimizer step."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts" / "bench"))

import regression_worker


def plant(model):
    from zoo.models import compat

    plain = compat.RunningMeans.train

    def train(self, *batch):
        began = time.perf_counter()
        plain(self, *batch)
        end = time.perf_counter() + 0.2 * (time.perf_counter() - began)
        while time.perf_counter() < end:
            pass

    compat.RunningMeans.train = train


if __name__ == "__main__":
    regression_worker.main(plant)
