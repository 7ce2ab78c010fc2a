"""Train the bundled feature network of the style transfer (``features=distilled``) from published networks.

    python scripts/maintenance/distill_features.py PHOTOS VGG19 SQUEEZENET OUTPUT.npz [--minutes 40]

PHOTOS is a folder of photos, such as scripts/maintenance/training_photos.py writes. VGG19 and SQUEEZENET are weights
as ``feature_weights=`` reads them; of VGG19, three blocks are enough. No labels are used: on random crops of the
photos, 1x1 convolutions predict normalized feature maps of both networks from the maps of the small network
(Romero et al. 2015, https://arxiv.org/abs/1412.6550). The loss is the share of their variance that is not predicted.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np
from PIL import Image

from scripts.benchmarks import common
from zoo.weights import feature_weights, formats

WORKER = Path(__file__).with_name("workers") / "distill_features.py"
SUFFIXES = (".jpg", ".jpeg", ".png")


def main() -> int:
    """Train in the interpreter of the stack torch, and write the weights in float16."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("photos", "vgg19", "squeezenet", "output"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--minutes", type=float, default=40.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for teacher in ("vgg19", "squeezenet"):
            feature_weights.write(folder / f"{teacher}.npz", feature_weights.read(getattr(options, teacher)))
        files = sorted(path for path in options.photos.iterdir() if path.suffix.lower() in SUFFIXES)
        for number, path in enumerate(files):
            np.save(folder / f"photo{number:04}.npy", np.asarray(Image.open(path).convert("RGB")))
        settings = json.dumps({"root": str(ROOT), "folder": name, "seed": options.seed, "minutes": options.minutes})
        command, variables = common.stack_command("torch", WORKER, settings)
        if code := subprocess.run(command, env=variables, check=False).returncode:
            return code
        with np.load(folder / "student.npz") as trained:
            arrays = {name: trained[name].astype(np.float16) for name in trained.files}
    formats.write_npz(options.output, formats.Weights(arrays, "features"))
    print(f"{options.output}: {sum(each.size for each in arrays.values()):,} weights, from {len(files)} photos")
    return 0


if __name__ == "__main__":
    sys.exit(main())
