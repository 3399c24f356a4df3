"""Instrumented code: sites, probes, marks and lifted literals spliced into the source (SA-6).

Only insertions and the property keys of call sites differ from the source, nothing spans a
line, and nothing is evaluated twice, in another order, or with another ``this``.  What each
probe returns and reports: design, section 5, rule 2.
"""

import json
import re
from dataclasses import dataclass, field

from pml.analysis.calls import Calls, Kind, Site
from pml.analysis.functions import arguments_of
from pml.analysis.globals import SHIM
from pml.analysis.graph import Form, Point, Role
from pml.analysis.lifting import Lifted
from pml.analysis.literals import clause_outcome, key_name
from pml.analysis.optional import chain_link, chain_top, nearest_optional
from pml.analysis.syntax import MEMBERS, Source, Syntax, bare
from pml.domain.structure import SITE_MARK

_MARK = "\\u22a5"

_SEPARATOR = re.compile(rb"\\.|(\xe2\x80[\xa8\xa9])", re.DOTALL)
"""U+2028 or U+2029 as it stands, without a backslash before it."""

_IN_NAME = re.compile(rb"[\w$]")
"""The last byte of a keyword, or the first of a name that is spliced in."""

_TRUTH = frozenset({Form.IF, Form.TERNARY, Form.LOGICAL})
_OPTIONAL = frozenset({Form.OPTIONAL_MEMBER, Form.OPTIONAL_CALL})


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
            apart = b" " if _joins(data, start, before) else b""
            edits.append((start, 2, start - end, n, start, apart + before))
            edits.append((end, 0, end - start, -n, end, after))
        parts: list[bytes] = []
        done = 0
        for start, _rank, _size, _number, end, text in sorted(edits):
            parts += [data[done:start], text]
            done = max(done, end)
        parts.append(data[done:])
        return b"".join(parts)


def _joins(data: bytes, start: int, text: bytes) -> bool:
    """Whether a text would be read with the word before it as one: ``of[x]``, ``return"x"``."""
    return bool(_IN_NAME.match(text) and start and _IN_NAME.match(data, start - 1))


def instrument(
    source: Source, calls: Calls, points: list[Point], lifted: tuple[Lifted, ...]
) -> str:
    """The source with a splice for every point and every lifted literal."""
    splicer = _Splicer(source, calls, points)
    for point in points:
        splicer.splice(point)
    for one in lifted:
        splicer.splices.wrap(one.node, f"{SHIM}.arg({_quoted(one.name)}, ", ")")
    _escape_separators(source, splicer.splices)
    return splicer.splices.apply(source.data).decode("utf-8")


def _escape_separators(source: Source, splices: Splices) -> None:
    """In texts write U+2028 and U+2029 as escapes: engines count lines by them, editors do not."""
    if b"\xe2\x80\xa8" not in source.data and b"\xe2\x80\xa9" not in source.data:
        return
    for text in source.of_kinds("string", "string_fragment"):
        template = text.parent if text.kind == "string_fragment" else None
        around = None if template is None else template.parent
        if around is not None and around.get("arguments") is template:
            continue  # a tag sees the text as it is written
        for found in _SEPARATOR.finditer(source.data, text.start, text.end):
            if found[1] is not None:
                escape = "\\u2028" if found[1][-1:] == b"\xa8" else "\\u2029"
                splices.replace(found.start(), found.end(), escape)


class _Splicer:
    def __init__(self, source: Source, calls: Calls, points: list[Point]) -> None:
        self._source = source
        self._calls = calls
        self._cuts = {point.syntax: point.id for point in points if _cuts_chain(point)}
        """Optional links whose left side is a probe's argument, where a skip of it ends."""
        self.splices = Splices()

    def splice(self, point: Point) -> None:
        """Splice in what the point needs."""
        node, name = point.syntax, _quoted(point.id)
        if point.site is not None:
            self._site(point.site, point.id)
        elif point.form in _TRUTH:
            self._probe("decide", name, _condition(node, point.form))
        elif point.form is Form.NULLISH:
            self._probe("present", name, node["left"])
        elif point.form in _OPTIONAL:
            self._optional(node, name)
        elif point.form is Form.ASSIGNMENT:
            self._assignment(node, name)
        elif point.form is Form.SWITCH:
            self._switch(node, name)
        elif point.form is Form.TRY:
            self._try(node, name)
        elif point.role is Role.FORK:
            self._before(name, arguments_of(node)[0])
        elif point.role is Role.LOOP:
            self._loop(node, name, point.form)

    def _probe(self, probe: str, name: str, node: Syntax, after: str = "") -> None:
        """Around an expression, inside the parentheses that the statement needs."""
        before, after = f"{SHIM}.{probe}({name}, (", f"){after})"
        if node.kind == "parenthesized_expression":
            self.splices.replace(node.start + 1, node.start + 1, before)
            self.splices.replace(node.end - 1, node.end - 1, after)
        elif node.kind == "spread_element":
            self._probe(probe, name, node.children[0])
        else:
            self.splices.wrap(node, before, after)

    def _before(self, name: str, node: Syntax) -> None:
        """Say that control is here before the expression is evaluated."""
        inner = node.children[0] if node.kind == "spread_element" else node
        if inner.kind == "parenthesized_expression":
            place = inner.start + 1
            self.splices.replace(place, place, f"{SHIM}.reach({name}), (")
            self.splices.replace(inner.end - 1, inner.end - 1, ")")
        else:
            self.splices.wrap(inner, f"({SHIM}.reach({name}), (", "))")

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
        if expression.kind not in MEMBERS:
            self.splices.wrap(expression, f"{SHIM}.at({_quoted(name)}, (", "))")
            return
        owner = self._calls.handle(expression["object"])
        if owner is not None and owner.certain and owner.kind in {Kind.SERVER, Kind.CAPABILITIES}:
            self._key(expression, name)
        else:
            self._uncertain(site, expression, _quoted(name))

    def _key(self, member: Syntax, name: str) -> None:
        """``.read`` becomes ``["read<mark>n1"]``; ``?.`` stays, comments and lines stay."""
        if member.kind == "member_expression":
            key = member["property"]
            self._brackets(member, _marked(key_name(self._source, key) or "", name))
            return
        index = member["index"]
        constant = self._calls.constant(index)
        if constant is not None and index.kind == "string":
            self.splices.replace(index.start, index.end, _marked(constant, name))
        else:
            self.splices.wrap(index, "`${", "}" + _MARK + name + "`")

    def _brackets(self, member: Syntax, key: str) -> None:
        """``.name`` becomes ``[key]``, and ``?.name`` becomes ``?.[key]``."""
        if member.mark >= 0:
            self.splices.replace(member.mark, member.mark + 1, "")
        self.splices.replace(member["property"].start, member["property"].end, f"[{key}]")

    def _uncertain(self, site: Site, member: Syntax, name: str) -> None:
        """A member of what may or may not be a server."""
        optional = nearest_optional(member)
        if site.call is None and (optional is None or chain_link(member) is None):
            self.splices.wrap(member, f"{SHIM}.at({name}, ", ")")
        elif optional is None:
            self._member(member, name)
        else:  # what is left of ``?.`` must stay a part of the chain that it may skip
            self._probe("owner", name, optional["object"])

    def _member(self, member: Syntax, name: str) -> None:
        self.splices.wrap(member["object"], f"{SHIM}.atMember({name}, (", ")")
        if member.kind == "member_expression":
            key = member["property"]
            text = json.dumps(key_name(self._source, key) or "")
            self.splices.replace(member.mark, member.mark + 1, ",")
            self.splices.replace(key.start, key.end, f" {text})")
        else:
            self.splices.replace(member.mark, member.mark + 1, ", (")
            self.splices.replace(member.end - 1, member.end, "))")

    # Decisions

    def _optional(self, link: Syntax, name: str) -> None:
        """What ``?.`` decides, told once, and only where an earlier one did not skip it."""
        if link in self._cuts:
            left = link["object"] if link.kind in MEMBERS else link["function"]
            self._probe("present", name, left, self._next_cut(link))
            return
        callee = bare(link["function"])
        if callee.kind not in MEMBERS:
            return
        self._ask(callee, name)
        place = link["arguments"].start + 1
        comma = ", " if arguments_of(link) else ""
        self.splices.replace(place, place, f"...{SHIM}.enter({name}){comma}")
        top = self._part_of_chain(link)
        if not _loses_this(top):
            self._probe("passed", name, top, f', "false"{self._next_cut(link)}')

    def _next_cut(self, link: Syntax) -> str:
        """The probe that must stay silent when this one skips the rest of the chain."""
        outer = chain_link(link)
        while outer is not None and outer not in self._cuts:
            outer = chain_link(outer)
        return "" if outer is None else f", {_quoted(self._cuts[outer])}"

    def _part_of_chain(self, link: Syntax) -> Syntax:
        """The chain up to where a probe cuts it."""
        top = link
        while (outer := chain_link(top)) is not None and outer not in self._cuts:
            top = outer
        return top if outer is not None else chain_top(link)

    def _ask(self, member: Syntax, name: str) -> None:
        """Say that the member is about to be read; a key is evaluated where the chain is alive."""
        if member.kind == "subscript_expression":
            self._probe("ask", name, member["index"])
        elif member["property"].kind == "private_property_identifier":
            if nearest_optional(member) is None:
                self._probe("ask", name, member["object"])
        else:
            key = json.dumps(key_name(self._source, member["property"]) or "")
            self._brackets(member, f"{SHIM}.ask({name}, {key})")

    def _assignment(self, node: Syntax, name: str) -> None:
        operator = next(token for token in node.tokens if token.endswith("="))
        taken, skipped = ("true", "false") if operator == "&&=" else ("false", "true")
        left = bare(node["left"])
        if left.kind not in MEMBERS:
            probe = "present" if operator == "??=" else "decide"
            read = f"{SHIM}.{probe}({name}, {self._source.text(left)})"
            self.splices.wrap(node, f"{SHIM}.second({read}, ", ")")
            return
        self._ask(left, name)
        self.splices.wrap(node["right"], f'({SHIM}.went({name}, "{taken}"), (', "))")
        self._probe("passed", name, node, f', "{skipped}"')

    def _switch(self, node: Syntax, name: str) -> None:
        self._probe("choose", name, node["value"])
        body = node["body"]
        for clause in body.children:
            outcome = _quoted(clause_outcome(self._source, clause))
            place = clause.mark + 1
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
        elif node.kind == "do_statement":
            self.splices.wrap(node["body"], f"{{{SHIM}.reach({name});", "}")
        elif form is Form.WHILE:
            self._before(name, node["condition"])
        else:
            self._for(node, name)

    def _for(self, node: Syntax, name: str) -> None:
        condition = node["condition"]
        if condition.kind == "empty_statement":
            self.splices.replace(condition.start, condition.start, f"{SHIM}.reach({name}, true)")
        else:
            self._before(name, condition)


def _cuts_chain(point: Point) -> bool:
    """Whether the probe takes what is left of ``?.`` as an argument: what follows is optional.

    A method's ``?.(`` needs its object, so that is asked about in another way.
    """
    if point.form is Form.OPTIONAL_MEMBER:
        return True
    is_call = point.form is Form.OPTIONAL_CALL
    return is_call and bare(point.syntax["function"]).kind not in MEMBERS


def _loses_this(top: Syntax) -> bool:
    """Whether the chain is called through parentheses, or deleted: it must stay a chain."""
    outer = top.parent
    if top.kind == "call_expression" or outer is None:
        return False
    while outer.kind == "parenthesized_expression" and outer.parent is not None:
        outer = outer.parent
    return outer.kind == "call_expression" or "delete" in outer.tokens


def _condition(node: Syntax, form: Form) -> Syntax:
    return node["condition"] if form in {Form.IF, Form.TERNARY} else node["left"]


def _quoted(text: str) -> str:
    """A JavaScript string on one line."""
    return json.dumps(text)


def _marked(key: str, name: str) -> str:
    return json.dumps(f"{key}{SITE_MARK}{name}")
