"""What tests of several parts of a broker need."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture
def no_collector() -> Iterator[None]:
    """As a broker nearly has it: cycles stay for hours."""
    gc.disable()
    yield
    gc.enable()
