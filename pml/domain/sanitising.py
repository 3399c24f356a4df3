"""What may be stored and shown of a value: secrets redacted, size bounded, plain JSON (ST-5).

The rules are in `pml.domain.secret_rules`.  Everything here returns new values.
"""

import base64
import datetime as dt
import json
import math
from typing import Any

from pml.domain.limits import Limits
from pml.domain.secret_rules import MASK, identifying_key, redact_text, sensitive_key

__all__ = ["for_trace", "preview", "redact", "redact_text"]

_MAX_DEPTH = 100
_EXACT_INT = 2**53 - 1
"""Larger integers lose digits in JavaScript, so they are kept as text."""
_LOOKAHEAD_CHARS = 4_096
"""A preview looks so far past its end, so that a secret cut by the end is still recognised."""


def redact(value: Any) -> Any:  # noqa: ANN401  # any value in, JSON out
    """``value`` as JSON with every secret replaced by ``[REDACTED]``.

    What stands under a sensitive key is replaced whole, apart from null, true and false; under
    one that says that it names something, such as ``fileId``, looking random makes no secret.
    Dates become ISO texts, large integers, NaN and infinities text, bytes base64; what
    refers to itself or is nested deeper than 100 is cut.  Idempotent.
    """
    return _redact(value, frozenset(), opaque=True)


def for_trace(value: Any, limits: Limits) -> Any:  # noqa: ANN401  # any value in, JSON out
    """``value`` redacted, or a marker with its size if it is too large for a trace.

    The result has at most ``limits.trace_value_bytes`` bytes of JSON, or is the marker.
    """
    size = _size(value)
    if size is None or size <= limits.trace_value_bytes:  # else not worth redacting
        redacted = redact(value)
        after = len(_compact(redacted).encode())
        if after <= limits.trace_value_bytes:
            return redacted
        size = max(size or 0, after)
    return {"_truncated": True, "_originalSize": size}


def preview(value: Any, chars: int) -> str:  # noqa: ANN401  # any value in
    """At most ``chars`` characters of ``value``, redacted: text as it is, the rest as JSON.

    Takes time for the characters shown, not for the whole value.
    """
    budget = [chars + 1]
    head = redact(_head(value, budget, chars + _LOOKAHEAD_CHARS, 0))
    text = head if isinstance(head, str) else _compact(head)
    return text if len(text) <= chars else text[: max(0, chars - 1)] + "…"[:chars]


def _redact(  # noqa: PLR0911  # one per type
    value: Any,  # noqa: ANN401
    above: frozenset[int],
    *,
    opaque: bool,
) -> Any:  # noqa: ANN401
    match value:
        case None | bool():
            return value
        case str():
            return redact_text(_encodable(value), opaque=opaque)
        case int():
            return value if -_EXACT_INT <= value <= _EXACT_INT else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case dict() | list() | tuple() | set() | frozenset():
            return _redact_container(value, above, opaque=opaque)
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case bytes() | bytearray():
            return redact_text(base64.b64encode(value).decode())
        case _:
            return f"[{type(value).__name__}]"


def _redact_container(value: Any, above: frozenset[int], *, opaque: bool) -> Any:  # noqa: ANN401
    if id(value) in above:
        return "[CIRCULAR]"
    if len(above) >= _MAX_DEPTH:
        return "[TOO DEEP]"
    inside = above | {id(value)}
    if not isinstance(value, dict):
        return [_redact(item, inside, opaque=opaque) for item in value]
    result: dict[str, Any] = {}
    for key, item in value.items():
        name = text = redact_text(_encodable(str(key)))
        number = 1
        while name in result:  # two keys that were secrets
            number += 1
            name = f"{text}#{number}"
        secret = sensitive_key(str(key)) and not (item is None or isinstance(item, bool))
        names_it = identifying_key(str(key))
        result[name] = MASK if secret else _redact(item, inside, opaque=opaque and not names_it)
    return result


def _head(value: Any, budget: list[int], window: int, depth: int) -> Any:  # noqa: ANN401
    """The first parts of ``value``: at most ``budget`` items, texts cut at ``window``."""
    budget[0] -= 1
    if isinstance(value, str):
        budget[0] -= len(value)
        return value[:window]
    if depth >= _MAX_DEPTH or not isinstance(value, dict | list | tuple):
        return value if not isinstance(value, dict | list | tuple) else "[TOO DEEP]"
    if isinstance(value, dict):
        kept: dict[str, Any] = {}
        for key, item in value.items():
            if budget[0] < 0:
                break
            kept[str(key)[:window]] = _head(item, budget, window, depth + 1)
        return kept
    items: list[Any] = []
    for item in value:
        if budget[0] < 0:
            break
        items.append(_head(item, budget, window, depth + 1))
    return items


def _size(value: Any) -> int | None:  # noqa: ANN401
    """Bytes of the value's JSON; None if it is no JSON yet."""
    try:
        return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    except (TypeError, ValueError, RecursionError):
        return None


def _compact(value: Any) -> str:  # noqa: ANN401
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _encodable(text: str) -> str:
    """Lone surrogates, which UTF-8 cannot express, replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
