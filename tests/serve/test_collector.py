"""A server is not looked through by the garbage collector again and again (D10)."""

import gc
from collections.abc import Iterator

import pytest

from pml.serve.collector import YOUNG_OBJECTS, settle


@pytest.fixture
def collector() -> Iterator[None]:
    """Its settings, put back after the test."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("collector")
def test_what_is_there_is_set_aside_and_what_comes_is_still_collected() -> None:
    settle()

    assert gc.get_freeze_count() > 0
    assert gc.get_threshold()[0] == YOUNG_OBJECTS
    assert gc.isenabled()
    ring: list[object] = []
    ring.append(ring)
    del ring
    assert gc.collect() > 0
