"""One end of a pipe, read or written in turn; closing it is instant and waits for nobody."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import IO

_CHUNK_BYTES = 65_536


class Pipe:
    """A pipe that does not block; one task at a time may read it, or write to it.

    No transport of asyncio: the making of one can be cancelled half-way, and its end takes
    further turns of the event loop, which may not come.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Future[None] | None = None

    async def read(self) -> bytes:
        """What is there, as soon as something is; empty at the end, and once it is closed.

        Raises:
            OSError: it cannot be read.
        """
        while not self._file.closed:
            # in any case: a writer without end must not keep everybody else from their turn
            await self._until(self._loop.add_reader, self._loop.remove_reader)
            if not self._file.closed:
                with suppress(BlockingIOError):
                    return os.read(self._file.fileno(), _CHUNK_BYTES)
        return b""

    async def write(self, data: bytes) -> None:
        """Write all of it, waiting while the other end does not read.

        Raises:
            OSError: the other end was closed, or this one.
        """
        unsent = memoryview(data)
        while unsent:
            if self._file.closed:
                raise BrokenPipeError
            try:
                unsent = unsent[os.write(self._file.fileno(), unsent) :]
            except BlockingIOError:
                await self._until(self._loop.add_writer, self._loop.remove_writer)

    def close(self) -> None:
        """Close it; who waits for it goes on.  Idempotent."""
        if not self._file.closed:
            self._loop.remove_reader(self._file)
            self._loop.remove_writer(self._file)
            self._file.close()
        self._go_on()

    async def _until(
        self, add: Callable[..., object], remove: Callable[[IO[bytes]], object]
    ) -> None:
        if self._file.closed:
            return
        self._waiting = self._loop.create_future()
        add(self._file, self._go_on)
        try:
            await self._waiting
        finally:
            self._waiting = None
            if not self._file.closed:
                remove(self._file)

    def _go_on(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
