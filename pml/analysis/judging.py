"""What is certainly wrong with the arguments of a call, by the tool's input schema (SA-7).

Values are judged as far as they are known before the program runs.  Whatever a server may check
beyond its schema, or whatever its schema says that no validator understands, it checks itself.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import jsonschema_rs

from pml.analysis.expected import expectation, kind_of, shown, types_of
from pml.analysis.partial import Partial, partial_arguments
from pml.analysis.patterns import Path
from pml.analysis.schemas import properties, required, unlisted
from pml.analysis.syntax import FUNCTIONS, Source, Syntax, bare
from pml.analysis.typescript import key
from pml.domain.nearest import nearest
from pml.domain.structure import SPREAD, Argument, Literal
from pml.domain.tools import Tool

_VIOLATIONS = 20
"""Told per call: one wrong list has as many as elements."""
_NAMES = 12
_KINDS = {
    "string": "a string",
    "template_string": "a string",
    "number": "a number",
    "array": "an array",
    "true": "a boolean",
    "false": "a boolean",
    "null": "null",
}
"""Literals that are no objects, by what they are."""
_OF_WHAT_IS_WRITTEN = frozenset({"type", "additionalProperties", "maxItems", "maxProperties"})
"""Keywords that hold or not whatever else a value holds, and whatever lies in it."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong: where in the arguments, and a sentence."""

    code: str
    place: Path
    message: str
    certain: bool = True
    """False for formats, which servers read in their own way, and for what a schema leaves open."""


_VALIDATORS = 2_000
"""Of tools that programs use: making one takes as long as parsing ten lines."""


class _Validators:
    """The validators of tools that are called again and again, each made once.

    Tools are told apart by identity, as in `pml.analysis.fields.mapping.Sides`.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Tool, Any]] = {}

    def of(self, tool: Tool) -> Any:  # noqa: ANN401  # the library has a class per draft
        """None where the schema is unusable; that the tool is kept keeps its number its own."""
        found = self._known.get(id(tool))
        if found is None or found[0] is not tool:
            while len(self._known) >= _VALIDATORS:
                self._known.pop(next(iter(self._known)), None)
            found = self._known[id(tool)] = tool, _validator(tool)
        return found[1]


_MADE = _Validators()


def _validator(tool: Tool) -> Any:  # noqa: ANN401
    try:
        return jsonschema_rs.validator_for(tool.input_schema, offline=True, validate_formats=True)
    except (ValueError, jsonschema_rs.ReferencingError):
        return None  # the server's schema is unusable: the server itself will judge


class Judge:
    """Judges the calls of one source."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def violations(
        self, tool: Tool, written: list[Syntax], known: Mapping[str, Argument]
    ) -> Iterator[Violation]:
        """What is wrong with the arguments as they are written, ``known`` as analysis sees them."""
        if any(one.kind == "spread_element" for one in written):
            return  # how many there are, and which is the first, is not known
        kind = _no_object(written, known)
        if kind:
            message = f"{tool.id} takes one object with its arguments, not {kind}: "
            yield Violation("bad-argument", (), message + _to_write(tool, len(written)))
            return
        if len(written) > 1:
            message = f"{tool.id} takes one object, and no other argument is sent: "
            message += _to_write(tool, len(written))
            yield Violation("doubtful-argument", (), message, certain=False)
        given = partial_arguments(self._source, written, known)
        if given is not None:
            yield from islice(self._judged(tool, given), _VIOLATIONS)
            for name in unlisted(tool.input_schema, given.value)[:_NAMES]:
                known_names = list(properties(tool.input_schema))
                message = f"{tool.id} lists no argument {name!r}"
                message += _alternatives(name, known_names)
                yield Violation("doubtful-argument", (name,), message, certain=False)

    def _judged(self, tool: Tool, given: Partial) -> Iterator[Violation]:
        validator = _MADE.of(tool)
        if validator is None:
            return
        for error in validator.iter_errors(given.value):
            place = tuple(error.instance_path)
            if given.hides(place):
                continue
            name = error.kind.name
            if name == "required":
                if place not in given.open:
                    yield _missing(tool, place, error)
            elif name in {"additionalProperties", "unevaluatedProperties"}:
                yield from _unexpected(tool, place, error)
            elif name in _OF_WHAT_IS_WRITTEN or place not in given.touched:
                yield _wrong(tool, place, error)


def _no_object(written: list[Syntax], known: Mapping[str, Argument]) -> str:
    """What the first argument is, if it certainly is no object; else empty."""
    first = bare(written[0]) if written else None
    whole = known.get(SPREAD)
    if first is None or first.kind == "object":
        return ""
    if first.kind in FUNCTIONS:
        return "a function"
    if len(written) == 1 and isinstance(whole, Literal):
        return kind_of(whole.value)
    return _KINDS.get(first.kind, "")


def _to_write(tool: Tool, arguments: int) -> str:
    """The one object as the tool's schema has it, its values left out."""
    known = properties(tool.input_schema)
    needed = required(tool.input_schema)
    names = [name for name in known if name in needed]
    names += [name for name in known if name not in needed][: max(0, arguments - len(names))]
    shown = ", ".join(f"{key(name)}: ..." for name in names[:_NAMES])
    return f"write ({{ {shown or 'name: value'} }})"


def _missing(tool: Tool, place: Path, error: jsonschema_rs.ValidationError) -> Violation:
    name = error.kind.as_dict()["property"]
    schema = _schema_at(tool, place)
    types = types_of(properties(schema).get(name))
    expected = f" ({types})" if types else ""
    strange = unlisted(schema, error.instance)[:_NAMES]
    if strange:
        expected += f", and knows no {' and no '.join(map(repr, strange))}"
    if not place:
        return Violation("missing-argument", (), f"{tool.id} needs the argument {name!r}{expected}")
    message = f"{_named(tool, place)} needs the field {name!r}{expected}"
    return Violation("bad-argument", place, message)


def _unexpected(
    tool: Tool, place: Path, error: jsonschema_rs.ValidationError
) -> Iterator[Violation]:
    known = list(properties(_schema_at(tool, place)))
    for name in error.kind.as_dict()["unexpected"]:
        message = (
            f"{_named(tool, place)} has no field {name!r}"
            if place
            else f"{tool.id} has no argument {name!r}"
        )
        yield Violation("bad-argument", (*place, name), message + _alternatives(name, known))


def _alternatives(name: str, known: list[str]) -> str:
    near = nearest(name, known)
    if near:
        return f"; did you mean {' or '.join(map(repr, near))}?"
    more = ", ..." if len(known) > _NAMES else ""
    return f"; it has {', '.join(known[:_NAMES])}{more}" if known else "; it has none"


def _wrong(tool: Tool, place: Path, error: jsonschema_rs.ValidationError) -> Violation:
    is_format = error.kind.name == "format"
    code = "doubtful-argument" if is_format else "bad-argument"
    expected = expectation(error)
    where = _named(tool, place) if place else f"the argument of {tool.id}"
    if expected is None:
        return Violation(code, place, f"{where}: {error.message}", certain=not is_format)
    value = error.instance
    found = kind_of(value) if error.kind.name == "type" else shown(value)
    simple = error.kind.name == "type" and not isinstance(value, dict | list | None)
    is_what = f"{shown(value)}, {found}" if simple else found
    return Violation(code, place, f"{where} is {is_what}: it {expected}", certain=not is_format)


def _named(tool: Tool, place: Path) -> str:
    first, *rest = place
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in rest)
    return f"argument {first}{steps} of {tool.id}"


def _schema_at(tool: Tool, place: Path) -> dict[str, Any]:
    """The schema of a place as far as it is written out; empty where it is not."""
    schema: Any = tool.input_schema
    for step in place:
        inner = schema.get("items") if isinstance(step, int) else properties(schema).get(str(step))
        if not isinstance(inner, dict):
            return {}
        schema = inner
    return schema if isinstance(schema, dict) else {}
