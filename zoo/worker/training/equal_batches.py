"""Deal out all items of an epoch in batches of one size: another size would make most frameworks compile once more.

A short last batch would either count more for each of its items or, left out, waste them.
"""

import numpy as np


def equal_batches(items, most, multiple=1):
    """(steps, size): the fewest batches of one size, at most so many items each, that hold all items.

    The size is then raised to a multiple of what the processes that share them need, and fewer may do.
    """
    steps = -(-items // most)
    size = -(-items // steps)
    size = -(-size // multiple) * multiple
    return -(-items // size), size


def tell_if_raised(run, items):
    """Warn where the processes of a training cannot share batches of the size that one process would take."""
    most, group = run.settings.batch_size, run.group
    (_, wanted), (_, size) = equal_batches(items, most), equal_batches(items, most, group.multiple)
    if size != wanted:
        run.warn(
            "Batches have %d items instead of %d: on this framework every process takes as many as the others,"
            " and there are %d" % (size, wanted, group.size)
        )


def fill(order, size, random):
    """The order, with as many of its items drawn once more at its end as the last batch lacks."""
    lacking = -len(order) % size
    return np.concatenate([order, random.permutation(order)[:lacking]]) if lacking else order
