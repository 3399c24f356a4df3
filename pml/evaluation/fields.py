"""Names of a schema's fields, as the floors compare them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any


def field_names(schema: Mapping[str, Any] | None) -> frozenset[str]:
    """Names of a schema's properties, without case and punctuation.

    What has no ``properties`` is read as if it were them: some sets write schemas so.
    """
    properties = (schema or {}).get("properties", schema)
    names: Iterable[str] = properties if isinstance(properties, Mapping) else ()
    return frozenset(re.sub(r"[^a-z0-9]", "", name.lower()) for name in names)
