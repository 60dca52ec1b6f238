"""How the process is kept from pauses."""

import gc
import platform
from collections.abc import Iterator

import pytest

from odradek.memory import (
    GC_THRESHOLDS,
    begin_start,
    calm_collector,
    keep_freed_memory,
)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)
    gc.enable()


def test_a_start_is_not_looked_through_and_what_it_made_never_is() -> None:
    """The collector rests while a server starts, and leaves alone afterwards what it finds."""
    begin_start()
    assert not gc.isenabled()
    made: list[list[object]] = [[]]
    calm_collector()
    assert gc.isenabled()
    assert gc.get_threshold() == GC_THRESHOLDS
    assert gc.get_freeze_count() > 0
    assert not any(found is made for found in gc.get_objects())


def test_glibc_takes_both_settings() -> None:
    """Where there is glibc both of its thresholds are accepted; elsewhere nothing happens."""
    assert keep_freed_memory() == (platform.libc_ver()[0] == "glibc")
