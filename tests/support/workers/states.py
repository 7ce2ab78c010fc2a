"""Trains a small network, takes its states, goes on, and goes on again from the states; runs inside a stack."""

STEPS = 4


def answer(request):
    """Largest difference between the two ways, by optimizer."""
    return {name: _difference(name) for name in ("adam", "momentum", "rmsprop", "sgd")}


def _difference(optimizer):
    import numpy as np

    from zoo.models import compat
    from zoo.models.compat import training_state

    compat.keras.backend.clear_session()
    model, losses = _model(optimizer), []
    start = training_state.capture(model, model)
    _train(model, 0, STEPS, losses)
    middle = training_state.capture(model, model)
    _train(model, STEPS, 2 * STEPS, losses)
    end = training_state.capture(model, model)
    again = []
    for kept, first, last in ((start, 0, STEPS), (middle, STEPS, 2 * STEPS)):
        other = _model(optimizer)
        training_state.restore(other, other, kept)
        _train(other, first, last, again)
    after = training_state.capture(other, other)
    parts = [name for name in end if name.startswith(("weights", "optimizer", "seeds", "draws"))]
    apart = [np.abs(np.asarray(end[name], float) - np.asarray(after[name], float)).max() for name in parts]
    return float(max([np.abs(np.array(losses) - np.array(again)).max(), *apart]))


def _model(optimizer):
    from zoo.models import compat, mnist
    from zoo.worker import weights

    compat.seed(3)
    model = mnist.build(compat, input_shape=(16, 16, 1), dropout=0.3)
    weights.initialise(model, 3)
    compat.compile_classifier(model, optimizer, 1e-3, False)
    return model


def _train(model, first, last, losses):
    import numpy as np

    from zoo.models import compat

    for step in range(first, last):
        draw = np.random.RandomState([0, step])
        x, y = draw.rand(16, 16, 16, 1).astype(np.float32), np.eye(10, dtype=np.float32)[draw.randint(0, 10, 16)]
        compat.set_learning_rate(model, 1e-3 / (1 + step))
        losses.append(compat.train_classifier(model, x, y)[0])
