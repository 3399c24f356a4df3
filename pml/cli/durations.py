"""Spans of time as people write them: ``30m``, ``8h``, ``7d``."""

import re

import typer

_SPAN = re.compile(r"([1-9][0-9]{0,6})([smhd])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def ttl_s(text: str) -> int:
    """The seconds of a span.

    Raises:
        BadParameter: it is none.
    """
    found = _SPAN.fullmatch(text)
    if found is None:
        message = f"--for: expected a number with s, m, h or d, such as 8h; found {text!r}"
        raise typer.BadParameter(message)
    return int(found[1]) * _SECONDS[found[2]]


def age(ms: float) -> str:
    """How long ago or how soon, in its greatest unit: ``8 min``, ``3 d``."""
    seconds = max(0, int(ms // 1_000))
    for length, unit in _UNITS:
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return "0 s"
