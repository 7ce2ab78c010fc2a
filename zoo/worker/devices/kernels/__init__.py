"""Single operations of each framework, timed without Keras: one module per framework, and one for NumPy.

Each module has ``OPERATIONS``, the supported ones; and ``places()``, a list of (name, kind) with the CPU first, if
there is one. ``prepare(what, arrays, place)`` copies the arrays to a place and returns ``(call, result)``. ``call()``
computes and returns when the device is done; ``result()`` is the result as a NumPy array in NumPy's layout.

``what`` is ``product``, of two matrices, or ``convolution``, which keeps the size of the images. Images are (n,
height, width, channels), kernels (rows, columns, channels, filters), in the layout of every Keras.
"""
