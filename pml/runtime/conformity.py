"""Results that are not what their server's output schema says: warnings, never errors.  Pure.

The code has seen the value as the server sent it, and may have made good use of it; but whoever
relies on the schema (declarations, mocks, edges between tools) should know that it is wrong.
"""

from collections.abc import Iterable

import jsonschema_rs
import msgspec

from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.log_rules import CallState
from pml.domain.run import Returned
from pml.domain.sanitising import preview
from pml.domain.tools import Catalog, Tool

RUN_CHARS = 1_000_000
"""Of all results of a run, the first ones are looked at; takes some milliseconds."""
WARNED_TOOLS = 5
"""Tools that one answer warns of."""
_REASON_CHARS = 300


def contradictions(calls: Iterable[CallState], catalog: Catalog) -> tuple[str, ...]:
    """One warning per tool whose results contradict its output schema."""
    left = RUN_CHARS
    checkers: dict[str, jsonschema_rs.Validator | None] = {}
    found: dict[str, str] = {}
    for call in calls:
        tool_id, outcome = call.issued.tool, call.outcome
        if tool_id in found or not isinstance(outcome, Returned) or outcome.mocked:
            continue
        if tool_id not in checkers:
            checkers[tool_id] = _checker(catalog.find(tool_id))
        checker = checkers[tool_id]
        if checker is None or len(outcome.value) > left:
            continue
        left -= len(outcome.value)
        if reason := _reason(checker, msgspec.json.decode(outcome.value)):
            found[tool_id] = (
                f"{call.issued.task_id} ({tool_id}) returned what its server's output schema does "
                f"not allow: {reason}"
            )
    return tuple(found.values())[:WARNED_TOOLS]


def _checker(tool: Tool | None) -> jsonschema_rs.Validator | None:
    """The judge of the tool's results as code sees them; None where there is nothing to say."""
    if tool is None or tool.server == CAPABILITY_SERVER or tool.output_schema is None:
        return None
    schema = tool.output_schema
    if tool.wraps_result():
        outer = {key: value for key, value in schema.items() if key in ("$defs", "definitions")}
        schema = {**outer, **schema["properties"]["result"]}
    try:
        return jsonschema_rs.validator_for(schema, offline=True)
    except (ValueError, jsonschema_rs.ReferencingError):
        return None  # the schema is unusable: nothing can contradict it


def _reason(checker: jsonschema_rs.Validator, value: object) -> str:
    error = next(iter(checker.iter_errors(value)), None)
    if error is None:
        return ""
    where = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.instance_path)
    return preview(f"{where or 'the value'}: {error.message}", _REASON_CHARS)
