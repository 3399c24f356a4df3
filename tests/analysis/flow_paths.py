"""All paths of the programs of `flow_programs`, found without any graph.

The interpreter runs a program statement by statement, tries both outcomes of every condition,
lets calls fail where somebody catches, and goes zero to two times around a loop.  A path is a
list of events; an event says in which iterations it happened.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tests.analysis.flow_programs import Block, Stmt, Text

MAX_PATHS = 4_000

Around = tuple[tuple[int, int, int], ...]
"""The iterations around an event: the loop, which run of it, and how often around."""


@dataclass(frozen=True, slots=True)
class Event:
    """A node was passed: by the offsets of its syntax, with the outcome of a decision.

    ``thrown`` if an exception that no ``throw`` makes led to it from the one before.
    """

    node: int
    outcome: str | None
    around: Around
    thrown: bool = False


Path = tuple[Event, ...]
End = tuple[str, str]
"""How a statement ended: normally, or with return, throw, break or continue, and the label."""
_NORMAL: End = ("", "")
_FAILED: End = ("throw", "of something that is no throw")


class TooManyPathsError(Exception):
    """The program has more paths than a test has time for."""


def paths(program: Block, text: Text) -> list[Path]:
    """The events of every way to run the program."""
    interpreter = _Interpreter(text)
    found: list[Path] = []
    for path, _end in interpreter.block(program, (), ()):
        found.append(path)
        if len(found) > MAX_PATHS:
            raise TooManyPathsError
    return found


Runs = Iterator[tuple[Path, End]]


class _Interpreter:
    def __init__(self, text: Text) -> None:
        self._text = text
        self._runs = 0
        self._helpers: dict[str, tuple[Block, tuple[int, ...]]] = {}

    def block(self, block: Block, at: tuple[int, ...], around: Around, first: int = 0) -> Runs:
        """All ways to run statements one after the other."""
        if first == len(block):
            yield (), _NORMAL
            return
        for path, end in self.statement(block[first], (*at, first), around):
            if end != _NORMAL:
                yield path, end
                continue
            for rest, last in self.block(block, at, around, first + 1):
                yield path + rest, last

    def _event(self, at: tuple[int, ...], around: Around, outcome: str | None = None) -> Path:
        return (Event(self._text.nodes[at], outcome, around),)

    def _called(self, at: tuple[int, ...], around: Around) -> Runs:
        yield self._event(at, around), _NORMAL
        yield self._event(at, around), _FAILED

    def statement(self, stmt: Stmt, at: tuple[int, ...], around: Around) -> Runs:
        """All ways to run one statement."""
        kind = stmt.kind
        if kind == "call":
            yield from self._called(at, around)
        elif kind == "pure":
            yield (), _NORMAL
        elif kind in {"define", "helper", "iterate"}:
            yield from self._helper(stmt, at, around)
        elif kind in {"return", "throw", "break", "continue"}:
            yield (), (kind, stmt.label)
        elif kind == "label":
            for path, end in self.block(stmt.parts[0], (*at, 0), around):
                yield path, _NORMAL if end == ("break", "o") else end
        elif kind in {"catch", "finally", "both"}:
            yield from self._try(stmt, at, around)
        elif kind in {"while", "forof", "do", "whilecall", "labelled loop"}:
            self._runs += 1
            head = self._event((*at, 9), around)
            for path, end in self._around(stmt, at, around, self._runs, 0):
                yield head + path, end
        else:
            yield from self._branches(stmt, at, around)

    def _helper(self, stmt: Stmt, at: tuple[int, ...], around: Around) -> Runs:
        if stmt.kind == "define":
            self._helpers[stmt.label] = stmt.parts[0], (*at, 0)
            yield (), _NORMAL
            return
        head: Path = ()
        if stmt.kind == "iterate":
            self._runs += 1
            head = self._event((*at, 9), around)
            around = (*around, (self._text.nodes[(*at, 9)], self._runs, 0))
        for path, end in self.block(*self._helpers[stmt.label], around):
            yield head + path, _NORMAL if end[0] == "return" else end

    def _branches(self, stmt: Stmt, at: tuple[int, ...], around: Around) -> Runs:
        for outcome, arm in self._arms(stmt, at, around):
            decided = self._event((*at, 9), around, outcome)
            for path, end in arm:
                left = stmt.kind in {"switch", "default"} and end == ("break", "")
                yield decided + path, _NORMAL if left else end

    def _arms(self, stmt: Stmt, at: tuple[int, ...], around: Around) -> Iterator[tuple[str, Runs]]:
        nothing: Callable[[], Runs] = lambda: iter([((), _NORMAL)])  # noqa: E731
        if stmt.kind in {"and", "ternary"}:
            yield "true", self._called((*at, 0), around)
            yield "false", self._called((*at, 1), around) if stmt.kind == "ternary" else nothing()
        elif stmt.kind == "if":
            for place, outcome in enumerate(("true", "false")):
                known = place < len(stmt.parts)
                arm = self.block(stmt.parts[place], (*at, place), around) if known else nothing()
                yield outcome, arm
        else:
            for place in range(len(stmt.parts)):
                last = stmt.kind == "default" and place == len(stmt.parts) - 1
                yield "default" if last else f"case:{place}", self._falling(stmt, at, around, place)
            if stmt.kind == "switch":
                yield "default", nothing()

    def _falling(self, stmt: Stmt, at: tuple[int, ...], around: Around, place: int) -> Runs:
        if place == len(stmt.parts):
            yield (), _NORMAL
            return
        for path, end in self.block(stmt.parts[place], (*at, place), around):
            if end != _NORMAL:
                yield path, end
                continue
            for rest, last in self._falling(stmt, at, around, place + 1):
                yield path + rest, last

    def _around(
        self, stmt: Stmt, at: tuple[int, ...], around: Around, run: int, count: int
    ) -> Runs:
        """One iteration, and those that follow it; none at all, unless it is ``do``."""
        inside = (*around, (self._text.nodes[(*at, 9)], run, count))
        tested = self._called((*at, 1), inside) if stmt.kind == "whilecall" else [((), _NORMAL)]
        for test, failed in tested:
            if failed != _NORMAL:
                yield test, failed
                continue
            if stmt.kind != "do" or count:
                yield test, _NORMAL
            if count > 1:
                continue
            for path, end in self.block(stmt.parts[0], (*at, 0), inside):
                label = "o" if stmt.kind == "labelled loop" else ""
                if end in {("break", ""), ("break", label)}:
                    yield test + path, _NORMAL
                elif end in {_NORMAL, ("continue", ""), ("continue", label)}:
                    for rest, last in self._around(stmt, at, around, run, count + 1):
                        yield test + path + rest, last
                else:
                    yield test + path, end

    def _try(self, stmt: Stmt, at: tuple[int, ...], around: Around) -> Runs:
        runs = self.block(stmt.parts[0], (*at, 0), around)
        if stmt.kind != "finally":
            runs = self._caught(stmt, at, around, runs)
        if stmt.kind == "catch":
            yield from runs
            return
        place = len(stmt.parts) - 1
        for path, end in runs:
            for rest, last in self.block(stmt.parts[place], (*at, place), around):
                yield path + _led_by(end, rest), end if last == _NORMAL else last

    def _caught(self, stmt: Stmt, at: tuple[int, ...], around: Around, runs: Runs) -> Runs:
        known = list(runs)
        if not any(end[0] == "throw" for _path, end in known):
            known.append(((), _FAILED))  # one may never know
        for path, end in known:
            if end == _NORMAL:
                yield path + self._event((*at, 9), around, "ok"), end
            elif end[0] != "throw":
                yield path, end
            else:
                decided = path + _led_by(end, self._event((*at, 9), around, "catch"))
                for rest, last in self.block(stmt.parts[1], (*at, 1), around):
                    yield decided + rest, last


def _led_by(end: End, path: Path) -> Path:
    """A path that begins where another one ended."""
    if end != _FAILED or not path:
        return path
    return (replace(path[0], thrown=True), *path[1:])
