"""One question to discovery: which tools and capabilities fit an intent (MCP-1)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from pml.discovery.index import Hit
from pml.domain.discovery import Discovered, DiscoverRequest, DiscoverResponse, Found
from pml.domain.limits import Limits
from pml.errors import RequestError
from pml.loop.cards import brief, typed
from pml.loop.library import Library
from pml.loop.problems import problem_of_intent


@dataclass(frozen=True, slots=True, kw_only=True)
class Discover:
    """Answers questions over one library."""

    library: Library
    limits: Limits
    notes: Callable[[], tuple[str, ...]]
    """What is not in the library at the moment, in words."""

    async def __call__(self, request: DiscoverRequest) -> DiscoverResponse:
        """A part of the ranking.

        Raises:
            RequestError: the intent is empty, too long or no text.
            StoreError: the database is lost.
        """
        if problem := problem_of_intent(request.intent, self.limits):
            raise RequestError(problem)
        results, total = await ranked(
            self.library,
            request.intent,
            kind=request.filter.type,
            limit=request.limit,
            offset=request.offset,
            min_score=request.filter.min_score,
        )
        if request.detail != "full":
            shown = brief if request.detail == "brief" else typed
            results = tuple(map(shown, results))
        after = request.offset + request.limit
        return DiscoverResponse(
            results=results,
            total=total,
            next_offset=after if after < total else None,
            notes=self.notes(),
        )


async def ranked(
    library: Library,
    intent: str,
    *,
    kind: Literal["tool", "capability", "all"],
    limit: int,
    offset: int = 0,
    min_score: float = 0.0,
) -> tuple[tuple[Discovered, ...], int]:
    """Results ``offset`` to ``offset + limit`` of the ranking, and how many there are in all.

    Raises:
        StoreError: the database is lost.
    """
    await library.refresh()
    ranking = library.index.rank(
        intent,
        kind=kind,
        limit=limit,
        offset=offset,
        min_score=min_score,
        vector=await library.vector(intent),
    )
    cards = await _cards(library, ranking.hits)
    found = tuple(
        msgspec.structs.replace(
            cards[hit.id], score=min(1.0, round(hit.score, 4)), reasons=hit.reasons
        )
        for hit in ranking.hits
        if hit.id in cards
    )
    return found, ranking.total


async def _cards(library: Library, hits: tuple[Hit, ...]) -> dict[str, Discovered]:
    cards = await library.tool_cards(hit.id for hit in hits if hit.kind is Found.TOOL)
    for hit in hits:
        card = library.capability_card(hit.id) if hit.kind is Found.CAPABILITY else None
        if card is not None:
            cards[hit.id] = card
    return cards


def with_missing(result: Discovered, args: Mapping[str, Any]) -> Discovered:
    """The result with the required arguments that ``args`` does not give."""
    if result.type is Found.CAPABILITY:
        required = [p.name for p in result.parameters if p.required]
    else:
        schema = {} if result.tool_schemas is None else result.tool_schemas.input_schema
        listed = schema.get("required", [])
        required = [str(name) for name in listed] if isinstance(listed, list) else []
    missing = tuple(name for name in required if name not in args)
    return msgspec.structs.replace(result, missing=missing)
