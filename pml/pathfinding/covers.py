"""Which providers together give all that a tool needs: minimal covers, the cheapest first (LE-6).

Finding all minimal covers is exponential, so it is a best-first search with bounds: inputs are
taken in their order, each is given to a provider, and the partial choice whose mappings are
surest goes on.  Where providers overlap much, nearly all choices hold a provider that could be left
out; what remains without those is a minimal cover too, and stands in where the bound ended the
search before it found enough.
"""

from collections.abc import Collection, Iterator, Mapping
from heapq import heappop, heappush

from pml.domain.provides import ProvidesEdge
from pml.pathfinding.costs import nats

COVERS = 8
"""Covers of one tool's inputs."""
STEPS = 2_000
"""Partial choices that are continued for one tool."""


def minimal_covers(
    needed: Collection[str], providers: Collection[ProvidesEdge]
) -> tuple[tuple[ProvidesEdge, ...], ...]:
    """Sets of providers that cover what is needed, none of which can be left out.

    At most `COVERS`, in order of ``-sum(log(score))`` over the needed inputs, each by its surest
    provider in the set.  None if something has no provider, else at least one; and the cheapest
    ones, unless the search was ended by `STEPS`.

    Args:
        needed: names of inputs.
        providers: edges into one tool.
    """
    by_id = {edge.provider: edge for edge in sorted(providers, key=lambda edge: edge.provider)}
    wanted = sorted(needed)
    covered = {
        name: {m.to_field: nats(m.score) for m in edge.field_mapping if m.to_field in needed}
        for name, edge in by_id.items()
    }
    found: set[frozenset[str]] = set()
    reduced: set[frozenset[str]] = set()
    for chosen in _assignments(wanted, covered):
        cover = frozenset(chosen)
        if _is_minimal(cover, wanted, covered):
            found.add(cover)
        elif len(reduced) < COVERS:
            reduced.add(_reduced(cover, wanted, covered))
        if len(found) == COVERS:
            break
    else:
        found |= reduced
    ordered = sorted(found, key=lambda cover: (_cost(cover, wanted, covered), sorted(cover)))
    return tuple(tuple(by_id[name] for name in sorted(cover)) for cover in ordered[:COVERS])


def _assignments(
    wanted: list[str], covered: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[str, ...]]:
    """A provider for each input, cheapest assignments first, until `STEPS` are spent."""
    options = [
        sorted((costs[name], provider) for provider, costs in covered.items() if name in costs)
        for name in wanted
    ]
    surest = [min((cost for cost, _ in each), default=0.0) for each in options]
    # What a choice costs at least when it is complete.  Of equals the most complete goes on, else
    # all partial ones would before one ends; rounded, so that equals are equal.  A choice brings
    # the one that differs in its last provider, and the first one that goes on from it.
    waiting: list[tuple[float, int, tuple[str, ...], int, float, float]] = []

    def push(chosen: tuple[str, ...], rank: int, before: float) -> None:
        done = len(chosen)
        if rank < len(options[done]):
            extra, provider = options[done][rank]
            least = before + extra - surest[done]
            waits = (round(least, 9), -done - 1, (*chosen, provider), rank, before, least)
            heappush(waiting, waits)

    push((), 0, sum(surest))
    for _ in range(STEPS):
        if not waiting:
            return
        _, _, chosen, rank, before, least = heappop(waiting)
        push(chosen[:-1], rank + 1, before)
        if len(chosen) == len(wanted):
            yield chosen
        else:
            push(chosen, 0, least)


def _is_minimal(
    cover: frozenset[str], wanted: list[str], covered: Mapping[str, Mapping[str, float]]
) -> bool:
    return not any(
        all(any(name in covered[p] for p in cover if p != left_out) for name in wanted)
        for left_out in cover
    )


def _reduced(
    cover: frozenset[str], wanted: list[str], covered: Mapping[str, Mapping[str, float]]
) -> frozenset[str]:
    """A minimal cover inside a cover: of what can be left out, what gives least goes first."""
    kept = set(cover)
    for provider in sorted(cover, key=lambda p: (len(covered[p]), -sum(covered[p].values()), p)):
        if all(any(name in covered[p] for p in kept - {provider}) for name in wanted):
            kept.discard(provider)
    return frozenset(kept)


def _cost(
    cover: frozenset[str], wanted: list[str], covered: Mapping[str, Mapping[str, float]]
) -> float:
    """Rounded, so that equals are equal."""
    surest = (min(covered[p][name] for p in cover if name in covered[p]) for name in wanted)
    return round(sum(surest), 9)
