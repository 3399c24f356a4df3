"""``limits.yaml``: what one request, run or sandbox may use on this machine (OP-5).

The keys are the fields of `Limits`, the ranges stand in their types; docs/reference/limits.md
lists both.  What the file does not name keeps its default.
"""

from pathlib import Path
from typing import Any

import msgspec
from msgspec.inspect import FloatType, IntType, type_info

from pml.domain.limits import Limits
from pml.runtime.config_text import ConfigText, read_yaml


def load_limits(path: Path | None) -> Limits:
    """Read ``limits.yaml``; without one every limit has its default.

    Raises:
        ConfigError: unreadable, no mapping, an unknown limit or one out of its range; names line
            and what was expected.
    """
    if path is None:
        return Limits()
    text = read_yaml(path)
    if text.value is None:  # nothing but comments
        return Limits()
    given = text.mapping(text.value)
    text.known_keys(given, Limits.__struct_fields__)
    for name, value in given.items():
        _check(text, name, value)
    return Limits(**given)


def limit_range(name: str) -> tuple[float, float]:
    """The least and the greatest value that the limit can be set to, both allowed."""
    kind = type_info(Limits.__annotations__[name])
    assert isinstance(kind, IntType | FloatType)
    assert kind.ge is not None
    assert kind.le is not None
    return kind.ge, kind.le


def _check(text: ConfigText, name: str, value: Any) -> None:  # noqa: ANN401  # whatever YAML holds
    kind = Limits.__annotations__[name]
    try:
        msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError:
        low, high = limit_range(name)
        number = "a whole number" if isinstance(type_info(kind), IntType) else "a number"
        text.fail(f"found {value!r}; expected {number} from {low:,} to {high:,}", name)
