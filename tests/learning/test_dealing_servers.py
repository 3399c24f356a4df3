"""Servers and intents are dealt whatever they are called, in little room (LE-5)."""

import tracemalloc

import numpy as np

from pml.learning.cold_start import MOST_PARTS, cold_start, shuffled
from pml.learning.examples import Example
from pml.models.inputs import RankingTask


def test_texts_come_whole_and_one_that_is_long_takes_no_room_for_the_others() -> None:
    texts = ["a\0", "a", "b" * 1_000_000, *map(str, range(2_000))]
    tracemalloc.start()
    found = shuffled(texts, np.random.default_rng(0))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sorted(found) == sorted(texts) != found
    assert most < 1_000_000


def test_servers_may_have_any_names() -> None:
    servers = {"x": "\0", "y": "a\0", "z": "a", "new": "b"}
    examples = [
        Example(task=RankingTask.TOOLS, source=tool, intent=f"use {tool}", positives=(tool,))
        for tool in "xyz"
    ]
    found = cold_start(examples, servers, seed=0)
    assert found is not None
    lost = {one.source: part.needing[one.source] for part in found.parts for one in part.asked}
    assert lost == {tool: servers[tool] for tool in lost}
    assert len(lost) == MOST_PARTS
