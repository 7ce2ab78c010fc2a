"""Place the training items on the device, which gathers batches by index, or on the host.

Batches from the host are copied to a GPU a step ahead.
"""

import itertools

from zoo.worker import devices
from zoo.worker.errors import UserError
from zoo.worker.training.prefetch import prefetch

# The share of the device's memory that items may use; the rest is for the network.
SHARE = 0.25


def gatherer(module, arrays):
    """Put arrays on the device of a ``zoo.worker.devices`` module; return a function that gathers rows of each."""
    kept = [module.put(each) for each in arrays]
    return lambda chosen: tuple(module.take(each, chosen) for each in kept)


def keeper(run, size, obstacle=None):
    """Return the ``zoo.worker.devices`` module that keeps the training items, or None for the host.

    ``size`` is the bytes of all items; ``obstacle`` is why the host must make the batches, or None.
    """
    wanted, device = run.request.data.placement, run.request.device
    # A CPU uses the host's memory.
    if wanted == "host" or (wanted == "auto" and device.device_kind == "cpu"):
        return None
    module = devices.load(device.framework)
    obstacle = obstacle or _obstacle(module, size, run.group)
    if obstacle and wanted == "device":
        raise UserError("data.placement=device is not possible: %s" % obstacle)
    return None if obstacle else module


def _obstacle(module, size, group):
    if not hasattr(module, "take"):
        return "only PyTorch, JAX and MLX gather batches on the device"
    if group.size > 1:
        return "%d processes share each batch" % group.size
    memory = module.memory_bytes()
    if memory and size > SHARE * memory:
        return "the items take %.2f GB, more than a quarter of the device's %.2f GB" % (size / 2**30, memory / 2**30)
    return None


def feed(batches, epoch, done, run):
    """Iterate over the batches of an epoch after the first ``done``, each prepared during the previous one."""
    rest = itertools.islice(batches.batches(epoch), done, None)
    if batches.on_device:  # nothing to prepare
        return rest
    device, framework = run.request.device, run.request.device.framework
    if device.device_kind == "cpu" or run.group.size > 1 or not devices.capabilities(framework)["copies_ahead"]:
        return prefetch(rest)
    put = devices.load(framework).put
    return prefetch(tuple(put(each) for each in batch) for batch in rest)
