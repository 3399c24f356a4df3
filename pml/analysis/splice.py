"""Instrumented code: sites, probes, marks and lifted literals spliced into the source (SA-6).

Only insertions and the property keys of call sites differ from the source, nothing spans a
line, and nothing is evaluated twice, in another order, or with another ``this``.  What each
probe returns and reports: design, section 5, rule 2.
"""

import json
from dataclasses import dataclass, field

from pml.analysis.calls import Calls, Kind, Site
from pml.analysis.functions import arguments_of
from pml.analysis.globals import SHIM
from pml.analysis.graph import Form, Point, Role
from pml.analysis.lifting import Lifted
from pml.analysis.literals import clause_outcome, key_name
from pml.analysis.syntax import Source, Syntax, bare
from pml.domain.structure import SITE_MARK

_MARK = "\\u22a5"

_TRUTH = frozenset({Form.IF, Form.TERNARY, Form.LOGICAL})
_PRESENCE = frozenset({Form.NULLISH, Form.OPTIONAL_MEMBER})


@dataclass(slots=True)
class Splices:
    """Insertions and replacements by byte offset; wraps nest as the syntax does."""

    _wraps: list[tuple[int, int, bytes, bytes]] = field(default_factory=list)
    _edits: list[tuple[int, int, bytes]] = field(default_factory=list)

    def wrap(self, node: Syntax, before: str, after: str) -> None:
        """Put text around a node."""
        self._wraps.append((node.start, node.end, before.encode(), after.encode()))

    def replace(self, start: int, end: int, text: str) -> None:
        """Put text in the place of a range, which may be empty."""
        self._edits.append((start, end, text.encode()))

    def apply(self, data: bytes) -> bytes:
        """The source with everything spliced in."""
        # At one offset: what closes there (inner first), edits, what opens there (outer first).
        edits = [(start, 1, 0, n, end, text) for n, (start, end, text) in enumerate(self._edits)]
        for n, (start, end, before, after) in enumerate(self._wraps):
            edits.append((start, 2, start - end, n, start, before))
            edits.append((end, 0, end - start, -n, end, after))
        parts: list[bytes] = []
        done = 0
        for start, _rank, _size, _number, end, text in sorted(edits):
            parts += [data[done:start], text]
            done = max(done, end)
        parts.append(data[done:])
        return b"".join(parts)


def instrument(
    source: Source, calls: Calls, points: list[Point], lifted: tuple[Lifted, ...]
) -> str:
    """The source with a splice for every point and every lifted literal."""
    splicer = _Splicer(source, calls)
    for point in points:
        splicer.splice(point)
    for one in lifted:
        splicer.splices.wrap(one.node, f"{SHIM}.arg({_quoted(one.name)}, ", ")")
    return splicer.splices.apply(source.data).decode("utf-8")


class _Splicer:
    def __init__(self, source: Source, calls: Calls) -> None:
        self._source = source
        self._calls = calls
        self.splices = Splices()

    def splice(self, point: Point) -> None:
        """Splice in what the point needs."""
        node, name = point.syntax, _quoted(point.id)
        if point.site is not None:
            self._site(point.site, point.id)
        elif point.form in _TRUTH:
            self._probe("decide", name, _condition(node, point.form))
        elif point.form in _PRESENCE:
            self._probe("present", name, _condition(node, point.form))
        elif point.form is Form.ASSIGNMENT:
            self._assignment(node, name)
        elif point.form is Form.OPTIONAL_CALL:
            self._optional_call(node, name)
        elif point.form is Form.SWITCH:
            self._switch(node, name)
        elif point.form is Form.TRY:
            self._try(node, name)
        elif point.role is Role.FORK:
            self._probe("reach", name, arguments_of(node)[0])
        elif point.role is Role.LOOP:
            self._loop(node, name, point.form)

    def _probe(self, probe: str, name: str, node: Syntax) -> None:
        """Around an expression, inside the parentheses that the statement needs."""
        if node.kind == "parenthesized_expression":
            self.splices.replace(node.start + 1, node.start + 1, f"{SHIM}.{probe}({name}, (")
            self.splices.replace(node.end - 1, node.end - 1, "))")
        elif node.kind == "spread_element":
            self._probe(probe, name, node.children[0])
        else:
            self.splices.wrap(node, f"{SHIM}.{probe}({name}, (", "))")

    # Calls

    def _site(self, site: Site, name: str) -> None:
        expression = bare(site.expression)
        if expression.kind == "identifier":
            self.splices.wrap(expression, f"{SHIM}.at({_quoted(name)}, ", ")")
            return
        if expression.kind == "shorthand_property_identifier":
            key = self._source.text(expression)
            self.splices.wrap(expression, f"{key}: {SHIM}.at({_quoted(name)}, ", ")")
            return
        owner = self._calls.handle(expression["object"])
        if owner is not None and owner.certain and owner.kind in {Kind.SERVER, Kind.CAPABILITIES}:
            self._key(expression, name)
        else:
            self._member(expression, name)

    def _key(self, member: Syntax, name: str) -> None:
        """``.read`` becomes ``["read<mark>n1"]``; ``?.`` stays, comments and lines stay."""
        if member.kind == "member_expression":
            key = member["property"]
            if "dot" in member.fields:
                self.splices.replace(member["dot"].start, member["dot"].end, "")
            text = f"[{_marked(key_name(self._source, key) or '', name)}]"
            self.splices.replace(key.start, key.end, text)
            return
        index = member["index"]
        constant = self._calls.constant(index)
        if constant is not None and index.kind == "string":
            self.splices.replace(index.start, index.end, _marked(constant, name))
        else:
            self.splices.wrap(index, "`${", "}" + _MARK + name + "`")

    def _member(self, member: Syntax, name: str) -> None:
        """A member of what may or may not be a server."""
        self.splices.wrap(member["object"], f"{SHIM}.atMember({_quoted(name)}, (", ")")
        operator = member.get("optional_chain") or member.get("dot")
        if operator is not None:
            comma = "," if member.kind == "member_expression" else ""
            self.splices.replace(operator.start, operator.end, comma)
        if member.kind == "member_expression":
            key = member["property"]
            name = json.dumps(key_name(self._source, key) or "")
            self.splices.replace(key.start, key.end, f" {name})")
        else:
            self.splices.replace(member["bracket"].start, member["bracket"].end, ", (")
            self.splices.replace(member.end - 1, member.end, "))")

    # Decisions

    def _assignment(self, node: Syntax, name: str) -> None:
        outcome = "true" if "&&=" in node.tokens else "false"
        self.splices.wrap(node["right"], f"({SHIM}.decide({name}, {outcome}), (", "))")

    def _optional_call(self, node: Syntax, name: str) -> None:
        """The callee cannot be wrapped without losing ``this``: say that the call happens."""
        if not arguments_of(node):
            return
        first = arguments_of(node)[0]
        inner = first.children[0] if first.kind == "spread_element" else first
        self.splices.wrap(inner, f"({SHIM}.decide({name}, true), (", "))")

    def _switch(self, node: Syntax, name: str) -> None:
        self._probe("choose", name, node["value"])
        body = node["body"]
        for clause in body.children:
            outcome = _quoted(clause_outcome(self._source, clause))
            place = clause["colon"].end
            self.splices.replace(place, place, f" {SHIM}.took({name}, {outcome});")
        if not any(clause.kind == "switch_default" for clause in body.children):
            end_of_clause = ";" if body.children else ""
            text = f'{end_of_clause}default: {SHIM}.took({name}, "default");'
            self.splices.replace(body.end - 1, body.end - 1, text)

    def _try(self, node: Syntax, name: str) -> None:
        body, caught = node["body"], node["handler"]["body"]
        self.splices.replace(body.end - 1, body.end - 1, f';{SHIM}.took({name}, "ok");')
        start = caught.start + 1
        self.splices.replace(start, start, f'{SHIM}.took({name}, "catch");')

    # Loops

    def _loop(self, node: Syntax, name: str, form: Form) -> None:
        if form is Form.CALLBACK:
            self._probe("reach", name, arguments_of(node)[0])
        elif form is Form.FOR_IN:
            self._probe("reach", name, node["right"])
        elif form is Form.WHILE:
            self._probe("reach", name, node["condition"])
        else:
            self._for(node, name)

    def _for(self, node: Syntax, name: str) -> None:
        condition = node["condition"]
        if condition.kind == "empty_statement":
            self.splices.replace(condition.start, condition.start, f"{SHIM}.reach({name}, true)")
        else:
            self._probe("reach", name, condition)


def _condition(node: Syntax, form: Form) -> Syntax:
    if form in {Form.IF, Form.TERNARY}:
        return node["condition"]
    if form is Form.OPTIONAL_MEMBER:
        return node["object"]
    return node["left"]


def _quoted(text: str) -> str:
    """A JavaScript string on one line."""
    return json.dumps(text)


def _marked(key: str, name: str) -> str:
    return json.dumps(f"{key}{SITE_MARK}{name}")
