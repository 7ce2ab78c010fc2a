"""Which releases of Keras have a missing module or name."""

import pytest

from zoo.explain import keras_names, known_issues


@pytest.mark.parametrize(
    ("line", "sentence", "packages"),
    [
        ("No module named 'keras.src.legacy'", "It is in Keras 3.0 and later.", "--upgrade keras tensorflow"),
        (
            "No module named 'keras.engine.topology'",
            "It is in Keras 2.0 to 2.3.",
            "keras==2.2.4 'tensorflow<2' (with Python 3.7)",
        ),
        ("No module named 'keras.layers.merge'", "It is in Keras 2.0 to 2.8.", "tensorflow==2.8.*"),
        ("No module named 'keras.utils.np_utils'", "It is in Keras 2.0 to 2.12.", "tensorflow==2.12.*"),
        (
            "cannot import name 'Adam' from 'keras.optimizers' (/x/keras/optimizers.py)",
            "It is in Keras 2.0 to 2.3, and 2.9 and later.",
            "--upgrade keras tensorflow",
        ),
        (
            "cannot import name 'multi_gpu_model' from 'keras.utils' (/x/keras/utils/__init__.py)",
            "It is in Keras 2.0 to 2.3.",
            "keras==2.2.4 'tensorflow<2' (with Python 3.7)",
        ),
    ],
)
def test_the_releases_with_a_missing_name_are_given(line: str, sentence: str, packages: str) -> None:
    kind = "ModuleNotFoundError" if line.startswith("No module") else "ImportError"
    (finding, *_) = known_issues.explain(f"    from keras import x\n{kind}: {line}\n")
    assert finding.id == "keras-path-moved"
    assert finding.cause.endswith(sentence)
    assert f"pip install {packages}." in finding.remedy


def test_a_name_that_no_release_lacks_or_has_gets_no_releases() -> None:
    assert keras_names.releases({"module": "keras.layers", "name": "Dense"}) == {}
    assert keras_names.releases({"from": "keras.layers", "name": "Densse"}) == {}
    (finding, *_) = known_issues.explain("ImportError: cannot import name 'Densse' from 'keras.layers' (/x.py)\n")
    assert "older or newer" in finding.cause


def test_a_part_of_tensorflow_has_its_releases() -> None:
    values = {"from": "keras.api._v2.keras.layers.experimental.preprocessing", "name": "RandomFlip"}
    assert keras_names.releases(values)["releases"] == "It is in Keras 2.6 to 2.15."


def test_a_module_that_came_back_with_other_contents_is_no_reason_to_upgrade() -> None:
    known = keras_names.releases({"module": "keras.legacy"})
    assert known == {"releases": "It is in Keras 2.0 to 2.3, and 3.0 and later. Old programs need the older ones."}
