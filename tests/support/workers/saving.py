"""Saves a model that was never compiled; runs inside a stack, Python 3.6 or newer."""


def answer(request):
    """Every kind of file that a task leaves, in the folder of the request."""
    from zoo.models import compat
    from zoo.worker import exporters

    keras = compat.keras
    start = keras.layers.Input(shape=(4,))
    model = keras.models.Model(inputs=start, outputs=keras.layers.Dense(2)(start))
    events = type("Events", (), {"emit": lambda self, event, **fields: None})()
    exporters.save(model, request["out"], events, exporters.wanted(()))
    return {}
