"""A child process by callbacks: all of its input, all of its output, its end (EX-2)."""

import asyncio
import os
import signal
import sys
import threading

import pytest

from pml.runtime.outlast import outlast
from pml.runtime.sandbox.child import Child

LARGE = bytes(range(256)) * 4_096
"""A pipe holds a sixteenth of it."""
ECHO = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"
IGNORES = "import os; os.close(0); print('said'); raise SystemExit(7)"
HAS_AN_HEIR = """
import os, signal
if os.fork() == 0:
    os.setsid()
    os.write(1, str(os.getpid()).encode())
    signal.pause()
"""


def child(program: str, said: bytearray) -> Child:
    return Child([sys.executable, "-I", "-S", "-c", program], said.extend)


@pytest.mark.parametrize(
    ("program", "output", "status"), [(ECHO, LARGE, 0), (IGNORES, b"said\n", 7)]
)
async def test_at_its_end_all_that_it_wrote_was_heard(
    program: str, output: bytes, status: int
) -> None:
    said = bytearray()
    echo = child(program, said)
    echo.send(LARGE)
    await asyncio.wait([echo.ended])
    assert (echo.ended.result(), echo.returncode) == (status, status)
    assert said == output


async def test_one_whose_pipe_lives_on_elsewhere_can_be_let_go() -> None:
    said = bytearray()
    heard = asyncio.Event()

    def hear(data: bytes) -> None:
        said.extend(data)
        heard.set()

    parent = Child([sys.executable, "-I", "-S", "-c", HAS_AN_HEIR], hear)
    parent.send(b"")
    await heard.wait()
    await outlast([parent.ended], timeout_s=0.05)
    assert not parent.ended.done()
    parent.let_go()
    os.kill(int(said), signal.SIGKILL)


async def test_what_outlasts_a_cancellation_is_still_bounded() -> None:
    never = asyncio.get_running_loop().create_future()
    waiting = asyncio.create_task(outlast([never], timeout_s=0.05))
    for _ in range(3):
        await asyncio.sleep(0)
        waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    assert not never.done()


async def test_one_for_which_no_thread_can_be_had_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where the system limits how many there may be."""
    started: list[int] = []

    def refused(thread: threading.Thread) -> None:
        started.append(int(thread.name.rpartition(" ")[2]))
        message = "can't start new thread"
        raise RuntimeError(message)

    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.raises(OSError, match="no thread can be had"):
        child(ECHO, bytearray())
    (pid,) = started
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
