"""The fields of a tool: what it takes, and what it gives as far as anything says so."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import NamedTuple

from pml.analysis.fields.lexicon import CARRIERS, PREPOSITIONS
from pml.analysis.fields.names import Phrase, qualified, tokens
from pml.analysis.fields.plain import Schema, plain, properties, type_of
from pml.domain.tools import Tool

MAX_DEPTH = 4
"""Deeper fields of a schema are left out; real ones lie less deep."""
MAX_FIELDS = 200
"""Fields of one side of a tool that are looked at, in the schema's order."""


class Origin(IntEnum):
    """Where an output is known from, the surest first."""

    SCHEMA = 0
    NAME = 1
    """The tool's name says so: ``get_city_code``."""
    DESCRIPTION = 2
    """Its description says so: "as latitude and longitude"."""
    IDENTITY = 3
    """What reads or makes a thing knows its id: ``create_user``."""


@dataclass(frozen=True, slots=True)
class Shape:
    """All of a field that matching looks at; fields of one shape match the same fields."""

    words: tuple[str, ...]
    """Tokens of its own name."""
    context: tuple[str, ...] = ()
    """Nouns of the object that it belongs to: the parent field's, else the tool's."""
    type: str = ""
    """JSON type, empty if unknown; of an array, that of its items."""
    format: str = ""
    enum: frozenset[str] = frozenset()
    origin: Origin = Origin.SCHEMA
    echo: bool = False
    """Of an output: the tool takes a field of the same name."""
    verb: str = ""
    """Of an output: the class of the tool's verb."""
    source: bool = False
    """Of an output: the tool takes nothing."""
    many: bool = False
    """It is an array, or lies in one."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a tool."""

    path: str
    """``owner.email``, ``items[].id``; of an output that no schema declares, its name."""
    shape: Shape
    required: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a tool takes and gives."""

    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]


def signature(tool: Tool) -> Signature:
    """The fields of a tool."""
    phrase = Phrase(tool.name)
    inputs = tuple(_inputs(tool, phrase))
    taken = {field.shape.words for field in inputs}
    declared = tuple(islice(_declared(tool, phrase, taken), MAX_FIELDS))
    named = {qualified(field.shape.words, field.shape.context) for field in declared}
    inferred: dict[tuple[str, ...], Field] = {}
    for field in _inferred(tool, phrase, taken, declared=tool.result_schema is not None):
        if field.shape.words not in named:
            inferred.setdefault(field.shape.words, field)
    return Signature(inputs, (*declared, *inferred.values()))


def _inputs(tool: Tool, phrase: Phrase) -> Iterator[Field]:
    """The top level only: that is what a call passes."""
    root = plain(tool.input_schema, tool.input_schema)
    needed = root.get("required")
    required = set(map(str, needed)) if isinstance(needed, list) else set()
    for name, schema in properties(root, tool.input_schema)[:MAX_FIELDS]:
        kind, many = type_of(schema, tool.input_schema)
        shape = Shape(
            words=tokens(name),
            context=phrase.nouns,
            type=kind,
            format=_text(schema, "format"),
            enum=_enum(schema),
            many=many,
        )
        yield Field(name, shape, name in required, _text(schema, "description"))


def _declared(tool: Tool, phrase: Phrase, taken: set[tuple[str, ...]]) -> Iterator[Field]:
    """Fields as code sees them: without the wrapper that the SDK puts around other than objects."""
    root = tool.result_schema
    if root is None:
        return
    around = _Around(root, phrase.verb, taken)
    schema = plain(root, root)
    inside = dict(properties(schema, root)).get("result")
    if inside is not None and tool.wraps_result():
        schema = inside
    yield from _nested(schema, "", phrase.nouns, around, 0, many=False)


class _Around(NamedTuple):
    """What is the same for all fields of one result."""

    root: Schema
    verb: str
    taken: set[tuple[str, ...]]


def _nested(
    schema: Schema,
    path: str,
    context: tuple[str, ...],
    around: _Around,
    depth: int,
    *,
    many: bool,
) -> Iterator[Field]:
    """Fields at every level; those of array items with ``[]`` in the path."""
    if depth > MAX_DEPTH:
        return
    items = schema.get("items")
    if isinstance(items, dict):
        inner = plain(items, around.root)
        yield from _nested(inner, f"{path}[]", context, around, depth + 1, many=True)
    for name, inner in properties(schema, around.root):
        here = f"{path}.{name}" if path else name
        kind, several = type_of(inner, around.root)
        words = tokens(name)
        shape = Shape(
            words=words,
            context=context,
            type=kind,
            format=_text(inner, "format"),
            enum=_enum(inner),
            echo=words in around.taken,
            verb=around.verb,
            source=not around.taken,
            many=many or several,
        )
        yield Field(here, shape, description=_text(inner, "description"))
        within = tuple(word for word in words if word not in CARRIERS) or context
        yield from _nested(inner, here, within, around, depth + 1, many=many)


_LISTED = re.compile(r"(?:\bas|e\.g\.,?|including|like|namely|containing|contains)\s([^.;()]+)")
_RETURNED = re.compile(
    r"(?:returns?|retrieves?|provides?|fetch(?:es)?|gets?|gives?|yields?|generates?|creates?"
    r"|calculates?|computes?|finds?|lists?|determines?)\s+(?:an?\s|the\s|all\s|its\s|their\s)*"
    r"([\w\-]+(?:[ \-][\w\-]+){0,3})",
    re.IGNORECASE,
)
_STOPS = PREPOSITIONS | {"that", "which", "based", "given", "whether", "if", "is", "are", "when"}
_MOST_PHRASES = 12
_MOST_WORDS = 4
"""Longer phrases are no names."""
_EDGE_CHARS = 400
"""Of a description: what it returns stands at its beginning."""


def _inferred(
    tool: Tool, phrase: Phrase, taken: set[tuple[str, ...]], *, declared: bool
) -> Iterator[Field]:
    """Outputs that no schema declares, by what name and description say of the result."""
    nouns = phrase.nouns
    if nouns and phrase.verb != "drop":
        if not declared:
            yield _said(nouns, nouns, Origin.NAME, phrase, taken)
        if nouns[-1] != "id":
            yield _said((*nouns, "id"), nouns, Origin.IDENTITY, phrase, taken)
    if phrase.verb == "login":
        yield _said(("session", "id"), nouns, Origin.IDENTITY, phrase, taken)
    if not declared:
        for words in _spoken(tool.description):
            yield _said(words, nouns, Origin.DESCRIPTION, phrase, taken)


def _said(
    words: tuple[str, ...],
    context: tuple[str, ...],
    origin: Origin,
    phrase: Phrase,
    taken: set[tuple[str, ...]],
) -> Field:
    shape = Shape(
        words=words,
        context=context,
        origin=origin,
        echo=words in taken,
        verb=phrase.verb,
        source=not taken,
    )
    return Field("_".join(words), shape)


def _spoken(description: str) -> Iterator[tuple[str, ...]]:
    """Noun phrases of the result in a description."""
    text = description[:_EDGE_CHARS]
    found = [match.group(1) for match in _RETURNED.finditer(text)]
    for match in _LISTED.finditer(text):
        found += re.split(r",|\band\b|\bor\b", match.group(1))
    for words in found[:_MOST_PHRASES]:
        kept: list[str] = []
        for word in tokens(words):
            if word in _STOPS:
                if kept:
                    break
            else:
                kept.append(word)
        if 0 < len(kept) <= _MOST_WORDS:
            yield tuple(kept)


def _text(schema: Schema, key: str) -> str:
    found = schema.get(key)
    return found if isinstance(found, str) else ""


def _enum(schema: Schema) -> frozenset[str]:
    found = schema.get("enum")
    return frozenset(map(str, found)) if isinstance(found, list) else frozenset()
