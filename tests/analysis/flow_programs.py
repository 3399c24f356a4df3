"""A little language of control flow: its programs as source, and all their paths.

The interpreter knows nothing of graphs: it runs a program statement by statement, tries both
outcomes of every condition, lets calls fail where somebody catches, and goes zero to two times
around a loop.  A path is a list of events; an event says in which iterations it happened.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

MAX_PATHS = 4_000

Around = tuple[tuple[int, int, int], ...]
"""The iterations around an event: the loop, which run of it, and how often around."""


@dataclass(frozen=True, slots=True)
class Stmt:
    """A statement: its kind, and what it consists of."""

    kind: str
    parts: tuple["Block", ...] = ()
    label: str = ""


Block = tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Event:
    """A node was passed: by the offsets of its syntax, with the outcome of a decision.

    ``thrown`` if an exception that no ``throw`` makes led to it from the one before.
    """

    node: int
    outcome: str | None
    around: Around
    thrown: bool = False


@dataclass(slots=True)
class Text:
    """The source in the making; ``places`` are the offsets of every statement that can be a node.

    ``calls`` are the nodes in whose arms a call lies.
    """

    text: str = ""
    places: list[tuple[str, int, int]] = field(default_factory=list)
    nodes: dict[tuple[int, ...], int] = field(default_factory=dict)

    def node(self, at: tuple[int, ...], letter: str, write: Callable[[], None]) -> None:
        """Write what may be a node."""
        number = len(self.places)
        self.nodes[at] = number
        self.places.append((letter, 0, 0))
        start = len(self.text)
        write()
        self.places[number] = (letter, start, len(self.text))


# Programs

_SIMPLE = st.sampled_from(["call", "call", "pure", "return", "throw", "break", "continue"])


def _blocks(inner: st.SearchStrategy[Stmt], most: int = 3) -> st.SearchStrategy[Block]:
    return st.lists(inner, min_size=1, max_size=most).map(tuple)


def _compound(inner: st.SearchStrategy[Stmt]) -> st.SearchStrategy[Stmt]:
    block = _blocks(inner)
    cleanup = block.map(lambda b: (Stmt("call"), *b))
    one = block.map(lambda b: (b,))
    two = st.tuples(block, block)
    return st.one_of(
        st.builds(Stmt, st.just("if"), st.one_of(one, two)),
        st.builds(Stmt, st.sampled_from(["while", "forof", "do", "whilecall"]), one),
        st.builds(Stmt, st.sampled_from(["label", "labelled loop"]), one, st.just("o")),
        st.builds(Stmt, st.just("switch"), st.lists(block, min_size=1, max_size=3).map(tuple)),
        st.builds(Stmt, st.just("default"), st.lists(block, min_size=1, max_size=3).map(tuple)),
        st.builds(Stmt, st.just("catch"), two),
        st.builds(Stmt, st.just("finally"), st.tuples(block, cleanup)),
        st.builds(Stmt, st.just("both"), st.tuples(block, block, cleanup)),
        st.builds(Stmt, st.just("and")),
        st.builds(Stmt, st.just("ternary")),
        st.builds(Stmt, st.sampled_from(["break", "continue"]), st.just(()), st.just("o")),
    )


PROGRAMS: st.SearchStrategy[Block] = _blocks(
    st.recursive(st.builds(Stmt, _SIMPLE), _compound, max_leaves=7), 4
)


# As source

_LOOPS = {"while": "while (c) ", "forof": "for (const x of xs) ", "labelled loop": "while (c) "}


def render(program: Block) -> Text:
    """The program as TypeScript."""
    out = Text()
    _block(out, program, ())
    return out


def _block(out: Text, block: Block, at: tuple[int, ...]) -> None:
    for place, stmt in enumerate(block):
        _statement(out, stmt, (*at, place))
        out.text += " "


def _braced(out: Text, block: Block, at: tuple[int, ...], head: str = "") -> None:
    out.text += head + "{ "
    _block(out, block, at)
    out.text += "}"


def _call(out: Text, at: tuple[int, ...]) -> None:
    def write() -> None:
        out.text += "mcp.s.a()"

    out.text += "await "
    out.node(at, "n", write)


def _statement(out: Text, stmt: Stmt, at: tuple[int, ...]) -> None:
    kind = stmt.kind
    if kind == "call":
        _call(out, at)
        out.text += ";"
    elif kind in {"pure", "return", "throw", "break", "continue"}:
        words = {"pure": "x++", "throw": "throw 1"}
        out.text += f"{words.get(kind, kind)}{' ' + stmt.label if stmt.label else ''};"
    elif kind in {"and", "ternary"}:
        out.node((*at, 9), "d", lambda: _expression(out, kind, at))
        out.text += ";"
    elif kind in {"label", "labelled loop"}:
        out.text += "o: "
        if kind == "label":
            _braced(out, stmt.parts[0], (*at, 0))
        else:
            out.node((*at, 9), "l", lambda: _loop(out, stmt, at))
    elif kind in {"while", "forof", "do", "whilecall"}:
        out.node((*at, 9), "l", lambda: _loop(out, stmt, at))
    else:
        out.node((*at, 9), "d", lambda: _branches(out, stmt, at))


def _expression(out: Text, kind: str, at: tuple[int, ...]) -> None:
    out.text += "c && " if kind == "and" else "c ? "
    _call(out, (*at, 0))
    if kind == "ternary":
        out.text += " : "
        _call(out, (*at, 1))


def _loop(out: Text, stmt: Stmt, at: tuple[int, ...]) -> None:
    if stmt.kind == "do":
        _braced(out, stmt.parts[0], (*at, 0), "do ")
        out.text += " while (c);"
    elif stmt.kind == "whilecall":
        out.text += "while ("
        _call(out, (*at, 1))
        _braced(out, stmt.parts[0], (*at, 0), ") ")
    else:
        _braced(out, stmt.parts[0], (*at, 0), _LOOPS[stmt.kind])


def _branches(out: Text, stmt: Stmt, at: tuple[int, ...]) -> None:
    kind, parts = stmt.kind, stmt.parts
    if kind == "if":
        for place, part in enumerate(parts):
            _braced(out, part, (*at, place), " else " if place else "if (c) ")
    elif kind in {"switch", "default"}:
        out.text += "switch (x) { "
        for place, part in enumerate(parts):
            last = kind == "default" and place == len(parts) - 1
            out.text += "default: " if last else f"case {place}: "
            _block(out, part, (*at, place))
        out.text += "}"
    else:
        heads = ["try ", *[" catch "] * (kind != "finally"), *[" finally "] * (kind != "catch")]
        for place, (head, part) in enumerate(zip(heads, parts, strict=True)):
            _braced(out, part, (*at, place), head)


# All paths

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
