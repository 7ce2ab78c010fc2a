"""Parts of ``predict.py``: functions that are copied into it, its imports, and its last lines."""

import os

import numpy as np

from zoo.protocol.text_features import shortened


def scaled(pixels, how):
    """Return pixels, also of a tensor, in the network's input format: float32, channels last."""
    values = pixels * np.float32(1)
    if how.channels == "BGR":
        values = values[..., ::-1]
    if how.channels == "gray" and values.shape[-1] == 3:
        values = values @ np.array([[0.299], [0.587], [0.114]], np.float32)
    return (values - np.array(how.subtract, np.float32)) / np.array(how.divide, np.float32)


def padded(pixels, how):
    """Repeat the last row and column until both sides have a size that the network accepts; float32."""
    sides = [max(how.least, -(-side // how.multiple) * how.multiple) for side in pixels.shape[:2]]
    missing = [(0, wanted - side) for wanted, side in zip(sides, pixels.shape)]
    return np.pad(pixels, [*missing, (0, 0)], "edge").astype(np.float32)


FUNCTIONS = {"images": [scaled], "inside": [], "pictures": [padded], "texts": [shortened], "next_token": []}
STANDARD = {"images": [], "inside": [], "pictures": ["io", "warnings"], "texts": ["re", "unicodedata"]}
STANDARD["next_token"] = STANDARD["texts"]
OTHER = {"images": ["from PIL import ExifTags, Image"], "pictures": ["from PIL import ExifTags, Image, ImageCms"]}
OTHER.update(inside=OTHER["images"], texts=[], next_token=[])


def ending(kind, target=None):
    """Return the code in a file of ``templates``: the last lines of the program for a kind, or another part.

    ``target`` is ``labels`` or ``number`` if the program prints these instead of a class.
    """
    with open(os.path.join(os.path.dirname(__file__), "templates", kind + ".txt"), encoding="utf-8") as text:
        code = text.read().strip()
    return code.partition("        best = ")[0] + "        " + ending("print_" + target) if target else code
