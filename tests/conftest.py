"""What every test may ask for."""

import os
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets, named by ``$ZOO_TEST_DATA`` or found beside the checkout."""
    folder = Path(os.environ.get("ZOO_TEST_DATA") or CHECKOUT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(
            f"real data not present at {folder}; set ZOO_TEST_DATA to a folder that holds mnist/ and fashion/"
        )
    return folder
