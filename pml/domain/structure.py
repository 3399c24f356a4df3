"""Static structure: what analysis knows of a program before anything runs (SA-2 to SA-4).

Nodes and edges look as epic 10 draws them.  Conventions (SA-3): ids per kind in source
order, happens-before in transitive reduction, a helper's call sites appear once.
"""

from enum import StrEnum
from typing import Annotated, Any, TypeAlias

import msgspec

from pml.domain.record import Count, Ordinal, Record

_CALL = r"^n[1-9][0-9]*$"
_NODE = r"^[ndfjl][1-9][0-9]*$"
_OUTCOME = r"^(true|false|default|ok|catch|case:[\s\S]*)$"

CallSite: TypeAlias = Annotated[str, msgspec.Meta(pattern=_CALL)]
"""``n1``, ``n2``, ... in source order."""
NodeId: TypeAlias = Annotated[str, msgspec.Meta(pattern=_NODE)]
"""A letter per kind (n, d, f, j, l) and a number in source order."""


# gc=False: a long program has these by the thousands, and they hold values only, so they are in
# no cycle for the garbage collector to find.


class Literal(Record, frozen=True, kw_only=True, gc=False, tag="literal"):
    """A JSON value written in the code."""

    value: Any
    parameter_name: str | None = None
    """Of the lifted parameter whose default the value is (SA-9); another may stand for it."""


class Reference(Record, frozen=True, kw_only=True, gc=False, tag="reference"):
    """An expression over the result of an earlier call."""

    expression: str
    node: CallSite
    """Id of the call site that produces the value."""


class Parameter(Record, frozen=True, kw_only=True, gc=False, tag="parameter"):
    """An input of the capability: ``args.x``, or an identifier that nothing declares."""

    parameter_name: str


class Computed(Record, frozen=True, kw_only=True, gc=False, tag="computed"):
    """Pure code over references and parameters."""

    expression: str
    inputs: tuple[Reference | Parameter, ...] = ()


Argument: TypeAlias = Literal | Reference | Parameter | Computed
ANY_TOOL = "*"
"""Tool of a call whose tool cannot be known before it runs (SA-5)."""
CATCH = "catch"
"""Condition of the decision that a try with a catch is (SA-3)."""
SITE_MARK = "\u22a5"
"""Between tool name and site in a property key of instrumented code; no tool's name holds it."""
SPREAD = "..."
"""Key of what is spread into the arguments, or of an argument that is no object literal."""


class Task(Record, frozen=True, kw_only=True, tag="task"):
    """A call of a tool."""

    id: CallSite
    tool: Annotated[str, msgspec.Meta(pattern=r"^(\*|[^:]+:[\s\S]+)$")]
    """``server:tool``, or `ANY_TOOL`."""
    arguments: dict[str, Argument] = {}  # noqa: RUF012


class CapabilityCall(Record, frozen=True, kw_only=True, tag="capability"):
    """A call of ``capabilities.name(...)``."""

    id: CallSite
    capability_id: str
    """The name in the code until a capability of that name is known."""
    name: str = ""
    """As the code calls it; the capability may get another name later."""
    arguments: dict[str, Argument] = {}  # noqa: RUF012


class Decision(Record, frozen=True, kw_only=True, tag="decision"):
    """A branch; ``condition`` is the source text (``catch`` for a try with a catch)."""

    id: Annotated[str, msgspec.Meta(pattern=r"^d[1-9][0-9]*$")]
    condition: str


class Fork(Record, frozen=True, kw_only=True, tag="fork"):
    """Where calls start to run side by side; ``combinator`` is ``all``, ``race``..."""

    id: Annotated[str, msgspec.Meta(pattern=r"^f[1-9][0-9]*$")]
    combinator: str


class Join(Record, frozen=True, kw_only=True, tag="join"):
    """Where the calls of the fork of the same number meet."""

    id: Annotated[str, msgspec.Meta(pattern=r"^j[1-9][0-9]*$")]


class Loop(Record, frozen=True, kw_only=True, tag="loop"):
    """A loop or an array callback that calls tools; ``condition`` is its header."""

    id: Annotated[str, msgspec.Meta(pattern=r"^l[1-9][0-9]*$")]
    condition: str


Node: TypeAlias = Task | CapabilityCall | Decision | Fork | Join | Loop


class EdgeType(StrEnum):
    """Kinds of edge between nodes of one program."""

    SEQUENCE = "sequence"
    CONDITIONAL = "conditional"
    PROVIDES = "provides"
    CONTAINS = "contains"


class Coverage(StrEnum):
    """How much of the consumer's input a ``provides`` edge covers (SA-10)."""

    STRICT = "strict"
    PARTIAL = "partial"
    OPTIONAL = "optional"


class Evidence(StrEnum):
    """Why a ``provides`` edge stands: a value flows in the code, or the schemas match."""

    DATAFLOW = "dataflow"
    SCHEMA = "schema"


class FieldFlow(Record, frozen=True, kw_only=True, gc=False):
    """Which part of a result flows into which part of a call's arguments.

    Both are ways into a value, as ``items[0].id``: names with dots between them, indices in
    brackets, ``[*]`` for any element, ``["a b"]`` for a name that is no identifier.  Empty is
    the whole.
    """

    from_field: str = ""
    to_field: str = ""


class Edge(Record, frozen=True, kw_only=True, gc=False):
    """From one node to another."""

    source: NodeId = msgspec.field(name="from")
    target: NodeId = msgspec.field(name="to")
    type: EdgeType
    outcome: Annotated[str, msgspec.Meta(pattern=_OUTCOME)] | None = None
    """Of a conditional edge: ``true``, ``false``, ``case:x``, ``default``, ``ok``, ``catch``."""
    coverage: Coverage | None = None
    evidence: Evidence | None = None
    fields: tuple[FieldFlow, ...] = ()
    """Of a dataflow edge: all that flows along it; empty where the parts cannot be told."""


class Location(Record, frozen=True, kw_only=True, gc=False):
    """Where a node stands in the submitted source; lines and columns count from 1."""

    line: Ordinal
    column: Ordinal
    start: Count
    """Byte offset in the UTF-8 source."""
    end: Count


class StaticStructure(Record, frozen=True, kw_only=True):
    """The whole structure with all branches."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    complete: bool
    """False when a call was found whose tool cannot be known."""
    flows_complete: bool = True
    """False when more results flow into arguments than there are ``provides`` edges for."""
    parameters: tuple[str, ...] = ()
    """Names of the inputs that the code reads, in order of first use."""
    variables: tuple[str, ...] = ()
    """Those of them that the code reads as variables of its own scope, not as ``args.x``."""
    layers: tuple[tuple[CallSite, ...], ...] = ()
    """Call sites by depth in the flow: the longest path without back edges."""
    locations: dict[str, Location] = {}  # noqa: RUF012

    def tools(self) -> tuple[str, ...]:
        """Ids of the tools called, each once, in source order."""
        return tuple(dict.fromkeys(node.tool for node in self.nodes if isinstance(node, Task)))
