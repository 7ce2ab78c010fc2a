"""One module per framework: start it on the requested device, prove where it computes, and list its capabilities.

Each has ``start(device)``, called before Keras is imported, and ``proof(device)``, called after. ``proof`` returns
``name``, ``kind`` (``"cpu"`` or ``"gpu"``) and ``proof``, the operation that was run. ``place`` returns, for a Keras
variable, the name and kind of the device that holds it. ``CAPABILITIES`` overrides names of :data:`USUAL`.
"""

import importlib

# Default capabilities of a framework.
USUAL = {
    # Has gradients and optimizers.
    "trains": True,
    # Batches may differ in length; if not, the model is compiled for one length.
    "any_length": True,
    # Execution modes of a forward pass, the plainest first.
    "modes": ("graph",),
    # Other implementations of a transformer's encoder to time.
    "encoders": (),
    # Work that is faster in bfloat16 on CPUs that multiply it in hardware: ``style`` transfer, ``classifiers``.
    "bfloat16_gains": (),
    # Tiles of an image that are restyled at once.
    "tiles_at_once": 4,
    # Feature networks with wrong results, and what to do.
    "wrong_features": {},
    # Probes that cannot be run, and why.
    "skipped_probes": {},
    # Writes event files of TensorBoard.
    # Batches that the host made can be copied to a GPU by another thread, a step ahead.
    "copies_ahead": False,
    # Environment variables by which ``start`` chooses the device: a script with these variables computes there.
    "variables": (),
}


def load(framework):
    return importlib.import_module("%s.%s" % (__name__, framework))


def capabilities(framework=None):
    if framework is None:
        from zoo.models import compat

        framework = compat.backend_name()
    return dict(USUAL, **load(framework).CAPABILITIES)
