"""One file a framework: start it on the device asked for, and prove where its work is done.

Each has ``start(device)``, called before Keras is imported, and ``proof(device)``, called after: a dictionary
with ``name``, ``kind`` (``"cpu"`` or ``"gpu"``) and ``proof``, the operation that was run to find out. ``place``
tells, for a Keras variable, the name and kind of the device that holds it.
"""
