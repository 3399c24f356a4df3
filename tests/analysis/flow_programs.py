"""A little language of control flow, as source: what `flow_paths` runs and PML analyses.

A program may define two helpers first, which it and the second of them call, and an object that
runs a third block, which calls them too, when it is iterated.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st


@dataclass(frozen=True, slots=True)
class Stmt:
    """A statement: its kind, and what it consists of."""

    kind: str
    parts: tuple["Block", ...] = ()
    label: str = ""


Block = tuple[Stmt, ...]


@dataclass(slots=True)
class Text:
    """The source in the making.

    ``places`` are the offsets of every statement that can be a node, ``helpers`` of functions.
    """

    text: str = ""
    places: list[tuple[str, int, int]] = field(default_factory=list)
    nodes: dict[tuple[int, ...], int] = field(default_factory=dict)
    helpers: list[tuple[int, int]] = field(default_factory=list)

    def node(self, at: tuple[int, ...], letter: str, write: Callable[[], None]) -> None:
        """Write what may be a node."""
        number = len(self.places)
        self.nodes[at] = number
        self.places.append((letter, 0, 0))
        start = len(self.text)
        write()
        self.places[number] = (letter, start, len(self.text))


# Programs

_SIMPLE = st.builds(
    Stmt,
    st.sampled_from(["call", "call", "pure", "return", "throw", "break", "continue"]),
)
_PLAIN = st.builds(Stmt, st.sampled_from(["call", "call", "pure", "return", "throw"]))
HELPERS = ("h", "g")
ITERABLE = "i"


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


PROGRAMS: st.SearchStrategy[Block] = _blocks(st.recursive(_SIMPLE, _compound, max_leaves=7), 4)


def _calling(simple: st.SearchStrategy[Stmt], *helpers: str) -> st.SearchStrategy[Stmt]:
    called = st.builds(Stmt, st.just("helper"), st.just(()), st.sampled_from(helpers))
    return st.one_of(simple, called, called)


def _with_helpers(*bodies: Block) -> Block:
    named = zip((*HELPERS, ITERABLE), bodies[:-1], strict=False)
    return (*(Stmt("define", (body,), name) for name, body in named), *bodies[-1])


_FIRST = _blocks(st.recursive(_PLAIN, _compound, max_leaves=3), 2)
_SECOND = _blocks(st.recursive(_calling(_PLAIN, "h"), _compound, max_leaves=3), 2)
_THIRD = _blocks(st.recursive(_calling(_PLAIN, *HELPERS), _compound, max_leaves=3), 2)
_ITERATED = st.just(Stmt("iterate", (), ITERABLE))
WITH_HELPERS: st.SearchStrategy[Block] = st.builds(
    _with_helpers,
    _FIRST,
    _SECOND,
    _blocks(st.recursive(_calling(_SIMPLE, *HELPERS), _compound, max_leaves=7), 4),
)
WITH_ITERABLE: st.SearchStrategy[Block] = st.builds(
    _with_helpers,
    _FIRST,
    _SECOND,
    _THIRD,
    _blocks(st.recursive(_calling(_SIMPLE, *HELPERS) | _ITERATED, _compound, max_leaves=6), 4),
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
    elif kind == "helper":
        out.text += f"await {stmt.label}();"
    elif kind == "define":
        _define(out, stmt, at)
    elif kind == "iterate":
        out.node((*at, 9), "l", lambda: _iterate(out, stmt))
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


def _define(out: Text, stmt: Stmt, at: tuple[int, ...]) -> None:
    start = len(out.text)
    if stmt.label == ITERABLE:
        head = f"const {stmt.label} = {{ async *[Symbol.asyncIterator]() "
        _braced(out, stmt.parts[0], (*at, 0), head)
        out.text += " }"
    else:
        _braced(out, stmt.parts[0], (*at, 0), f"const {stmt.label} = async () => ")
    out.helpers.append((start, len(out.text)))
    out.text += ";"


def _iterate(out: Text, stmt: Stmt) -> None:
    out.text += f"for await (const x of {stmt.label}) {{}}"


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
