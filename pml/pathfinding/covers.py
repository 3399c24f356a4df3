"""Which providers together give all that a tool needs: minimal covers, the cheapest first (LE-6).

Finding all minimal covers is exponential, so it is a best-first search with bounds: inputs are
taken in their order, each is given to a provider, and the partial choice whose mappings are
surest goes on.
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

    At most `COVERS`, in order of ``-sum(log(score))`` over the needed inputs, each by the provider
    that the search chose for it; the same set comes once.  None if something has no provider.

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
    found: dict[frozenset[str], None] = {}
    for chosen in _assignments(wanted, covered):
        providers_of = frozenset(chosen)
        if _is_minimal(providers_of, wanted, covered):
            found.setdefault(providers_of)
        if len(found) == COVERS:
            break
    return tuple(tuple(by_id[name] for name in sorted(cover)) for cover in found)


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
    # all partial ones would before one ends; rounded, so that equals are equal.
    waiting: list[tuple[float, int, tuple[str, ...], float]] = [(0.0, 0, (), sum(surest))]
    for _ in range(STEPS):
        if not waiting:
            return
        _, _, chosen, cost = heappop(waiting)
        done = len(chosen)
        if done == len(wanted):
            yield chosen
            continue
        for extra, provider in options[done]:
            least = cost + extra - surest[done]
            heappush(waiting, (round(least, 9), -done - 1, (*chosen, provider), least))


def _is_minimal(
    cover: frozenset[str], wanted: list[str], covered: Mapping[str, Mapping[str, float]]
) -> bool:
    return not any(
        all(any(name in covered[p] for p in cover if p != left_out) for name in wanted)
        for left_out in cover
    )
