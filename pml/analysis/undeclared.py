"""Names that nothing declares, used in a way in which no input can be used (SA-7).

Such a name is an input of the program: JSON, given in ``args``.  Data is no function, and has
only the methods that texts, numbers, lists and objects have.
"""

from dataclasses import dataclass

from pml.analysis.diagnose import Reporter
from pml.analysis.functions import arguments_of
from pml.analysis.globals import ABSENT, STANDARD
from pml.analysis.meant import Meant
from pml.analysis.scope import Scopes
from pml.analysis.syntax import MEMBERS, Source, Syntax, bare, wrapped
from pml.domain.program import Severity
from pml.domain.tools import Catalog


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_METHODS = _names(
    """
    at charAt charCodeAt codePointAt concat endsWith includes indexOf isWellFormed lastIndexOf
    localeCompare match matchAll normalize padEnd padStart repeat replace replaceAll search slice
    split startsWith substr substring toLocaleLowerCase toLocaleUpperCase toLowerCase toString
    toUpperCase toWellFormed trim trimEnd trimLeft trimRight trimStart valueOf anchor big blink
    bold fixed fontcolor fontsize italics link small strike sub sup
    toExponential toFixed toLocaleString toPrecision
    copyWithin entries every fill filter find findIndex findLast findLastIndex flat flatMap
    forEach join keys map pop push reduce reduceRight reverse shift some sort splice toReversed
    toSorted toSpliced unshift values with
    constructor hasOwnProperty isPrototypeOf propertyIsEnumerable
    """
)
"""Of strings, numbers, arrays and objects: what JSON is made of."""
_INSTEAD = {
    "None": "null",
    "True": "true",
    "False": "false",
    "print": "console.log(...)",
    "len": "x.length",
    "str": "String(...)",
    "int": "Math.trunc(...)",
    "float": "Number(...)",
    "dict": "{ ... }",
    "list": "[...x]",
    "isinstance": "typeof or instanceof",
    "sorted": "[...x].sort()",
    "enumerate": "x.entries()",
}
"""What other languages call otherwise, and only where it cannot be an input."""
_VALUES = frozenset({"None", "True", "False"})
_FETCH = "fetch always fails: the sandbox has no network; use an MCP tool"
_TOLD = 50
"""Names of one program: each is compared with all tools."""


@dataclass(frozen=True, slots=True)
class _Use:
    """A call of a free name, or of what lies at a path in it."""

    name: str
    path: tuple[str, ...]
    callee: Syntax
    call: Syntax

    @property
    def shown(self) -> str:
        return ".".join((self.name, *self.path))

    @property
    def looks_like_a_tool(self) -> bool:
        """Whether it is given one object, written on the spot."""
        given = arguments_of(self.call)
        return len(given) == 1 and bare(given[0]).kind == "object"


def report_undeclared(source: Source, scopes: Scopes, catalog: Catalog, report: Reporter) -> None:
    """Calls of what can be no function, ``None``, ``f(q="a")``, and ``fetch``."""
    assigned = {source.name(node) for node in scopes.assigned_free}
    _report_keywords(source, scopes, report)
    if {"globalThis", "self"} & set(scopes.free):
        return  # by which a name may be given what it stands for
    _report_fetch(source, scopes, report)
    meant: Meant | None = None
    told: set[str] = set()
    for name, nodes in scopes.free.items():
        if name in STANDARD or name in ABSENT or name in assigned or len(told) >= _TOLD:
            continue
        if any(_is_asked_for(node) for node in nodes):
            continue
        if name in _VALUES:
            message = f"{name!r} is an input here, as nothing declares it: write {_INSTEAD[name]}"
            report.warn(nodes[0], "undeclared-name", message)
        for use in filter(None, (_called(source, name, node) for node in nodes)):
            if use.shown not in told:
                told.add(use.shown)
                meant = meant or Meant(catalog)
                _report_call(use, meant, report)


def _report_call(use: _Use, meant: Meant, report: Reporter) -> None:
    """A call that fails whatever is given; an error where it names the server that is meant."""
    if use.path and use.path[-1] in _METHODS:
        return
    nowhere = f"{use.name!r} is declared nowhere"
    tool = meant.call((use.name, *use.path), alone=False)
    if tool is not None:
        report.error(use.call, "undeclared-name", f"{nowhere}: to call the tool, write {tool}")
        return
    if use.path:
        what = f"so it is an input, and data has no method {use.path[-1]!r}"
    else:
        what = "so it is an input, and data is no function"
    other = _INSTEAD.get(use.shown)
    if other is None and not use.path and use.looks_like_a_tool:
        other = meant.call((use.name,))
    advice = f"write {other}" if other else "declare it, or call a tool, mcp.server.tool({ ... })"
    report.warn(use.callee, "undeclared-name", f"{nowhere}, {what}: {advice}")


def _called(source: Source, name: str, node: Syntax) -> _Use | None:
    """The call of a name, or of what is reached from it by plain members."""
    place, path = wrapped(node), list[str]()
    while place.parent is not None and place.parent.kind in MEMBERS:
        member = place.parent
        if member.get("object") is not place or member.kind != "member_expression":
            return None
        if path and path[-1] in _METHODS:
            return None  # a function's own members
        path.append(source.name(member["property"]))
        place = wrapped(member)
    call = place.parent
    if call is None or place not in {call.get("function"), call.get("constructor")}:
        return None
    until = call.get("arguments")
    text = source.data[place.start : call.end if until is None else until.start]
    if b"?." in text:
        return None  # which does nothing where there is nothing
    return _Use(name, tuple(path), bare(place), call)


def _is_asked_for(node: Syntax) -> bool:
    """Whether the code looks first whether there is such a thing."""
    parent = wrapped(node).parent
    return parent is not None and "typeof" in parent.tokens


def _report_fetch(source: Source, scopes: Scopes, report: Reporter) -> None:
    nodes = scopes.free.get("fetch", ())
    for use in filter(None, (_called(source, "fetch", node) for node in nodes)):
        if not use.path:
            copes = any(outer.kind == "try_statement" for outer in use.call.ancestors())
            severity = Severity.WARNING if copes or _is_caught(use.call) else Severity.ERROR
            report.at(use.call.start, use.call.end, severity, "not-in-sandbox", _FETCH)


def _is_caught(call: Syntax) -> bool:
    parent = wrapped(call).parent
    return parent is not None and parent.kind in MEMBERS


def _report_keywords(source: Source, scopes: Scopes, report: Reporter) -> None:
    """``f(q="a")``, which in other languages names an argument."""
    for node in scopes.assigned_free:
        assignment = node.parent
        if assignment is None or assignment.kind != "assignment_expression":
            continue
        if assignment.parent is None or assignment.parent.kind != "arguments":
            continue
        name, value = source.name(node), source.text(assignment["right"])[:_TOLD]
        message = (
            f"this assigns a variable {name!r}, and names no argument: "
            f"arguments go in one object, ({{ {name}: {value} }})"
        )
        report.warn(assignment, "undeclared-name", message)
