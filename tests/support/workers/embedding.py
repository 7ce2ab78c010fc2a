"""Takes two steps of Adam on an embedding, the second with one word ten times; runs inside a stack."""

WORDS, WIDTH, ITEMS = 10, 4, 5


def answer(request):
    """How far each row of the embedding moved in the second step: its largest difference."""
    import numpy as np

    from zoo.models import compat

    layers = compat.keras.layers
    model = compat.keras.models.Sequential([
        layers.Embedding(WORDS, WIDTH, input_shape=(2,)),
        layers.Flatten(),
        layers.Dense(2, activation="softmax"),
    ])  # fmt: skip
    compat.compile_classifier(model, "adam", 0.1, False)
    draw = np.random.RandomState(0)
    model.set_weights([draw.randn(*each.shape).astype(np.float32) for each in model.get_weights()])
    classes, rows = np.eye(2, dtype=np.float32)[[0, 1, 0, 1, 0]], []
    for words in (np.arange(WORDS), np.zeros(WORDS)):
        compat.train_classifier(model, words.reshape(ITEMS, 2).astype(np.int32), classes)
        rows.append(np.array(model.get_weights()[0]))
    return [float(value) for value in np.abs(rows[1] - rows[0]).max(axis=1)]
