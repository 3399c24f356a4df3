"""What interrupts an event loop at a chosen moment, and what may be left behind: nothing."""

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

AGAIN = 6
"""So often is a task cancelled that was cancelled already."""


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


def empty(directory: Path) -> bool:
    return not list(directory.iterdir())


def after(passes: int, then: Callable[[], object]) -> None:
    """Call ``then`` after so many passes of the event loop."""
    if passes:
        asyncio.get_running_loop().call_soon(after, passes - 1, then)
    else:
        then()


def interrupt_after(passes: int) -> None:
    """End the loop after so many passes, as a second Ctrl-C does; the caller's task is its main."""
    task = asyncio.current_task()
    assert task is not None

    def interrupt() -> None:
        if not task.done():
            raise KeyboardInterrupt

    after(passes, interrupt)


@contextmanager
def leaving_nothing(scratch: Path) -> Iterator[asyncio.Runner]:
    """A loop that ends with the block, after which no process, file, task or transport is left."""
    before = children()
    told: list[object] = []
    with asyncio.Runner() as runner:
        runner.get_loop().set_exception_handler(lambda _, context: told.append(context))
        yield runner
    gc.collect()  # what is left says so now, in this test and not in another
    assert not told
    assert children() <= before
    assert empty(scratch)
