"""Entries for tests, and texts that hypothesis makes of few words, so that they meet."""

from collections.abc import Iterable, Sequence

from hypothesis import strategies as st

from pml.discovery.entry import Entry
from pml.discovery.index import Index
from pml.domain.capability import PastIntent
from pml.domain.discovery import Found

WORDS = ("read", "reads", "write", "file", "files", "report", "not", "the", "2024", "été", "天")

sentences = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
"""Empty, common words only, repeated words, inflections, numbers, accents, Han."""


def past(
    capability_id: str, intent: str, *, succeeded: int = 1, last: bool = True, at_ms: int = 0
) -> PastIntent:
    return PastIntent(
        capability_id=capability_id,
        intent=intent,
        success_count=succeeded,
        failure_count=0 if last else 1,
        last_success=last,
        last_at_ms=at_ms,
    )


def tool(tool_id: str, text: str = "") -> Entry:
    return Entry(
        id=tool_id,
        kind=Found.TOOL,
        name=tool_id.replace(":", "."),
        text=text,
        servers=servers_of([tool_id]),
    )


def capability(
    capability_id: str,
    *intents: str,
    name: str | None = None,
    text: str = "",
    tools: Sequence[str] = (),
) -> Entry:
    return Entry(
        id=capability_id,
        kind=Found.CAPABILITY,
        name=name or f"name_of_{capability_id}",
        text=text,
        tools=tuple(tools),
        servers=servers_of(tools),
        intents=tuple(past(capability_id, intent) for intent in intents),
    )


def servers_of(tools: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tool_id.partition(":")[0] for tool_id in tools))


def index_of(entries: Iterable[Entry]) -> Index:
    index = Index()
    for entry in entries:
        index.put(entry)
    return index


def ids(index: Index, intent: str) -> list[str]:
    return [hit.id for hit in index.rank(intent).hits]
