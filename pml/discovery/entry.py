"""What search holds: a tool or a capability, and what each retriever compares of it."""

from dataclasses import dataclass

from pml.discovery.names import tool_names
from pml.domain.capability import PastIntent, normalised_intent
from pml.domain.discovery import Found

INTENTS_IN_TEXT = 50
"""Past intents of a capability that count as part of its text; the latest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A tool or a capability, as search sees it."""

    id: str
    """``server:tool``, or the capability's id."""
    kind: Found
    name: str
    """As it stands in code: ``server.tool``, or the capability's name."""
    text: str
    """What describes it: description, parameter names, tools."""
    tools: tuple[str, ...] = ()
    """Ids of the tools that a capability uses."""
    servers: tuple[str, ...] = ()
    """The server of a tool, or those of the tools that a capability uses."""
    intents: tuple[PastIntent, ...] = ()
    """With which a capability has run."""


def names(entry: Entry) -> tuple[str, ...]:
    """The names that an intent may be, and then means just this entry."""
    if entry.kind is Found.TOOL:
        return tool_names(entry.id, entry.name)
    return (entry.id, entry.name)


def document(entry: Entry) -> str:
    """What BM25 compares: the name counts twice, as in the baselines."""
    latest = sorted(entry.intents, key=lambda past: (-past.last_at_ms, past.intent))
    intents = sorted(past.intent for past in latest[:INTENTS_IN_TEXT])
    return " ".join([entry.name, entry.name, entry.text, *intents])


def to_encode(entry: Entry) -> dict[str, str]:
    """Embedding keys and texts: a tool by what it says, a capability by its past intents."""
    if entry.kind is Found.TOOL:
        return {f"tool:{entry.id}": f"{entry.name}: {entry.text}"}
    intents = {normalised_intent(past.intent) for past in entry.intents}
    return {f"intent:{intent}": intent for intent in sorted(intents)}
