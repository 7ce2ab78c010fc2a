"""Divide the items of an epoch into batches of one size, because most frameworks compile again for a new size.

A short last batch would give its items a higher weight or, if dropped, waste them.
"""

import numpy as np


def equal_batches(items, most, multiple=1):
    """Return (steps, size): the fewest batches of one size, at most ``most`` items each, that hold all items.

    The size is then rounded up to the multiple that the processes need, which may reduce the steps.
    """
    steps = -(-items // most)
    size = -(-items // steps)
    size = -(-size // multiple) * multiple
    return -(-items // size), size


def tell_if_raised(run, items):
    """Warn if the processes of a training run need larger batches than one process would use."""
    most, group = run.settings.batch_size, run.group
    (_, wanted), (_, size) = equal_batches(items, most), equal_batches(items, most, group.multiple)
    if size != wanted:
        run.warn(
            "Batches have %d items instead of %d: on this framework, all %d processes must take equal shares"
            % (size, wanted, group.size)
        )


def fill(order, size, random):
    """Return the order, with some of its items repeated at the end to fill the last batch."""
    lacking = -len(order) % size
    return np.concatenate([order, random.permutation(order)[:lacking]]) if lacking else order
