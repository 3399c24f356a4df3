"""A value that satisfies a JSON Schema: always the same one, and checked (EX-6, XP-2).

Candidates are made keyword by keyword, the likeliest first, and a validator takes the first that
it finds valid; so keywords that nobody can build by hand (``not``, ``if``, ``oneOf``) only cost
tries.  No library does this: hypothesis-jsonschema draws at random and knows drafts to 07, jsf
promises no validity.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any, Final

import jsonschema_rs

from pml.analysis.merged_schema import merged, resolved

_TRIES = 200
"""Candidates for the whole value."""
_TRIES_WITHIN = 6
"""Candidates for each part."""
_PARTS = 2_000
"""Parts of schemas that are looked at, alternatives and references included."""
_FULL_DEPTH = 4
"""Deeper, objects hold what is required and arrays as little as they may."""
_DEEPEST = 24
"""Beyond, no value is looked for."""
_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
_TELLING = {
    "properties": "object",
    "required": "object",
    "additionalProperties": "object",
    "items": "array",
    "prefixItems": "array",
    "minItems": "array",
    "minLength": "string",
    "pattern": "string",
    "format": "string",
    "minimum": "number",
    "maximum": "number",
    "multipleOf": "number",
}
"""The type that a keyword speaks of."""
_FORMATS = {
    "date-time": "2000-01-01T00:00:00Z",
    "date": "2000-01-01",
    "time": "00:00:00Z",
    "duration": "P1D",
    "email": "mocked@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uri-reference": "/mocked",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "json-pointer": "/mocked",
}
_TEXTS = ("a", "A", "0", "00", "a0", "A1", "1.0.0", "0000000", "#000000", "en", "en-US", "a@b.cd")
"""Tried where a pattern refuses everything else."""
ABSENT: Final = object()
"""No value was found."""


def sample(schema: Mapping[str, Any], name: str = "value") -> Any:  # noqa: ANN401  # JSON
    """A value of the schema, or `ABSENT` where none was found or the schema cannot be used.

    Args:
        schema: of any draft; references that lead out of it are not followed.
        name: what texts in the value speak of.
    """
    try:
        validator = jsonschema_rs.validator_for(dict(schema), offline=True)
    except (ValueError, jsonschema_rs.ReferencingError):
        return ABSENT
    for value in islice(_Sampler(schema).values(schema, name, 0), _TRIES):
        if validator.is_valid(value):
            return value
    return ABSENT


class _Sampler:
    """Makes candidates for the parts of one schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._parts = 0

    def values(self, schema: object, name: str, depth: int) -> Iterator[Any]:
        """Candidates, the likeliest first; perhaps none."""
        self._parts += 1
        if schema is False or self._parts > _PARTS or depth > _DEEPEST:
            return
        found = resolved(self._root, schema if isinstance(schema, Mapping) else {})
        if found is None:
            return
        told = _told(found)
        if told is not None:
            yield from told
            return
        yield from _listed(found.get("examples"))
        yield from (found["default"],) if "default" in found else ()
        for keyword in ("anyOf", "oneOf"):
            if options := _listed(found.get(keyword)):
                rest = {key: value for key, value in found.items() if key != keyword}
                for option in options:
                    yield from islice(self._within(rest, option, name, depth), _TRIES_WITHIN)
                return
        for kind in _kinds(found):
            yield from self._of_kind(kind, found, name, depth)

    def _within(
        self, rest: Mapping[str, Any], option: object, name: str, depth: int
    ) -> Iterator[Any]:
        if isinstance(option, Mapping):
            found = resolved(self._root, option)
            if found is not None:
                yield from self.values(merged(rest, found), name, depth)
        elif option is not False:
            yield from self.values(rest, name, depth)

    def _of_kind(
        self, kind: str, schema: Mapping[str, Any], name: str, depth: int
    ) -> Iterator[Any]:
        makers: dict[str, Callable[[], Iterator[Any]]] = {
            "object": lambda: self._objects(schema, depth),
            "array": lambda: self._arrays(schema, name, depth),
            "string": lambda: _texts(schema, name),
            "integer": lambda: _numbers(schema, whole=True),
            "number": lambda: _numbers(schema, whole=False),
            "boolean": lambda: iter((True, False)),
            "null": lambda: iter((None,)),
        }
        yield from makers[kind]() if kind in makers else ()

    def _some(self, schema: object, name: str, depth: int) -> list[Any]:
        return list(islice(self.values(schema, name, depth + 1), _TRIES_WITHIN))

    # -- objects ---------------------------------------------------------------------

    def _objects(self, schema: Mapping[str, Any], depth: int) -> Iterator[Any]:
        required = [name for name in _listed(schema.get("required")) if isinstance(name, str)]
        known = schema.get("properties")
        known = known if isinstance(known, Mapping) else {}
        names = dict.fromkeys([*(known if depth < _FULL_DEPTH else ()), *required])
        choices: dict[str, list[Any]] = {}
        for name in names:
            choices[name] = self._some(self._member(schema, known, name), name, depth)
            if not choices[name]:
                del choices[name]
                if name in required:
                    return
        choices |= self._fillers(schema, choices, depth)
        full = {name: found[0] for name, found in choices.items()}
        most = _count(schema.get("maxProperties"), len(full))
        optional = [name for name in full if name not in required]
        left_out = set(optional[max(0, most - len(full) + len(optional)) :])
        first = {name: value for name, value in full.items() if name not in left_out}
        yield first
        yield {name: value for name, value in full.items() if name in required}
        for name in first:
            for other in choices[name][1:]:
                yield {**first, name: other}

    def _member(self, schema: Mapping[str, Any], known: Mapping[str, Any], name: str) -> object:
        """The schema of a member; False where there may be none of that name."""
        parts = [known[name]] if name in known else []
        patterns = schema.get("patternProperties")
        for pattern, part in (patterns if isinstance(patterns, Mapping) else {}).items():
            if _matches(pattern, name):
                parts.append(part)
        if not parts:
            return schema.get("additionalProperties", {})
        return parts[0] if len(parts) == 1 else {"allOf": parts}

    def _fillers(
        self, schema: Mapping[str, Any], choices: Mapping[str, list[Any]], depth: int
    ) -> dict[str, list[Any]]:
        """Members that only ``minProperties`` asks for."""
        missing = _count(schema.get("minProperties"), 0) - len(choices)
        names = (name for name in (f"more{n}" for n in count(1)) if name not in choices)
        found = {}
        for name in islice(names, max(0, min(missing, _PARTS))):
            if more := self._some(self._member(schema, {}, name), name, depth):
                found[name] = more
        return found

    # -- arrays ----------------------------------------------------------------------

    def _arrays(self, schema: Mapping[str, Any], name: str, depth: int) -> Iterator[Any]:
        items = schema.get("items", {})
        firsts = _listed(schema.get("prefixItems")) or (items if isinstance(items, list) else [])
        if isinstance(items, list):
            items = schema.get("additionalItems", {})
        least = _count(schema.get("minItems"), 0)
        most = _count(schema.get("maxItems"), max(least, len(firsts), 1))
        usual = min(most, max(least, len(firsts), 1 if depth < _FULL_DEPTH else 0))
        made = [self._some(part, name, depth) for part in firsts[:usual]]
        if any(not found for found in made):
            return
        found = [options[0] for options in made]
        if "contains" in schema and len(found) < max(usual, 1):
            found += self._some(schema["contains"], name, depth)[:1]
        need = usual - len(found)
        if need > 0:
            found += self._items(items, name, need, depth, unique=schema.get("uniqueItems") is True)
        if len(found) >= least:
            yield found
        if least == 0 and found:
            yield []

    def _items(
        self, schema: object, name: str, need: int, depth: int, *, unique: bool
    ) -> Sequence[Any]:
        if unique:
            found: list[Any] = []
            for value in self.values(schema, name, depth + 1):
                if not any(value == other and type(value) is type(other) for other in found):
                    found.append(value)
                if len(found) == need:
                    break
            return found
        first = self._some(schema, name, depth)[:1]
        return first * min(need, _PARTS)


def _told(schema: Mapping[str, Any]) -> list[Any] | None:
    """The values that the schema lists, where it lists all that there are."""
    if "const" in schema:
        return [schema["const"]]
    return _listed(schema["enum"]) if "enum" in schema else None


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    """The types that a value may have; null last."""
    said = schema.get("type")
    if isinstance(said, str):
        return [said]
    if isinstance(said, list):
        return sorted((kind for kind in said if kind in _TYPES), key=lambda kind: kind == "null")
    told = [kind for keyword, kind in _TELLING.items() if keyword in schema]
    others = [kind for kind in ("string", *_TYPES) if kind not in told]
    return list(dict.fromkeys([*told, *others]))


def _texts(schema: Mapping[str, Any], name: str) -> Iterator[str]:
    least, pattern = _count(schema.get("minLength"), 0), schema.get("pattern")
    most = _count(schema.get("maxLength"), max(least, 1_000))
    of_format = _FORMATS.get(str(schema.get("format")))
    plain = [of_format] if of_format else []
    plain += [f"mocked {name}", *(f"mocked {name} {n}" for n in range(2, 60))]
    for text in [*plain, *_TEXTS] if isinstance(pattern, str) else plain:
        fitting = text[:most].ljust(min(least, 100_000), "x")
        if not isinstance(pattern, str) or _matches(pattern, fitting):
            yield fitting


def _numbers(schema: Mapping[str, Any], *, whole: bool) -> Iterator[float]:
    low = _bound(schema, "minimum", "exclusiveMinimum")
    high = _bound(schema, "maximum", "exclusiveMaximum")
    said = schema.get("multipleOf")
    step = said if isinstance(said, int | float) and said > 0 else 1
    first = low
    if first is None:
        first = 1 if high is None or high >= 1 else high - 2 * step
    start = math.ceil(first / step)
    numbers = [(start + n) * step for n in range(60)]
    if not whole and said is None:
        numbers.insert(2, first + (0.5 if high is None else (high - first) / 2))
    if low is None and high is None:
        numbers.insert(3, -step)
    for number in numbers:
        yield int(number) if float(number).is_integer() else number


def _bound(schema: Mapping[str, Any], inclusive: str, exclusive: str) -> float | None:
    found = [schema.get(inclusive), schema.get(exclusive)]
    numbers = [n for n in found if isinstance(n, int | float) and not isinstance(n, bool)]
    if not numbers:
        return None
    return max(numbers) if inclusive == "minimum" else min(numbers)


def _count(value: object, default: int) -> int:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else default


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _matches(pattern: str, text: str) -> bool:
    """Whether the validator finds the pattern in the text; in its words, and in bounded time."""
    try:
        return jsonschema_rs.is_valid({"pattern": pattern}, text)
    except ValueError:  # no pattern: the validator of the whole has the last word
        return True
