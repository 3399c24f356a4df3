"""How many runs go on at once, in all and per user (OP-5)."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.limits import Limits
from pml.loop.places import NoPlaceError, Places

LONG_MS = 60_000


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=40),
    st.integers(1, 6),
    st.integers(1, 6),
)
async def test_no_more_run_than_allowed_and_everybody_gets_a_turn(
    asked: list[tuple[str, int]], in_all: int, per_user: int
) -> None:
    """With turns of any length: bounds hold at every moment, and nobody waits for ever."""
    places = Places(Limits(concurrent_runs=in_all, runs_per_user=per_user))
    running: Counter[str] = Counter()
    done = 0

    async def one(user: str, turns: int) -> None:
        nonlocal done
        async with places.place(0, timeout_ms=LONG_MS, user=user):
            running[user] += 1
            assert running.total() <= in_all
            assert running[user] <= per_user
            for _ in range(turns):
                await asyncio.sleep(0)
            running[user] -= 1
        done += 1

    await asyncio.gather(*(one(user, turns) for user, turns in asked))
    assert done == len(asked)
    assert places.known_users == 0


async def test_one_user_leaves_places_to_others() -> None:
    places = Places(Limits(concurrent_runs=2, runs_per_user=1))
    async with places.place(0, timeout_ms=LONG_MS, user="greedy"):
        with pytest.raises(NoPlaceError) as caught:
            async with places.place(0, timeout_ms=1, user="greedy"):
                raise AssertionError
        assert caught.value.limit == "runs_per_user"
        async with places.place(0, timeout_ms=1, user="other"):
            with pytest.raises(NoPlaceError) as full:
                async with places.place(0, timeout_ms=1, user="third"):
                    raise AssertionError
        assert full.value.limit == "concurrent_runs"
    async with places.place(0, timeout_ms=1, user="greedy"):
        assert places.known_users == 1
    assert places.known_users == 0
