"""Worker of scripts/maintenance/distill_features.py in the interpreter of the stack torch.

Trains the small network on the crops, and writes student.npz. The maps are scaled to a mean of one over all
positions and channels, as in Gatys et al. 2015: otherwise one level would dominate the loss of the style.
"""

import glob
import json
import sys
import time

import numpy as np
import torch

SETTINGS = json.loads(sys.argv[1])
sys.path.insert(0, SETTINGS["root"])

from zoo.models import compat
from zoo.models.features import build, distilled

# Feature maps to predict from each level, and the pixels between their positions and the first position.
TARGETS = {
    "level1": [("vgg19", "block1_conv2", 1, 0.0)],
    "level2": [("vgg19", "block2_conv2", 2, 0.5), ("squeezenet", "conv1", 2, 1.0)],
    "level3": [("vgg19", "block3_conv3", 4, 1.5), ("squeezenet", "fire3", 4, 3.0)],
    "level4": [("squeezenet", "fire4", 8, 7.0), ("squeezenet", "fire5", 8, 7.0)],
    "level5": [("squeezenet", "fire6", 16, 15.0), ("squeezenet", "fire8", 16, 15.0)],
}
EDGE, BATCH, RATE, WARMUP = 128, 8, 3e-3, 100
# Crops, whose maps are computed once: 4.6 MB each on disk.
POOL = 1500


def main():
    """Train until the time is over; the learning rate falls to zero with it."""
    torch.manual_seed(SETTINGS["seed"])
    random = np.random.RandomState(SETTINGS["seed"])
    folder = SETTINGS["folder"]
    photos = [np.load(path) for path in sorted(glob.glob(folder + "/photo*.npy"))]
    wanted = {}
    for targets in TARGETS.values():
        for name, layer, _, _ in targets:
            wanted.setdefault(name, []).append(layer)
    teachers = {name: teacher(name, layers, folder) for name, layers in wanted.items()}
    student = build(compat, "distilled", list(distilled.LAYERS))
    student.trainable = True
    for layer in student.layers:
        layer.trainable = layer.name != "to_bgr"
    scale_first(student)
    weights = [variable.value for variable in student.trainable_variables]
    pool = prepared(teachers, photos, random, folder)
    heads = {
        (level, name, layer): torch.nn.Conv2d(distilled.LEVELS[number][-1], pool[name, layer].shape[1], 1)
        for number, (level, targets) in enumerate(TARGETS.items())
        for name, layer, _, _ in targets
    }
    each = [*weights, *(value for head in heads.values() for value in head.parameters())]
    optimizer = torch.optim.Adam(each, RATE, fused=True)
    began, last, step, shown = time.time(), 60 * SETTINGS["minutes"], 0, {}
    while (passed := (time.time() - began) / last) < 1:
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / WARMUP) * 0.5 * (1 + np.cos(np.pi * passed))
        losses = unpredicted(student, pool, heads, random.randint(POOL, size=BATCH))
        optimizer.zero_grad(set_to_none=True)
        sum(losses.values()).backward()
        torch.nn.utils.clip_grad_norm_(each, 1.0)
        optimizer.step()
        step += 1
        for key, loss in losses.items():
            shown[key] = 0.98 * shown.get(key, loss.item()) + 0.02 * loss.item()
        if step % 200 == 0:
            by_map = "  ".join(f"{key[2]} {value:.3f}" for key, value in shown.items())
            print(f"step {step}, {passed * last:.0f} of {last:.0f} s: {by_map}", flush=True)
    level_out(student, [crops(photos, random) for _ in range(8)])
    arrays = {
        f"{layer.name}/{kind}": np.asarray(value)
        for layer in student.layers
        if layer.trainable and layer.weights
        for kind, value in zip(("kernel", "bias"), layer.get_weights(), strict=True)
    }
    np.savez(folder + "/student.npz", **arrays)


def teacher(name, layers, folder):
    model = build(compat, name, layers)
    with np.load(f"{folder}/{name}.npz") as arrays:
        for layer in model.layers:
            if layer.weights and layer.name != "to_bgr":
                layer.set_weights([arrays[f"{layer.name}/{kind}"] for kind in ("kernel", "bias")])
    return layers, model


def maps_of(model, pixels):
    maps = model(pixels)
    return [each.permute(0, 3, 1, 2) for each in (maps if isinstance(maps, (list, tuple)) else [maps])]


def scale_first(student):
    """Scale the first kernel to pixels of 0 to 255."""
    layer = student.get_layer("level1_conv1")
    kernel, bias = layer.get_weights()
    layer.set_weights([kernel / 64, bias])


def crops(photos, random):
    """Return a batch (n, edge, edge, 3) of crops of several scales; some are mixed, recolored or noisy."""
    batch = np.stack([crop(photos, random) for _ in range(BATCH)])
    for pixels in batch:
        if random.rand() < 0.2:
            pixels[:] = 0.5 * (pixels + crop(photos, random))
        if random.rand() < 0.5:
            pixels[:] = (pixels - 128) * random.uniform(0.5, 1.5, 3) + 128 + random.uniform(-40, 40, 3)
        if random.rand() < 0.3:
            pixels += random.normal(0, random.uniform(2, 30), pixels.shape)
    return torch.from_numpy(np.clip(batch, 0, 255).astype(np.float32))


def crop(photos, random):
    photo = photos[random.randint(len(photos))]
    edge = min(random.randint(EDGE // 2, 3 * EDGE), *photo.shape[:2])
    top, left = (random.randint(size - edge + 1) for size in photo.shape[:2])
    pixels = torch.from_numpy(photo[top : top + edge, left : left + edge].astype(np.float32)).permute(2, 0, 1)[None]
    pixels = torch.nn.functional.interpolate(pixels, (EDGE, EDGE), mode="bilinear", antialias=True)
    pixels = pixels[0].permute(1, 2, 0).numpy()
    return pixels[:, ::-1].copy() if random.rand() < 0.5 else pixels


def prepared(teachers, photos, random, folder):
    """Return crops, (n, edge, edge, 3), as ``"pixels"``, and their maps, (n, channels, height, width) in float16.

    The channels of the maps are normalized; weak channels remain weaker.
    """
    pool = {"pixels": np.lib.format.open_memmap(folder + "/pixels.npy", "w+", np.float32, (POOL, EDGE, EDGE, 3))}
    statistics = {}
    with torch.no_grad():
        for begin in range(0, POOL, BATCH):
            pixels = crops(photos, random)[: POOL - begin]
            pool["pixels"][begin : begin + len(pixels)] = pixels
            for name, (layers, model) in teachers.items():
                for layer, maps in zip(layers, maps_of(model, pixels), strict=True):
                    key = name, layer
                    if key not in pool:
                        path = f"{folder}/{name}_{layer}.npy"
                        pool[key] = np.lib.format.open_memmap(path, "w+", np.float16, (POOL, *maps.shape[1:]))
                        flat = maps.permute(1, 0, 2, 3).flatten(1)
                        statistics[key] = flat.mean(1), flat.std(1) + 0.1 * flat.std()
                    mean, deviation = (value[None, :, None, None] for value in statistics[key])
                    pool[key][begin : begin + len(pixels)] = ((maps - mean) / deviation).clamp(-1e3, 1e3)
    return pool


def unpredicted(student, pool, heads, chosen):
    """Return, for each map of the teachers, the share of its variance that the student does not predict."""
    losses = {}
    pixels = torch.from_numpy(pool["pixels"][chosen])
    for (level, targets), own in zip(TARGETS.items(), maps_of(student, pixels), strict=True):
        for name, layer, stride, first in targets:
            aim = torch.from_numpy(pool[name, layer][chosen]).float()
            predicted = at_positions(heads[level, name, layer](own), aim.shape[2:], stride, first)
            losses[level, name, layer] = (predicted - aim).square().mean() / aim.square().mean()
    return losses


def at_positions(maps, shape, stride, first):
    """Sample maps at the positions of a teacher's map: in pixels, ``first`` and then every ``stride``."""
    own = (stride - 1) / 2  # the first position of the student's map
    if first == own:
        return maps
    axes = []
    for count, size in zip(shape, maps.shape[2:], strict=True):
        places = torch.arange(count) + (first - own) / stride
        axes.append((2 * places + 1) / size - 1)
    grid = torch.stack(torch.meshgrid(*axes, indexing="ij")[::-1], -1)[None].expand(len(maps), -1, -1, -1)
    return torch.nn.functional.grid_sample(maps, grid, padding_mode="border", align_corners=False)


def level_out(student, batches):
    """Divide the maps of each level by their mean, and multiply the next kernel by it: predictions are the same."""
    with torch.no_grad():
        rows = [maps_of(student, batch) for batch in batches]
        means = [float(torch.stack([each.mean() for each in maps]).mean()) for maps in zip(*rows, strict=True)]
    before = 1.0
    for number, channels in enumerate(distilled.LEVELS):
        for place in range(1, len(channels) + 1):
            layer = student.get_layer(f"level{number + 1}_conv{place}")
            kernel, bias = layer.get_weights()
            after = means[number] if place == len(channels) else before
            layer.set_weights([kernel * before / after, bias / after])
            before = after


if __name__ == "__main__":
    main()
