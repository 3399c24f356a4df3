"""Several processes do pieces of an evaluation; one that dies costs a method, not the rest.

Processes are spawned, not forked: the parent has threads of polars and BLAS.  Each has a pipe
of its own, and the parent waits for pipes and ends of processes at once, so that it notices a
process that was killed (a method that takes all memory) and starts another.  That one does
the unfinished question of the piece again, as methods can only be compared by who measured them
all, without the method at which the first one ended.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pml.evaluation.work import Happening, Order, Piece, Started

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
_STOP_S = 5.0
"""A stopped process that is not gone after that is killed."""
_SPAWN = multiprocessing.get_context("spawn")


@dataclass(slots=True)
class _Hand:
    """A process at work."""

    process: BaseProcess
    pipe: Connection
    piece: "Piece"
    asked: "Started | None" = None
    """What it does, as last heard; None while it loads."""
    done: frozenset[str] = frozenset()
    """Labels of problems of the piece that came to a result."""


def in_processes(
    order: "Order", pieces: Sequence["Piece"], n: int
) -> "Generator[Happening, None, None]":
    """Do the pieces in at most ``n`` processes, and yield what happens; stops them if closed.

    Raises:
        KeyboardInterrupt: somebody pressed Ctrl-C; what had been told by then was yielded.
    """
    waiting = deque(pieces)
    hands = [_hired(order, waiting.popleft()) for _ in range(min(n, len(pieces)))]
    try:
        with _interrupts() as interrupted:
            while hands:
                ready = set(wait([interrupted, *(hand.pipe for hand in hands)]))
                for hand in [hand for hand in hands if hand.pipe in ready]:
                    yield from _heard(order, hand, waiting, hands)
                if interrupted in ready:
                    for hand in hands:
                        yield from _said(hand)
                    raise KeyboardInterrupt
    finally:
        for hand in hands:
            _stop(hand)


@contextmanager
def _interrupts() -> Iterator[Connection]:
    """Ctrl-C makes a pipe readable, instead of stopping us in the middle of a message."""
    here, there = _SPAWN.Pipe(duplex=False)
    if threading.current_thread() is not threading.main_thread():  # signals are for that one
        yield here
        return
    before = signal.signal(signal.SIGINT, lambda _number, _frame: there.send_bytes(b"!"))
    try:
        yield here
    finally:
        signal.signal(signal.SIGINT, before)
        here.close()
        there.close()


def _said(hand: _Hand) -> Iterator["Happening"]:
    """What a process has told and nobody has read yet."""
    with suppress(EOFError, ConnectionError):
        while hand.pipe.poll():
            yield hand.pipe.recv()


def _heard(
    order: "Order", hand: _Hand, waiting: deque["Piece"], hands: list[_Hand]
) -> Iterator["Happening"]:
    """What a process says next; it goes on with the next piece, or home."""
    from pml.domain.evaluation import ProblemResult  # noqa: PLC0415  # see `_serve`
    from pml.evaluation.work import Finished, Started  # noqa: PLC0415

    try:
        happening = hand.pipe.recv()
    except (EOFError, ConnectionError):
        hand.process.join(_STOP_S)  # it closed its pipe; how it ended is known a moment later
        _stop(hand)
        hands.remove(hand)
        yield from _died(order, hand, waiting)
        if waiting:
            hands.append(_hired(order, waiting.popleft()))
        return
    yield happening
    if isinstance(happening, Started):
        hand.asked = happening
    if isinstance(happening, ProblemResult):
        hand.asked, hand.done = None, hand.done | {happening.label}
    if isinstance(happening, Finished):
        hand.asked, hand.done = None, frozenset()
        if waiting:
            hand.piece = waiting.popleft()
            hand.pipe.send(hand.piece)
        else:
            _send_home(hand)
            hands.remove(hand)


def _hired(order: "Order", piece: "Piece") -> _Hand:
    ours, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_serve, args=(theirs, order), daemon=True)
    process.start()
    theirs.close()  # so that the end of the process is the end of the pipe
    ours.send(piece)
    return _Hand(process=process, pipe=ours, piece=piece)


def _serve(pipe: Connection, order: "Order") -> None:
    """In the process: do pieces until the pipe ends.

    The heavy imports come after the number of threads is set: each process has one core.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    os.dup2(2, 1)  # what a method prints is no result: stdout is for those
    for name in _THREADS:
        os.environ.setdefault(name, "1")
    from pml.evaluation.work import Worker  # noqa: PLC0415

    worker = Worker(order)
    while True:
        try:
            piece = pipe.recv()
        except EOFError:
            return
        for happening in worker.do(piece):
            pipe.send(happening)


def _send_home(hand: _Hand) -> None:
    """Let a process end by itself, so that what libraries hold in it is given back."""
    hand.pipe.close()
    hand.process.join(_STOP_S)
    _stop(hand)


def _stop(hand: _Hand) -> None:
    hand.pipe.close()
    hand.process.terminate()
    hand.process.join(_STOP_S)
    if hand.process.is_alive():
        hand.process.kill()
        hand.process.join()


def _died(order: "Order", hand: _Hand, waiting: deque["Piece"]) -> Iterator["Happening"]:
    """The piece waits again without the method at which the process ended, if it was at one."""
    from pml.evaluation.work import Ended, Finished, failed  # noqa: PLC0415

    asked, piece, how = hand.asked, hand.piece, _how(hand.process.exitcode)
    if asked is not None and asked.method is not None:
        message = f"its process ended before it had answered {how}"
        ended = Ended(label=asked.label, method=asked.method, how=message)
        done = piece.done | hand.done
        waiting.appendleft(replace(piece, done=done, ended=(*piece.ended, ended)))
        return
    if asked is not None:
        yield asked.so_far
    task = next(each for each in order.registry().tasks if each.name == piece.task)
    doing = "it loaded the set" if asked is None else "answers were compared"
    yield failed(piece, task, f"its process ended while {doing} {how}")
    yield Finished(piece=piece)


def _how(code: int | None) -> str:
    said = f"killed by signal {-code}" if code is not None and code < 0 else f"exit code {code}"
    # The system kills what takes too much memory, by a signal that no process can handle.
    perhaps = ": out of memory?" if code == -signal.SIGKILL else ""
    return f"({said}){perhaps}"
