"""Single operations of each framework, timed without Keras: one module per framework, and one for NumPy.

Each module has ``OPERATIONS``, the names of its operations, and ``places()``, a list of (name, kind) of devices, the
CPU first. ``prepare(what, arrays, place)`` copies the arrays to a device and returns ``(call, as_array)``. ``call()``
computes and returns the result when the device is done; ``as_array`` converts it to a NumPy array in NumPy's layout.

``what`` is ``product``, of two matrices, or ``convolution``, which keeps the size of the images. Images are (n,
height, width, channels), kernels (rows, columns, channels, filters), as in Keras.
"""
