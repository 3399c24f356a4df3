"""Secrets that stand in a program (ST-5).

A text is one by what it looks like, by any name that its value has (`pml.analysis.naming`), or
because it holds what is one elsewhere.  A lifted literal can be taken out: its parameter then has
no default.  So can what a comment says.  Anything else is part of what the program does, so it
is only found.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tree_sitter import Node, Query, QueryCursor

from pml.analysis.escapes import unescape
from pml.analysis.grammar import LANGUAGE
from pml.analysis.lifting import Lifted
from pml.analysis.literals import number_value
from pml.analysis.naming import Naming
from pml.analysis.scope import Scopes
from pml.analysis.syntax import Source, Syntax
from pml.domain.sanitising import redact, redact_text
from pml.domain.secret_rules import MASK, known_token, sensitive_key

_TEXTS = Query(
    LANGUAGE,
    "[(comment) (html_comment)] @comment"
    " [(string) (template_string) (template_literal_type) (regex)] @text",
)
"""Types included, which the tree that analysis works on does not have."""
_CONTAINED_CHARS = 6
"""A shorter secret counts only as a whole text: as a part it says nothing."""
_SCHEME = re.compile(r"(?:bearer|basic|token|apikey)\s+", re.IGNORECASE)


class Hidden:
    """The values of a program that are secrets."""

    def __init__(self, values: Iterable[str]) -> None:
        known = set(values)
        known |= {_SCHEME.sub("", value, count=1) for value in known}
        self._whole = {one for one in known if one != MASK and not _is_mark(one)}
        long = [one for one in self._whole if len(one) >= _CONTAINED_CHARS]
        self._parts = "|".join(map(re.escape, sorted(long, key=len, reverse=True)))

    def within(self, text: Any) -> bool:  # noqa: ANN401  # any JSON
        """Whether it is a text that is a secret, or holds one."""
        if not isinstance(text, str):
            return False
        return text in self._whole or bool(self._parts and re.search(self._parts, text))

    def masked(self, text: str) -> str:
        """The text without them and without what looks like one."""
        return redact_text(re.sub(self._parts, MASK, text) if self._parts else text)


@dataclass(frozen=True, slots=True)
class Secrets:
    """What was found: ``line`` of the first that the program cannot do without, if any."""

    line: int | None
    lifted: tuple[Lifted, ...]
    hidden: Hidden


@dataclass(frozen=True, slots=True)
class _Text:
    """What is written at one place, texts as a rule, with the names of its value."""

    start: int
    end: int
    names: tuple[str, ...]
    parts: tuple[Any, ...]


def find_secrets(source: Source, scopes: Scopes, lifted: Sequence[Lifted]) -> Secrets:
    """All secrets of a source; ``scopes`` are those that `Functions` completed."""
    naming = Naming(source, scopes)
    texts = [*_texts(source, naming), *_lifted(lifted, naming), *_numbers(source)]
    found = [(text, list(_secret_in(text.names, one))) for text in texts for one in text.parts]
    hidden = Hidden(value for _, values in found for value in values)
    marked = [text for text, values in found if values or any(map(hidden.within, text.parts))]
    spans = sorted((one.node.start, one.node.end, place) for place, one in enumerate(lifted))
    places = [_place(text, spans) for text in marked]
    starts = [text.start for text, at in zip(marked, places, strict=True) if at is None]
    starts += _tokens_in_code(source)
    line = source.position(min(starts))[0] if starts else None
    inside = sorted({place for place in places if place is not None})
    return Secrets(line, tuple(lifted[place] for place in inside), hidden)


def comments(source: Source) -> list[Node]:
    """The comments of a source."""
    return _captured(source, "comment")


def _captured(source: Source, what: str) -> list[Node]:
    return QueryCursor(_TEXTS).captures(source.tree.root_node).get(what, [])


def _place(text: _Text, spans: Sequence[tuple[int, int, int]]) -> int | None:
    """Which lifted literal the text is in."""
    at = bisect_right(spans, (text.start, text.end, len(spans))) - 1
    return spans[at][2] if at >= 0 and text.end <= spans[at][1] else None


def _texts(source: Source, naming: Naming) -> Iterator[_Text]:
    """What is written between quotes of any kind, in types too."""
    nodes = _by_span(source)
    found = _captured(source, "text")
    unknown = any((one.start_byte, one.end_byte) not in nodes for one in found)
    typed = Source(source.data.decode("utf-8", "replace"), with_types=True) if unknown else source
    in_types = Naming(typed, None)
    others: Mapping[tuple[int, int], Syntax] = _by_span(typed) if unknown else {}
    for one in sorted(found, key=lambda node: node.start_byte):
        span = (one.start_byte, one.end_byte)
        node = nodes.get(span)
        called = naming if node is not None else in_types
        node = node or others.get(span)
        names = () if node is None else tuple(called.of_text(node))
        yield _Text(*span, names, tuple(_parts(source, one)))


def _by_span(source: Source) -> dict[tuple[int, int], Syntax]:
    return {(n.start, n.end): n for n in source.of_kinds("string", "template_string")}


def _parts(source: Source, node: Node) -> Iterator[str]:
    """The text of a node; what stands around substitutions, each part of its own."""
    inside = source.data[node.start_byte : node.end_byte].decode("utf-8", "replace")
    if node.type == "regex":
        yield inside
        return
    for start, end in _static_spans(node):
        text = source.data[start:end].decode("utf-8", "replace")
        yield unescape(text.replace("\r\n", "\n"))


def _static_spans(node: Node) -> Iterator[tuple[int, int]]:
    start = node.start_byte + 1
    for child in node.children:
        if child.type in {"template_substitution", "template_type"}:
            yield start, child.start_byte
            start = child.end_byte
    yield start, node.end_byte - 1


def _lifted(lifted: Iterable[Lifted], naming: Naming) -> Iterator[_Text]:
    for one in lifted:
        called = [step for step in one.place if isinstance(step, str)]
        names = (*called, *naming.of(one.node))
        yield _Text(one.node.start, one.node.end, names, (one.value,))


def _numbers(source: Source) -> Iterator[_Text]:
    for node in source.of_kinds("number"):
        yield _Text(node.start, node.end, (), (str(number_value(source.text(node))),))


def _tokens_in_code(source: Source) -> list[int]:
    """Where a token of a known format stands as a name, a property or a type."""
    code = bytearray(source.data)
    for one in _captured(source, "text"):
        for start, end in _static_spans(one):
            code[start:end] = re.sub(rb"[^\n]", b" ", code[start:end])
    for one in comments(source):
        start, end = one.start_byte, one.end_byte
        code[start:end] = re.sub(rb"[^\n]", b" ", code[start:end])
    text = code.decode("utf-8", "replace")
    at = known_token(text)
    if at is None and "\\" in text:
        text = unescape(text)
        at = known_token(text)
    if at is None:
        return []
    line = text.count("\n", 0, at)
    return [sum(len(row) + 1 for row in source.data.split(b"\n")[:line])]


def _secret_in(names: Iterable[str], value: Any) -> Iterator[str]:  # noqa: ANN401  # any JSON
    """What is secret of a value with these names."""
    if value is None or isinstance(value, bool) or (isinstance(value, str) and _is_mark(value)):
        return
    if any(map(sensitive_key, names)):
        yield from _leaves(value)
    else:
        yield from _masked_in(value, redact(value))


def _masked_in(value: Any, redacted: Any) -> Iterator[str]:  # noqa: ANN401  # any JSON
    """The texts for which a mask stands."""
    if isinstance(value, str) and isinstance(redacted, str):
        yield from _pieces(value, redacted)
    elif isinstance(value, dict) and isinstance(redacted, dict):
        for key, item in value.items():
            yield from _masked_in(item, redacted.get(key))
    elif isinstance(value, list) and isinstance(redacted, list):
        for item, after in zip(value, redacted, strict=True):
            yield from _masked_in(item, after)
    elif redacted == MASK:
        yield from _leaves(value)


def _pieces(value: str, redacted: str) -> Iterator[str]:
    """What of a text is masked: what stands between the parts that are left of it."""
    if value == redacted:
        return
    around = redacted.split(MASK)
    at = len(around[0])
    for part in around[1:]:
        end = value.find(part, at + 1) if part else len(value)
        end = len(value) if end < 0 else end
        yield value[at:end]
        at = end + len(part)


def _leaves(value: Any) -> Iterator[str]:  # noqa: ANN401  # any JSON
    """The texts in a value that is masked as a whole; short ones may be anything."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        for item in inner:
            yield from (leaf for leaf in _leaves(item) if len(leaf) >= _CONTAINED_CHARS)
        yield ""  # it is masked whatever it holds
    else:
        yield str(value)


def _is_mark(text: str) -> bool:
    """Whether a text is a separator or nothing at all, which a parser compares tokens with."""
    return len(text) < _CONTAINED_CHARS and not any(char.isalnum() for char in text)
