"""Named queries from ``sql/*.sql``: a query starts at ``-- name: NAME``.

``{columns}`` stands for columns that are named as a record's fields are.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

_FILES = Path(__file__).parent / "sql"
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def queries(noun: str, columns: tuple[str, ...] = ()) -> Mapping[str, bytes]:
    """The queries of ``sql/<noun>.sql`` by name; placeholders are ``%(name)s``."""
    text = (_FILES / f"{noun}.sql").read_text(encoding="utf-8")
    _, *parts = _NAME.split(text.replace("{columns}", ", ".join(columns)))
    named = dict(zip(parts[::2], parts[1::2], strict=True))
    assert len(named) * 2 == len(parts), f"a name stands twice in {noun}.sql"
    return MappingProxyType({name: text.strip().encode() for name, text in named.items()})
