"""Names by which requests ask for models."""

import pytest

from zoo import models


@pytest.mark.parametrize("name", ["style_transfer/fast", "style_network"])
def test_the_style_network_is_known_by_its_name_and_by_its_former_one(name: str) -> None:
    assert models.module_of(name).__name__ == "zoo.models.style_transfer.fast"


def test_the_name_of_a_model_is_the_path_of_its_module() -> None:
    assert models.module_of("transformer/lm").__name__ == "zoo.models.transformer.lm"
