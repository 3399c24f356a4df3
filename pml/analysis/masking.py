"""A program without its secrets: edits of its text, and its structure after them (ST-5).

The mask stands for a literal on as many lines, so that lines and splices stay what they are.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import msgspec

from pml.analysis.functions import arguments_of
from pml.analysis.globals import SHIM
from pml.analysis.lifting import Lifted
from pml.analysis.literals import string_value
from pml.analysis.secrets_in_code import Hidden, comments
from pml.analysis.syntax import Source, Syntax
from pml.domain.secret_rules import MASK
from pml.domain.structure import Location, StaticStructure

MASK_CODE = f'"{MASK}"'
_CODE_FIELDS = frozenset({"expression", "condition", "outcome"})
"""Of a structure: what quotes the source."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes ``start`` to ``end`` become ``text``, which has as many lines."""

    start: int
    end: int
    text: bytes


def comment_edits(source: Source, hidden: Hidden) -> Iterator[Edit]:
    """What to change so that no comment holds a secret."""
    for found in comments(source):
        text = source.data[found.start_byte : found.end_byte].decode("utf-8", "replace")
        end = "*/" if text.startswith("/*") else ""
        inside = text[2 : len(text) - len(end)]
        redacted = hidden.masked(inside)
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
    structure: StaticStructure,
    source: Source,
    secrets: Sequence[Lifted],
    hidden: Hidden,
    edits: Sequence[Edit],
) -> StaticStructure:
    """The structure of the source after the ``edits``, without the ``secrets``."""
    texts = [source.text(one.node) for one in secrets]
    values = [one.value for one in secrets]
    plain = _Masking(hidden, texts, values).of(msgspec.to_builtins(structure))
    made = msgspec.convert(plain, StaticStructure)
    after = Source(applied(source.data, edits))
    shift = _Shift(edits)
    moved = {name: shift.moved(at, after) for name, at in structure.locations.items()}
    return msgspec.structs.replace(made, locations=moved)


class _Masking:
    """Puts the mask for secrets in a structure: their ``texts`` in code, their ``values``."""

    def __init__(self, hidden: Hidden, texts: Sequence[str], values: Sequence[Any]) -> None:
        self._hidden = hidden
        self._texts = texts
        self._values = values

    def of(self, value: Any) -> Any:  # noqa: ANN401  # any JSON
        if isinstance(value, list | tuple):
            return [self.of(item) for item in value]
        if isinstance(value, Mapping):
            if value.get("type") == "literal":
                return {**value, "value": MASK} if value["value"] in self._values else value
            return {key: self._field(key, item) for key, item in value.items()}
        return value

    def _field(self, key: str, value: Any) -> Any:  # noqa: ANN401  # any JSON
        if not isinstance(value, str):
            return self.of(value)
        if key not in _CODE_FIELDS:
            return value
        for text in self._texts:
            value = value.replace(text, MASK_CODE)
        return self._hidden.masked(value)


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
