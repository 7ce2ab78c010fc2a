"""Resize and scale images inside of an exported image classifier."""

from types import SimpleNamespace

import numpy as np

from zoo.worker.exporting import programs


def include(subject):
    """Let the exported files of a subject take images: uint8 (1, any height, any width, 3)."""
    subject.inputs = [("image", (1, None, None, 3), "uint8")]
    scale = scaling(subject)
    subject.before = lambda pixels: scale(resized(pixels, subject.request.reading))


def scaling(subject):
    """Return a function that scales pixels 0 to 255, a tensor, for the network."""
    return lambda pixels: programs.scaled(pixels, SimpleNamespace(**subject.preprocessing))


def resized(pixels, how):
    """Resize as :func:`zoo.data.images.pixels.fit`, except for one level of 255, rarely two.

    Products of matrices agree with Pillow in every format. Resize operators differ by up to 16 levels or cannot crop.
    Like Pillow's ``reducing_gap``, large images are first averaged over groups of pixels.
    """
    import tensorflow as tf

    wanted = np.array([how["height"], how["width"]], np.float32)
    size = extent = tf.cast(tf.shape(pixels)[1:3], tf.float32)
    if how["resize"] == "crop":
        extent = tf.maximum(1.0, how["crop"] * tf.reduce_min(size / wanted) * wanted)
    image = pixels[0]
    for axis, count in ((1, how["width"]), (0, how["height"])):  # the order of Pillow
        edge, box, places = size[axis], extent[axis], tf.range(size[axis])
        group = tf.maximum(1.0, tf.floor(box / (3 * count)))
        first = tf.maximum(0.0, tf.floor((edge - box - box / count) / 2))
        groups = tf.floor((places - first) / group)
        # Distances of groups from output pixels, times 2 * count: these products are exact in float32.
        middles = ((2 * groups + 1) * group + 2 * first - edge + box) * count
        distances = tf.abs(middles - np.arange(1, 2 * count, 2, np.float32)[:, None] * box)
        weights = tf.nn.relu(1 - distances / tf.maximum(box, count * group) / 2)
        weights /= tf.minimum(group, edge - first - groups * group)
        weights /= tf.reduce_sum(weights, 1, keepdims=True)
        lines = tf.reshape(tf.transpose(image, [1, 0, 2]), [tf.shape(image)[1], -1])
        # Halves are rounded up, also if float32 falls short of them.
        image = tf.floor(tf.reshape(weights @ tf.cast(lines, tf.float32), [count, -1, 3]) + 0.5005)
    return tf.reshape(image, [1, how["height"], how["width"], 3])
