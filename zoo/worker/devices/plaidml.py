"""PlaidML 0.7: choose the device without its interactive setup.

Settings in the environment override ``~/.plaidml``, so no file of the user is read or written.
"""

import logging
import os

from zoo.protocol.events import DeviceProof
from zoo.worker.errors import UserError

CAPABILITIES = {
    "any_length": False,
    "variables": ("PLAIDML_DEVICE_IDS", "PLAIDML_EXPERIMENTAL", "PLAIDML_TELEMETRY"),
    "wrong_features": {
        "squeezenet": "PlaidML 0.7 crashes or computes wrong results in SqueezeNet's unpadded convolutions; "
        "set features=random, or use another stack"
    },
    "skipped_probes": {"variable": "PlaidML opens one device and keeps everything there"},
}

_opened = []


class _OpenedDevices(logging.Handler):
    """Records the device that PlaidML opens, which it reports only in its log."""

    def emit(self, record):
        message = record.getMessage()
        if message.startswith("Opening device"):
            _opened.append(message.split('"')[1])


def start(device):
    # Without a setting in the environment, PlaidML requires its interactive setup.
    os.environ["PLAIDML_EXPERIMENTAL"] = "1"
    os.environ["PLAIDML_TELEMETRY"] = "0"
    os.environ.pop("PLAIDML_DEVICE_IDS", None)
    import plaidml

    logging.getLogger("plaidml").addHandler(_OpenedDevices())
    ids = [row.id for row in plaidml.devices(plaidml.Context(), limit=100, return_all=True)[0]]
    ids = [each.decode() if isinstance(each, bytes) else each for each in ids]
    os.environ["PLAIDML_DEVICE_IDS"] = choose(ids, device)


def choose(ids, device):
    """Return the requested device id, or the best of PlaidML's ``ids`` of the requested kind.

    Metal is preferred to OpenCL, which computed wrong numbers on the same Radeon
    (https://github.com/plaidml/plaidml/issues/175).
    """
    if device.id:
        if device.id not in ids:
            raise UserError("PlaidML has no device %r; it has %s" % (device.id, ", ".join(ids) or "none"))
        return device.id
    wanted = [name for name in ids if kind(name) == device.device_kind]
    if not wanted:
        words = "PlaidML finds no %s; it finds %s"
        raise UserError(words % (device.device_kind.upper(), ", ".join(ids) or "no device"))
    return min(wanted, key=lambda name: (not name.startswith("metal_"), ids.index(name)))


def kind(name):
    """Return ``"cpu"`` or ``"gpu"`` for an id such as ``llvm_cpu.0``, ``opencl_cpu.0``, ``metal_intel_iris.0``."""
    return "cpu" if "_cpu" in name else "gpu"


def proof(device):
    """Multiply two matrices and return the device that PlaidML opened for it."""
    import numpy as np
    from keras import backend as K

    left = K.variable(np.ones((64, 64), dtype="float32"))
    K.eval(K.dot(left, left))
    if not _opened:
        raise RuntimeError("PlaidML did not report which device it opened")
    return DeviceProof(name=_opened[-1], device_kind=kind(_opened[-1]), proof="matmul", description="")


def place(variable):
    """Return None: PlaidML does not report the device of a variable."""
