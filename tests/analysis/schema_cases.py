"""JSON Schemas together with values that are valid for them, and some that are not.

`jsonschema_rs` says which is which; the grammar keeps to what TypeScript can express, so that
it has to say the same.
"""

from typing import Any

import jsonschema_rs
from hypothesis import strategies as st

Schema = dict[str, Any]
NAMES = st.sampled_from(["a", "b", "kind", "a-b", "1", "new", "get", "", "é", "readonly", 'q"'])
TEXTS = st.sampled_from(["", "x", "two words", "*/", "\u2028", 'q"', "${x}"])
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | TEXTS
DEFS: Schema = {
    "Tree": {
        "type": "object",
        "properties": {
            "v": {"type": ["string", "null"]},
            "kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        },
        "required": ["v"],
    },
    "Json": {
        "anyOf": [
            {"type": ["string", "boolean", "null"]},
            {"type": "array", "items": {"$ref": "#/$defs/Json"}},
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/Json"}},
        ]
    },
    "Name": {"type": "string"},
}
REFERENCES = st.sampled_from([{"$ref": f"#/$defs/{name}"} for name in DEFS])
PLAIN = st.one_of(
    st.sampled_from(["string", "number", "boolean", "null"]).map(lambda name: {"type": name}),
    st.just({"type": ["number", "null"]}),
    st.lists(SCALARS, min_size=1, max_size=4).map(lambda values: {"enum": values}),
    SCALARS.map(lambda value: {"const": value}),
    st.lists(SCALARS, max_size=2).map(lambda value: {"const": value}),
    st.just({"type": "object"}),
    st.just({"type": "array"}),
    st.just({}),
    REFERENCES,
)


@st.composite
def _objects(draw: st.DrawFn, inner: st.SearchStrategy[Schema], *, others: bool) -> Schema:
    properties = draw(st.dictionaries(NAMES, inner, min_size=1, max_size=4))
    needed = draw(st.lists(st.sampled_from(list(properties)), unique=True))
    made: Schema = {"type": "object", "properties": properties, "required": needed}
    if others and draw(st.booleans()):
        made["additionalProperties"] = draw(inner | st.booleans())
    return made


@st.composite
def _tuples(draw: st.DrawFn, inner: st.SearchStrategy[Schema]) -> Schema:
    firsts = draw(st.lists(inner, min_size=1, max_size=3))
    needed = draw(st.integers(0, len(firsts)))
    rest = draw(st.just(False) | inner)
    return {"type": "array", "prefixItems": firsts, "minItems": needed, "items": rest}


def schemas(*, others: bool) -> st.SearchStrategy[Schema]:
    """Schemas; with ``others``, some that TypeScript can express only in part."""

    def grown(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
        exact = (
            inner.map(lambda item: {"type": "array", "items": item}),
            inner.map(lambda value: {"type": "object", "additionalProperties": value}),
            _tuples(inner),
            _objects(inner, others=others),
            st.lists(inner, min_size=2, max_size=3).map(lambda options: {"anyOf": options}),
        )
        wider = (
            st.lists(inner, min_size=2, max_size=3).map(lambda options: {"oneOf": options}),
            st.lists(inner, min_size=2, max_size=2).map(lambda parts: {"allOf": parts}),
            inner.map(lambda inner: {**inner, "allOf": [inner]}),
            inner.map(lambda value: {"type": "object", "patternProperties": {"^x": value}}),
            st.just({"type": "integer", "minimum": 0, "format": "int32", "default": 1}),
        )
        return st.one_of(*exact, *(wider if others else ()))

    return st.recursive(PLAIN, grown, max_leaves=6)


def whole(schema: Schema) -> Schema:
    """The schema as a root, with what its references lead to."""
    return {"type": "object", "properties": {"x": schema}, "required": ["x"], "$defs": DEFS}


def allows(schema: Schema, value: object) -> bool:
    return jsonschema_rs.is_valid(whole(schema), {"x": value})


def values_of(schema: Schema, level: int = 4) -> st.SearchStrategy[Any]:
    """Values for the schema, mostly valid: `allows` has the last word."""
    if "$ref" in schema:
        return values_of(DEFS[schema["$ref"].rpartition("/")[2]], level - 1)
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return st.one_of([values_of(option, level) for option in options])
    if "allOf" in schema and "type" not in schema:
        return _all_of([values_of(part, level) for part in schema["allOf"]])
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum", [schema.get("const")]))
    kind = schema.get("type")
    if isinstance(kind, list):
        return st.one_of([values_of({**schema, "type": one}, level) for one in kind])
    return _typed(kind, schema, level)


def _typed(kind: object, schema: Schema, level: int) -> st.SearchStrategy[Any]:
    if kind == "array":
        return _arrays(schema, level)
    if kind == "object":
        return _values_of_object(schema, level)
    known: dict[object, st.SearchStrategy[Any]] = {
        "string": TEXTS,
        "number": st.integers(-5, 5) | st.just(0.5),
        "integer": st.integers(0, 5),
        "boolean": st.booleans(),
        "null": st.none(),
    }
    return known.get(kind, SCALARS)


@st.composite
def _all_of(draw: st.DrawFn, parts: list[st.SearchStrategy[Any]]) -> Any:  # noqa: ANN401
    drawn = [draw(part) for part in parts]
    if all(isinstance(value, dict) for value in drawn):
        return {name: inner for value in drawn for name, inner in value.items()}
    return drawn[0]


@st.composite
def _arrays(draw: st.DrawFn, schema: Schema, level: int) -> list[Any]:
    firsts = schema.get("prefixItems", [])
    size = draw(st.integers(schema.get("minItems", 0), len(firsts)))
    made = [draw(values_of(first, level - 1)) for first in firsts[:size]]
    rest = schema.get("items", {})
    if size == len(firsts) and rest is not False and level > 0:
        made += draw(st.lists(values_of(rest, level - 1), max_size=2))
    return made


@st.composite
def _values_of_object(draw: st.DrawFn, schema: Schema, level: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, inner in schema.get("properties", {}).items():
        if name in schema.get("required", ()) or (level > 0 and draw(st.booleans())):
            made[name] = draw(values_of(inner, level - 1))
    rest = schema.get("additionalProperties", "properties" not in schema)
    patterns = list(schema.get("patternProperties", {}).values())
    if patterns:
        rest = patterns[0]
    if rest is not False and level > 0:
        inner = values_of({} if rest is True else rest, level - 1)
        made |= draw(st.dictionaries(st.sampled_from(["x1", "x-2"]), inner, max_size=2))
    return made


JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=4,
)


@st.composite
def cases(draw: st.DrawFn, *, exact: bool) -> tuple[Schema, list[Any], list[Any]]:
    """A schema, values that it allows and, where it is exact, values that it does not."""
    schema = draw(schemas(others=not exact))
    good = draw(st.lists(values_of(schema), min_size=1, max_size=3))
    bad = draw(st.lists(JSON, max_size=3)) if exact else []
    return (
        schema,
        [value for value in good if allows(schema, value)],
        [value for value in bad if not allows(schema, value)],
    )
