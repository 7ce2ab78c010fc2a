"""Names of weights from other versions of Keras."""

from zoo.models import saved_weights


def test_numbered_weights_get_the_names_of_the_model() -> None:
    """A .keras file numbers the weights of own layers; a network without such numbers stays as it is."""
    wanted = ["conv/kernel", "conv/bias", "block/att/scale", "block/att/shift"]
    stored = {"conv/kernel": 0, "conv/bias": 1, "block/att/0": 2, "block/att/1": 3}
    assert saved_weights.renamed(stored, wanted) == dict(zip(wanted, range(4), strict=True))
    surplus = {**stored, "block/att/2": 4, "other/0": 5}
    assert set(saved_weights.renamed(surplus, wanted)) == {*wanted, "block/att/2", "other/0"}
    assert saved_weights.renamed(stored, [*stored]) == stored
