"""What every travelling record has in common: frozen, typed, and one JSON form.

A record is the noun *and* its wire format: `encode` gives the camelCase JSON of the
seeds, `decode` rejects unknown keys and wrong types with the path of the offending field.
Why `msgspec.Struct` and not a dataclass plus a codec: docs/decisions/0001.
"""

from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec

JsonText: TypeAlias = str
"""One JSON value as text.  Kept as text where it must stay exact (design, section 5, rule 8)."""

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
"""How many, or a number that counts from 0."""
Ordinal: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
"""A number that counts from 1."""
Duration: TypeAlias = Annotated[float, msgspec.Meta(ge=0)]
"""A span of time; its unit is in the field's name."""

RecordT = TypeVar("RecordT")


class Record(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """Base of the records; a field that holds its default is absent from the JSON.

    Subclasses repeat ``frozen=True, kw_only=True``: type checkers do not inherit them.
    """


def encode(record: object) -> bytes:
    """The record as UTF-8 JSON text."""
    return msgspec.json.encode(record)


def to_builtins(record: object) -> Any:  # noqa: ANN401  # JSON: dicts, lists and scalars
    """The record as dicts, lists and scalars, keys in camelCase."""
    return msgspec.to_builtins(record)


def decode(kind: type[RecordT], text: bytes | str) -> RecordT:
    """Read a record.

    Raises:
        msgspec.ValidationError: a field is missing, unknown or of the wrong type.
        msgspec.DecodeError: the text is not JSON.
    """
    return msgspec.json.decode(text, type=kind)
