"""The formats that PML stores and returns, as JSON Schemas (dialect 2020-12), by version."""

import json
from importlib.resources import files
from typing import Any

FORMATS = (
    "static-structure",
    "run-log-record",
    "trace",
    "execute-response",
    "permissions",
    "explicit-dag",
    "event",
    "evaluation",
)
"""Names of the formats of version 1."""


def schema(name: str) -> dict[str, Any]:
    """The committed JSON Schema of a format; it holds references only into itself.

    Raises:
        ValueError: there is no such format.
    """
    if name not in FORMATS:
        msg = f"unknown format {name!r}: one of {', '.join(FORMATS)}"
        raise ValueError(msg)
    text = (files(__name__) / "v1" / f"{name}.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
