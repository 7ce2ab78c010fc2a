"""List the architectures of keras.applications in this stack."""

from zoo.worker import keras_application


def run(request, events, stop, phases):
    """Return the architectures as ``metrics``: name -> edge of its images in pixels, or None."""
    return {"metrics": keras_application.catalogue()}
