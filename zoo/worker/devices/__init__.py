"""One module a framework: start it on the device asked for, prove where its work is done, say what it can do.

Each has ``start(device)``, called before Keras is imported, and ``proof(device)``, called after: a dictionary
with ``name``, ``kind`` (``"cpu"`` or ``"gpu"``) and ``proof``, the operation that was run to find out. ``place``
returns, for a Keras variable, the name and kind of the device that holds it. ``CAPABILITIES`` may have any of the
names in :data:`USUAL`, where it differs from that. Where batches can be gathered there, ``put`` copies a numpy
array there, ``take`` gathers rows of such an array, and ``memory_bytes`` tells its memory; None: unknown.
"""

import importlib

# What a framework can do unless its module says otherwise.
USUAL = {
    # Gradients and optimizers are there.
    "trains": True,
    # Batches may differ in length; else the model is compiled for one.
    "any_length": True,
    # Execution modes of a forward pass, the plainest first.
    "modes": ("graph",),
    # Who times a transformer's encoder beside the zoo.
    "encoders": (),
    # What bfloat16 makes faster on processors that multiply it in hardware: ``style`` transfer, ``classifiers``.
    "bfloat16_gains": (),
    # Tiles of a picture that are restyled at once.
    "tiles_at_once": 4,
    # Feature networks that it computes wrong, and what to do.
    "wrong_features": {},
    # Probes that cannot be run, and why.
    "skipped_probes": {},
    # Writes event files of TensorBoard.
    "tensorboard": False,
    # Batches that the host made can be copied to a GPU by another thread, a step ahead.
    "copies_ahead": False,
    # Environment variables by which ``start`` chooses the device: a script that gets them computes there.
    "variables": (),
}


def load(framework):
    """Import the module of a framework."""
    return importlib.import_module("%s.%s" % (__name__, framework))


def capabilities(framework=None):
    """Say what a framework can do; by default the one that Keras computes with."""
    if framework is None:
        from zoo.models import compat

        framework = compat.backend_name()
    return dict(USUAL, **load(framework).CAPABILITIES)
