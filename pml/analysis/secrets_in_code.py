"""Secrets that stand in a program, and the program without them (ST-5).

A lifted literal can be taken out: its parameter then has no default.  So can what a comment
says.  Any other text is part of what the program does, so it is only found.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import msgspec
from tree_sitter import Node, Query, QueryCursor

from pml.analysis.escapes import unescape
from pml.analysis.functions import arguments_of
from pml.analysis.globals import SHIM
from pml.analysis.lifting import Lifted
from pml.analysis.literals import key_name, string_value
from pml.analysis.syntax import LANGUAGE, Source, Syntax, wrapped
from pml.domain.sanitising import redact, redact_text
from pml.domain.secret_rules import MASK, sensitive_key
from pml.domain.structure import Location, StaticStructure

MASK_CODE = f'"{MASK}"'
_TEXTS = Query(
    LANGUAGE,
    "[(comment) (html_comment)] @comment"
    " [(string) (template_string) (template_literal_type) (regex)] @text",
)
"""Types included, which the tree that analysis works on does not have."""
_CODE_FIELDS = frozenset({"expression", "condition", "outcome"})
"""Of a structure: what quotes the source."""
_NAMING = {
    "variable_declarator": "name",
    "assignment_expression": "left",
    "assignment_pattern": "left",
    "required_parameter": "pattern",
    "public_field_definition": "name",
    "enum_assignment": "name",
}
"""Where a value gets a name, and the field that has it."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes ``start`` to ``end`` become ``text``, which has as many lines."""

    start: int
    end: int
    text: bytes


def secret_literals(source: Source, lifted: Sequence[Lifted]) -> list[Lifted]:
    """The lifted literals that are secrets, by what they are or by what they are called."""
    return [one for one in lifted if _is_secret(_names_of(source, one), one.value)]


def secret_line(source: Source, lifted: Sequence[Lifted]) -> int | None:
    """The line of the first secret that stands elsewhere, in code that cannot do without it."""
    spans = sorted((one.node.start, one.node.end) for one in lifted)
    nodes = {(n.start, n.end): n for n in source.of_kinds("string", "template_string")}
    for found in sorted(_captured(source, "text"), key=lambda node: node.start_byte):
        place = bisect_right(spans, (found.start_byte, found.end_byte)) - 1
        if place >= 0 and found.end_byte <= spans[place][1]:
            continue
        node = nodes.get((found.start_byte, found.end_byte))
        if any(_is_secret(names, text) for names, text in _texts(source, found, node)):
            return source.position(found.start_byte)[0]
    return None


def comment_edits(source: Source) -> Iterator[Edit]:
    """What to change so that no comment holds a secret."""
    for found in _captured(source, "comment"):
        text = source.data[found.start_byte : found.end_byte].decode("utf-8", "replace")
        end = "*/" if text.startswith("/*") else ""
        inside = text[2 : len(text) - len(end)]
        redacted = redact_text(inside)
        if redacted != inside:
            lines = "\n" * (inside.count("\n") - redacted.count("\n"))
            changed = f"{text[:2]}{redacted}{lines}{end}"
            yield Edit(found.start_byte, found.end_byte, changed.encode())


def literal_edits(source: Source, nodes: Sequence[Syntax]) -> Iterator[Edit]:
    """What to change so that the mask stands for the nodes."""
    for node in nodes:
        lines = source.data.count(b"\n", node.start, node.end)
        yield Edit(node.start, node.end, MASK_CODE.encode() + b"\n" * lines)


def spliced(instrumented: Source, names: frozenset[str]) -> list[Syntax]:
    """The literals of the parameters in instrumented code."""
    found: list[Syntax] = []
    for call in instrumented.of_kinds("call_expression") if names else ():
        callee, given = call["function"], arguments_of(call)
        is_shim = callee.kind == "member_expression" and callee["object"].kind == "identifier"
        if (
            is_shim
            and instrumented.text(callee) == f"{SHIM}.arg"
            and string_value(instrumented, given[0]) in names
        ):
            found.append(given[1])
    return found


def in_order(edits: Iterable[Edit]) -> list[Edit]:
    """The edits as they stand in the source, without those inside others."""
    kept: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit.start, -edit.end)):
        if not kept or edit.start >= kept[-1].end:
            kept.append(edit)
    return kept


def applied(data: bytes, edits: Sequence[Edit]) -> str:
    """The text after the edits, which are `in_order`."""
    parts: list[bytes] = []
    done = 0
    for edit in edits:
        parts += [data[done : edit.start], edit.text]
        done = edit.end
    return b"".join((*parts, data[done:])).decode()


def without(
    structure: StaticStructure, source: Source, secrets: Sequence[Lifted], edits: Sequence[Edit]
) -> StaticStructure:
    """The structure of the source after the ``edits``, without the ``secrets``."""
    texts = [source.text(one.node) for one in secrets]
    values = [one.value for one in secrets]
    plain = _masked(msgspec.to_builtins(structure), texts, values)
    made = msgspec.convert(plain, StaticStructure)
    after = Source(applied(source.data, edits))
    shift = _Shift(edits)
    moved = {name: shift.moved(at, after) for name, at in structure.locations.items()}
    return msgspec.structs.replace(made, locations=moved)


def _captured(source: Source, what: str) -> list[Node]:
    return QueryCursor(_TEXTS).captures(source.tree.root_node).get(what, [])


def _names_of(source: Source, one: Lifted) -> list[str]:
    return [*(step for step in one.place if isinstance(step, str)), *_names(source, one.node)]


def _names(source: Source, node: Syntax) -> Iterator[str]:
    """What the value of a node is called: keys of the pairs around, and the name it is given."""
    place = wrapped(node)
    while (parent := place.parent) is not None:
        if parent.kind == "pair" and parent.get("value") is place:
            yield key_name(source, parent["key"]) or ""
        elif parent.kind in _NAMING:
            name = parent.get(_NAMING[parent.kind])
            if name is not None and name is not place:
                yield source.text(name.get("property") or name)
            return
        elif parent.kind not in {"object", "array"}:
            return
        place = wrapped(parent)


def _texts(source: Source, found: Node, node: Syntax | None) -> Iterator[tuple[list[str], str]]:
    """The texts in a node that was found, each with what it is called."""
    inside = source.data[found.start_byte : found.end_byte].decode("utf-8", "replace")
    if node is None:
        yield [], inside
        return
    text = string_value(source, node)
    if text is not None:
        yield list(_names(source, node)), text
        return
    start = node.start + 1  # fragments have no name: the whole has it, and is computed
    for child in (c for c in node.children if c.kind == "template_substitution"):
        yield [], unescape(source.data[start : child.start].decode("utf-8", "replace"))
        start = child.end
    yield [], unescape(source.data[start : node.end - 1].decode("utf-8", "replace"))


def _is_secret(names: Sequence[str], value: Any) -> bool:  # noqa: ANN401  # any JSON
    if value == "" or value is None or isinstance(value, bool):
        return False
    if any(sensitive_key(name) for name in names):
        return True
    redacted = redact(value)
    return bool(redacted != value) and MASK in str(redacted)


def _masked(value: Any, texts: Sequence[str], secrets: Sequence[Any]) -> Any:  # noqa: ANN401
    if isinstance(value, list | tuple):
        return [_masked(item, texts, secrets) for item in value]
    if isinstance(value, Mapping):
        if value.get("type") == "literal":
            return {**value, "value": MASK} if value["value"] in secrets else value
        return {key: _masked_field(key, item, texts, secrets) for key, item in value.items()}
    return value


def _masked_field(key: str, value: Any, texts: Sequence[str], secrets: Sequence[Any]) -> Any:  # noqa: ANN401
    if not isinstance(value, str):
        return _masked(value, texts, secrets)
    if key not in _CODE_FIELDS:
        return value
    for text in texts:
        value = value.replace(text, MASK_CODE)
    return redact_text(value)


class _Shift:
    """By how much edits, which are `in_order`, move what stands behind them."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self._ends = [edit.end for edit in edits]
        growth = (len(edit.text) - (edit.end - edit.start) for edit in edits)
        self._by = [0, *accumulate(growth)]

    def moved(self, location: Location, after: Source) -> Location:
        """Where a node stands in the text after the edits."""
        start = location.start + self._by[bisect_right(self._ends, location.start)]
        end = location.end + self._by[bisect_right(self._ends, location.end)]
        line, column = after.position(start)
        return Location(line=line, column=column, start=start, end=end)
