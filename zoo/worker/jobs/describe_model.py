"""Describe a model without layers: its input, quantization and outputs."""

from zoo.worker import frozen_model


def run(request, events, stop, phases):
    """Return the description as ``metrics``; see :meth:`zoo.worker.frozen_model.FrozenModel.described`."""
    return {"metrics": frozen_model.open_model(request.model.saved).described()}
