"""Single operations of each framework, timed without Keras: one module per framework, and one for NumPy.

Each module has ``OPERATIONS``, the supported ones; ``places()``, a list of (name, kind) with the CPU first, if there
is one; and ``prepare(what, arrays, place)``, which copies the arrays to a place and returns ``(call, result)``:
``call()`` computes and returns when the device is done; ``result()`` is the result as a NumPy array in NumPy's
layout.

``what`` is ``product``, of two matrices, or ``convolution``, of images (n, height, width, channels) with a kernel
(rows, columns, channels, filters), with the size of the images kept, in the layout of every Keras.
"""
