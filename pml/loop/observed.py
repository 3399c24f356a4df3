"""What the calls of a run show of tools whose server declares no output schema (SA-10).

Learned are kinds of values and names of fields, from each value as the code saw it; the value
itself goes nowhere.  Most runs show nothing new, and then nothing is written.
"""

import asyncio
import json
from collections.abc import Iterable

import structlog

from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.ledger import Ledger
from pml.domain.log_rules import CallState
from pml.domain.run import Returned
from pml.domain.tools import Catalog, Tool
from pml.errors import StoreError
from pml.learning.shapes import merged, observed
from pml.store.ports import Observation, ToolSchemas

VALUE_CHARS = 200_000
"""A larger result teaches nothing: to look through it would take longer than it is worth."""
RUN_CHARS = 1_000_000
"""Of all results of a run, the first ones; takes about 0.2 s in a thread of its own."""
_log = structlog.get_logger(__name__)


async def learn_results(tool_schemas: ToolSchemas, ledger: Ledger, catalog: Catalog) -> None:
    """Add what the run's calls showed to what is known; a database that is lost is no error."""
    new = await asyncio.to_thread(observations, ledger.calls, catalog)
    if not new:
        return
    try:
        await tool_schemas.observe(new)
    except StoreError as exc:  # the next run shows it again
        _log.warning("results_not_learned", exc_info=exc)


def observations(calls: Iterable[CallState], catalog: Catalog) -> tuple[Observation, ...]:
    """What the calls show that is not known yet, by tool.

    Failed calls show nothing, nor do those of capabilities.
    """
    results: dict[str, list[str]] = {}
    left = RUN_CHARS
    for call in calls:
        outcome, tool = call.outcome, catalog.find(call.issued.tool)
        if not isinstance(outcome, Returned) or tool is None or not _learns(tool):
            continue
        size = len(outcome.value)
        if size <= min(VALUE_CHARS, left):
            left -= size
            results.setdefault(tool.id, []).append(outcome.value)
    found = (_observation(catalog.find(tool_id), texts) for tool_id, texts in results.items())
    return tuple(one for one in found if one is not None)


def _learns(tool: Tool) -> bool:
    return tool.output_schema is None and tool.server != CAPABILITY_SERVER


def _observation(tool: Tool | None, texts: Iterable[str]) -> Observation | None:
    """What the results show, unless it is known."""
    seen = observed(map(json.loads, dict.fromkeys(texts)))
    if tool is None or seen is None:
        return None
    known = tool.observed_schema
    if known is not None and merged(known, seen) == known:
        return None
    return Observation(
        server=tool.server, name=tool.name, schema_hash=tool.schema_hash(), schema=seen
    )
