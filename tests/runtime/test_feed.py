"""The feed of events (EX-9): numbered, bounded, late watchers get what is kept."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from pml.domain.events import CapabilityStart, Event, RunEnd, RunStarted
from pml.domain.limits import Limits
from pml.domain.run import RunState
from pml.runtime.feed import Dropped, Feed, Position, Told


def started(run: str, at_ms: int = 1) -> RunStarted:
    return RunStarted(run_id=run, at_ms=at_ms, intent="x")


def ended(run: str, state: RunState = RunState.SUCCESS) -> RunEnd:
    return RunEnd(run_id=run, at_ms=9, state=state, duration_ms=1.0)


def called(run: str, child: str) -> CapabilityStart:
    return CapabilityStart(run_id=run, at_ms=2, task_id="n1", capability_id="c", child_run_id=child)


async def all_of(told: AsyncIterator[Told | Dropped]) -> list[Told | Dropped]:
    return [item async for item in told]


def events(items: Sequence[Told | Dropped]) -> list[Event]:
    return [item.event for item in items if isinstance(item, Told)]


class Model:
    """One stream, kept whole: what a watcher that comes at the end has to be told."""

    def __init__(self, kept: int) -> None:
        self.all: list[Event] = []
        self.kept = kept

    def told(self, after: int) -> tuple[int, list[Event]]:
        """How many were missed, and the rest."""
        first = max(0, len(self.all) - self.kept)
        return max(0, first - after), self.all[max(first, after) :]


@given(count=st.integers(0, 30), kept=st.integers(1, 10), after=st.integers(0, 40))
async def test_a_late_watcher_is_told_what_is_kept_and_how_much_is_not(
    count: int, kept: int, after: int
) -> None:
    feed, model = Feed(Limits(events_per_run=kept), new_id=lambda: "s"), Model(kept)
    happened: list[Event] = [*(started("r", number) for number in range(count)), ended("r")]
    for event in happened:
        feed.emit(event)
        model.all.append(event)
    after = min(after, len(model.all))
    items = await all_of(feed.watch("r", Position("s", after)))
    missed, rest = model.told(after)
    assert sum(item.count for item in items if isinstance(item, Dropped)) == missed
    assert events(items) == rest
    assert [item.position.number for item in items if isinstance(item, Told)] == list(
        range(len(model.all) - len(rest) + 1, len(model.all) + 1)
    )


@given(cut=st.integers(0, 12))
async def test_who_comes_back_with_the_last_position_misses_nothing_and_hears_nothing_twice(
    cut: int,
) -> None:
    feed = Feed(Limits())
    for number in range(10):
        feed.emit(started("r", number))
    watching = feed.watch("r")
    first = [await anext(watching) for _ in range(min(cut, 10))]
    await watching.aclose()  # type: ignore[attr-defined]
    feed.emit(ended("r"))
    last = first[-1].position if first else None
    rest = await all_of(feed.watch("r", last))
    assert events([*first, *rest]) == events(await all_of(feed.watch("r")))


async def test_events_come_as_they_happen() -> None:
    feed = Feed(Limits())
    watching = asyncio.create_task(all_of(feed.watch("r")))
    await asyncio.sleep(0)
    feed.emit(started("r"))
    await asyncio.sleep(0)
    feed.emit(ended("r"))
    assert events(await watching) == [started("r"), ended("r")]


async def test_a_run_that_waits_has_not_ended() -> None:
    feed = Feed(Limits())
    feed.emit(ended("r", RunState.PAUSED))
    watching = feed.watch("r")
    assert isinstance(await anext(watching), Told)
    more = asyncio.ensure_future(anext(watching))
    await asyncio.sleep(0)
    assert not more.done()
    feed.emit(ended("r"))
    assert await more == Told((await all_of(feed.watch("r")))[1].position, ended("r"))
    await watching.aclose()  # type: ignore[attr-defined]


async def test_what_nested_runs_do_is_told_in_the_streams_above_with_their_own_id() -> None:
    feed = Feed(Limits())
    happened: list[Event] = [
        started("a"),
        called("a", "b"),
        started("b"),
        called("b", "c"),
        started("c"),
        ended("c"),
        ended("b"),
        ended("a"),
    ]
    for event in happened:
        feed.emit(event)
    assert events(await all_of(feed.watch("a"))) == happened
    assert events(await all_of(feed.watch("b"))) == happened[2:7]
    assert events(await all_of(feed.watch("c"))) == [started("c"), ended("c")]


async def test_a_position_of_a_stream_that_was_forgotten_tells_from_the_beginning() -> None:
    feed = Feed(Limits(), runs_kept=1)
    feed.emit(started("old"))
    watching = feed.watch("old")
    position = (await anext(watching)).position
    await watching.aclose()  # type: ignore[attr-defined]
    feed.emit(started("new"))
    assert not feed.knows("old")
    feed.emit(ended("old"))
    assert events(await all_of(feed.watch("old", position))) == [ended("old")]


@given(runs=st.lists(st.integers(0, 5), max_size=60))
async def test_however_many_events_come_a_bounded_number_is_kept(runs: list[int]) -> None:
    feed = Feed(Limits(), runs_kept=3, events_kept=10)
    for run in runs:
        feed.emit(called(str(run), f"{run}-child"))
        assert len(feed) <= 10
        assert sum(feed.knows(str(run)) for run in range(6)) <= 3


async def test_a_watched_stream_loses_its_oldest_events_and_says_so() -> None:
    feed = Feed(Limits(), events_kept=5)
    watching = feed.watch("r")
    feed.emit(started("r"))
    assert isinstance(await anext(watching), Told)
    for number in range(8):
        feed.emit(started("r", number))
    dropped = await anext(watching)
    assert isinstance(dropped, Dropped)
    assert dropped.count == 3
    assert events([await anext(watching)]) == [started("r", 3)]
    await watching.aclose()  # type: ignore[attr-defined]


@given(text=st.text())
def test_any_text_is_a_position_or_none(text: str) -> None:
    position = Position.read(text)
    assert position is None or Position.read(str(position)) == position


@given(stream=st.text("abc-0", min_size=1), number=st.integers(0, 10**17))
def test_a_position_is_read_as_it_was_written(stream: str, number: int) -> None:
    assert Position.read(str(Position(stream, number))) == Position(stream, number)
