"""One module per framework: start it on the requested device, prove where it computes, and list its capabilities.

Each has ``start(device)``, called before Keras is imported, and ``proof(device)``, called after, which returns a
:class:`zoo.protocol.events.DeviceProof`. ``place`` returns the name and kind of the device of a Keras variable, or
None if it is unknown. ``CAPABILITIES`` overrides entries of :data:`USUAL`.
"""

import importlib

# Default capabilities of a framework.
USUAL = {
    # Has gradients and optimizers.
    "trains": True,
    # Batches may differ in length; if not, the model is compiled for one length.
    "any_length": True,
    # Execution modes of a forward pass, the simplest first.
    "modes": ("graph",),
    # Additional implementations of a transformer's encoder to time.
    "encoders": (),
    # Tasks that are faster in bfloat16 on CPUs with bfloat16 instructions, such as ``style`` and ``classifiers``.
    "bfloat16_gains": (),
    # Images that are not larger than this many tiles are restyled as a whole.
    "tiles_at_once": 4,
    # Feature networks with wrong results, and the error message.
    "wrong_features": {},
    # Probes that cannot be run, and the reason.
    "skipped_probes": {},
    # A thread can copy the next batch to the GPU during a step.
    "copies_ahead": False,
    # Environment variables with which ``start`` chooses the device; scripts can set them to do the same.
    "variables": (),
}


def load(framework):
    return importlib.import_module("%s.%s" % (__name__, framework))


def versions(framework):
    """Return the versions of a framework's packages, by name; a module's own ``versions`` overrides its one."""
    device = load(framework)
    if hasattr(device, "versions"):
        return device.versions()
    return {framework: str(importlib.import_module(framework).__version__)}


def capabilities(framework=None):
    if framework is None:
        from zoo.models import compat

        framework = compat.backend_name()
    return dict(USUAL, **load(framework).CAPABILITIES)
