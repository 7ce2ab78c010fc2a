"""Single operations of each framework, timed without Keras around them: one module a framework, and one for numpy.

Each module has ``OPERATIONS``, what it can do; ``places()``, a list of (name, kind) with the processor first where
there is one; and ``prepare(what, arrays, place)``, which lays the arrays on a place and returns ``(call, result)``:
``call()`` computes and comes back when the device is done; ``result()`` is what it computed, a numpy array in numpy's
layout.

``what`` is ``product``, of two matrices, or ``convolution``, of pictures (n, height, width, channels) with a kernel
(rows, columns, channels, filters), the picture's size kept, as every Keras lays them out.
"""
