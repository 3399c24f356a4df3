"""`provides` edges of a whole catalogue, with tools that come and go one by one (SA-10).

All pairs of 10,000 tools are too many to compare, and most that match say little: a thousand
tools know some user's id.  So an input asks for providers by *keys*, the most telling one first:
its whole name, then each of its words that says something, rarest first, with its head word.
The first `PROVIDERS` tools found that way, in its own server and in the whole catalogue, are
compared in full.  Under one key the tools stand in a fixed order (`_rank`, then id), and words
have a fixed rarity, so that the edges depend on which tools there are and on nothing else: not on
the order in which they came, nor on those that are gone.

Costs: `put` and `remove` touch only the postings of the tool's own keys; edges are made when
they are asked for, `into` and `out_of` one tool in time that does not grow with the catalogue
but for the tools that share its keys.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from functools import lru_cache

from pml.analysis.fields.features import anchors, family, head
from pml.analysis.fields.mapping import Side, provides
from pml.analysis.fields.match import provider_logit
from pml.analysis.fields.names import qualified
from pml.analysis.fields.rarity import rarity
from pml.domain.provides import ProvidesEdge
from pml.domain.tools import Tool

PROVIDERS = 12
"""Tools compared in full for one input, in its server and again in the catalogue."""
_Scope = tuple[str, str]
"""A server, or empty for all of them, and a key."""
_Posting = tuple[int, str]
"""How well a tool's output is known, the best first, and the tool's id."""


class ProvidesIndex:
    """The tools of a catalogue and which of them can provide for which.

    Invariant: the edges are those of an index built anew of the same tools, in any order.
    """

    def __init__(self) -> None:
        self._sides: dict[str, Side] = {}
        self._given: dict[_Scope, list[_Posting]] = {}
        """Tools that give something, by key; sorted."""
        self._wanting: dict[_Scope, set[str]] = {}
        """Tools that take something, by key."""

    def __len__(self) -> int:
        return len(self._sides)

    def tool(self, tool_id: str) -> Tool | None:
        """The tool with this id: its schemas say what an edge's fields are."""
        side = self._sides.get(tool_id)
        return None if side is None else side.tool

    def put(self, tool: Tool) -> None:
        """Take in a tool, in the place of the one of the same id if there is one."""
        self.remove(tool.id)
        side = self._sides[tool.id] = Side(tool)
        for scope, rank in _offers(side).items():
            insort(self._given.setdefault(scope, []), (rank, tool.id))
        for scope in _wants(side):
            self._wanting.setdefault(scope, set()).add(tool.id)

    def remove(self, tool_id: str) -> None:
        """Forget a tool; one that is not known is none."""
        side = self._sides.pop(tool_id, None)
        if side is None:
            return
        for scope, rank in _offers(side).items():
            postings = self._given[scope]
            del postings[bisect_left(postings, (rank, tool_id))]
            if not postings:
                del self._given[scope]
        for scope in _wants(side):
            self._wanting[scope].remove(tool_id)
            if not self._wanting[scope]:
                del self._wanting[scope]

    def into(self, tool_id: str) -> tuple[ProvidesEdge, ...]:
        """Edges to a tool, from the best to the least; none for an unknown one."""
        consumer = self._sides.get(tool_id)
        if consumer is None:
            return ()
        found = (provides(self._sides[each], consumer) for each in self._providers(consumer))
        return tuple(sorted((edge for edge in found if edge is not None), key=_order))

    def out_of(self, tool_id: str) -> tuple[ProvidesEdge, ...]:
        """Edges from a tool, from the best to the least; none for an unknown one."""
        provider = self._sides.get(tool_id)
        if provider is None:
            return ()
        found = (
            provides(provider, consumer)
            for consumer in map(self._sides.__getitem__, sorted(self._askers(provider)))
            if tool_id in self._providers(consumer)
        )
        return tuple(sorted((edge for edge in found if edge is not None), key=_order))

    def edges(self) -> Iterator[ProvidesEdge]:
        """All edges, by consumer."""
        for tool_id in sorted(self._sides):
            yield from self.into(tool_id)

    def _providers(self, consumer: Side) -> list[str]:
        """Tools to compare in full with a consumer."""
        found: set[str] = set()
        for field in consumer.signature.inputs:
            keys = _taken(field.shape.words, field.shape.context)
            for scope in (consumer.tool.server, ""):
                found |= self._first(scope, keys, consumer.id)
        return sorted(found)

    def _first(self, scope: str, keys: Iterable[str], but: str) -> set[str]:
        """The first tools found by the keys in their order, without the asking one."""
        found: set[str] = set()
        for key in keys:
            for _, tool_id in self._given.get((scope, key), ()):
                if len(found) == PROVIDERS:
                    return found
                if tool_id != but:
                    found.add(tool_id)
        return found

    def _askers(self, provider: Side) -> set[str]:
        """Consumers that may find the provider: those by whose keys it is among the first.

        Whatever other keys an input asks by, it has found enough tools once it is through with
        the first `PROVIDERS` of one key, or one more if it stands among them itself.
        """
        found: set[str] = set()
        for scope, rank in _offers(provider).items():
            if bisect_left(self._given[scope], (rank, provider.id)) <= PROVIDERS:
                found |= self._wanting.get(scope, set())
        return found


def _offers(side: Side) -> dict[_Scope, int]:
    """By which keys others find what a tool gives, and how well it is known at best."""
    ranks: dict[_Scope, int] = {}
    for field in side.signature.outputs:
        rank = -round(1000 * provider_logit(field.shape))
        for key in _given(field.shape.words, field.shape.context):
            for scope in ("", side.tool.server):
                ranks[scope, key] = min(rank, ranks.get((scope, key), rank))
    return ranks


def _wants(side: Side) -> set[_Scope]:
    """By which keys a tool finds others."""
    return {
        (scope, key)
        for field in side.signature.inputs
        for key in _taken(field.shape.words, field.shape.context)
        for scope in ("", side.tool.server)
    }


@lru_cache(maxsize=65_536)
def _taken(words: tuple[str, ...], context: tuple[str, ...]) -> tuple[str, ...]:
    """Keys of an input, the most telling first."""
    found = _telling(words, context)
    if not found:
        return ()
    wanted = family(head(words))
    return (_whole(words, context), *(f"{anchor}|{wanted}" for anchor in found))


@lru_cache(maxsize=65_536)
def _given(words: tuple[str, ...], context: tuple[str, ...]) -> frozenset[str]:
    """Keys of an output, by which every comparable input finds it."""
    found = _telling(words, context)
    if not found:
        return frozenset()
    heads = {family(word) for word in words}
    pairs = {f"{anchor}|{each}" for anchor in found for each in heads}
    return frozenset({_whole(words, context), *pairs})


def _whole(words: tuple[str, ...], context: tuple[str, ...]) -> str:
    return "=" + " ".join(qualified(words, context))


@lru_cache(maxsize=65_536)
def _telling(words: tuple[str, ...], context: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(anchors(words, context), key=lambda word: (-rarity(word), word)))


def _order(edge: ProvidesEdge) -> tuple[float, str, str]:
    return -edge.score, edge.provider, edge.consumer
