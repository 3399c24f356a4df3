"""What a tool's answer is worth in code (EX-1): the value, or the error that is thrown."""

import json
from typing import Any

from mcp_types import CallToolResult, TextContent

from pml.domain.json_text import deeper_than
from pml.domain.limits import Limits
from pml.domain.record import JsonText
from pml.domain.run import Failed, Outcome, Returned
from pml.runtime.upstream.faults import too_large

_TOO_DEEP = "its result is nested too deeply (limit nesting)"
_ONE_LINE_CHARS = 2_000
"""An error message past this is cut; the whole stays in the error's data."""


class _NotJsonError(Exception):
    """A value that JSON cannot hold."""


def outcome(result: CallToolResult, *, wrapped: bool, parses_text: bool, limits: Limits) -> Outcome:
    """The outcome of an answered call.

    Args:
        result: the server's answer.
        wrapped: whether structured content is ``{result: x}`` for ``x``.
        parses_text: whether the configuration says ``results: json`` for the tool.
        limits: how large and how deep a result may be.
    """
    try:
        if result.is_error:
            return _tool_error(result, limits.result_bytes)
        return _bounded(_value(result, wrapped, parses_text), limits)
    except _NotJsonError as exc:
        return Failed(code="bad_result", message=f"the server answered, but {exc}")


def _value(result: CallToolResult, wrapped: bool, parses_text: bool) -> JsonText:
    structured = result.structured_content
    if structured is not None:
        unwrap = wrapped and isinstance(structured, dict) and set(structured) == {"result"}
        return _text(structured["result"] if unwrap else structured)
    blocks = result.content
    if len(blocks) == 1 and isinstance(blocks[0], TextContent):
        return _parsed(blocks[0].text) if parses_text else _text(blocks[0].text)
    return _text(_blocks(result))


def _tool_error(result: CallToolResult, limit: int) -> Failed:
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    message = "\n".join(texts).strip() or "the tool failed and said nothing"
    if result.structured_content is not None:
        data = _text(result.structured_content)
    elif len(texts) == len(result.content) and len(message) <= _ONE_LINE_CHARS:
        data = None  # the message says it all
    else:
        data = _text(_blocks(result))
    if data is not None and len(data) > limit:
        data = None
    return Failed(code="tool_error", message=message[:_ONE_LINE_CHARS], data=data)


def _bounded(value: JsonText, limits: Limits) -> Outcome:
    size = len(value.encode())
    if size > limits.result_bytes:
        return Failed(code="too_large", message=too_large(size, limits.result_bytes))
    if deeper_than(value, limits.nesting):
        raise _NotJsonError(_TOO_DEEP)
    return Returned(value=value)


def _blocks(result: CallToolResult) -> list[Any]:
    return [
        block.model_dump(by_alias=True, mode="json", exclude_none=True) for block in result.content
    ]


def _parsed(text: str) -> JsonText:
    """``text`` itself, which must be JSON.

    Raises:
        _NotJsonError: it is not.
    """
    try:
        return _text(json.loads(text))
    except (ValueError, RecursionError) as exc:
        message = (
            f"its text is no JSON ({exc}): the configuration says results: json for this tool; "
            "remove that to get the text"
        )
        raise _NotJsonError(message) from exc


def _text(value: Any) -> JsonText:  # noqa: ANN401
    """``value`` as JSON text; numbers keep their digits, halves of surrogate pairs are replaced.

    Raises:
        _NotJsonError: it holds NaN or an infinity, or is nested too deeply.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    except ValueError as exc:
        message = "its result holds NaN or an infinity, which JSON cannot express"
        raise _NotJsonError(message) from exc
    except RecursionError as exc:
        raise _NotJsonError(_TOO_DEEP) from exc
