"""Shortest hyperpaths without arrays: the published procedure, and all hyperpaths one by one.

Reference:
    Gallo, Longo, Pallottino, Nguyen. Directed hypergraphs and applications. Discrete Applied
    Mathematics 42, 1993, section 6 (procedure SBT with the additive measure).
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import heappop, heappush

from hypothesis import strategies as st

from pml.pathfinding.records import START, Hyperedge

Value = tuple[float, int]
"""Cost and depth."""


def fired(edge: Hyperedge, values: Mapping[str, Value]) -> Value:
    """What a hyperedge gives its target."""
    cost = edge.weight
    for source in edge.sources:
        cost += values[source][0]
    return cost, 1 + max(values[source][1] for source in edge.sources)


def published(
    hyperedges: Sequence[Hyperedge], sources: Collection[str], target: str | None = None
) -> dict[str, Value]:
    """The values of what is reached, until the target is."""
    forward: dict[str, list[int]] = defaultdict(list)
    for number, edge in enumerate(hyperedges):
        for source in edge.sources:
            forward[source].append(number)
    left = [len(edge.sources) for edge in hyperedges]
    waiting: list[tuple[float, int, str]] = []
    for source in sources:
        heappush(waiting, (0.0, 0, source))
    values: dict[str, Value] = {}
    while waiting:
        cost, depth, node = heappop(waiting)
        if node in values:
            continue
        values[node] = cost, depth
        if node == target:
            break
        for number in forward[node]:
            left[number] -= 1
            edge = hyperedges[number]
            if left[number] == 0 and edge.target not in values:
                heappush(waiting, (*fired(edge, values), edge.target))
    return values


def all_hyperpaths(
    hyperedges: Sequence[Hyperedge], sources: Collection[str], target: str
) -> dict[frozenset[str], Value]:
    """Every hyperpath by the ids of its hyperedges, with its value.

    All choices of an entering hyperedge for each node that is needed; those with cycles are none.
    """
    into: dict[str, list[Hyperedge]] = defaultdict(list)
    for edge in hyperedges:
        into[edge.target].append(edge)
    found = {}
    for choice in _choices({}, [target], into, frozenset(sources)):
        values = _values(choice, sources)
        if target in values:
            found[frozenset(edge.id for edge in choice.values())] = values[target]
    return found


def _choices(
    chosen: dict[str, Hyperedge],
    needed: list[str],
    into: Mapping[str, list[Hyperedge]],
    sources: frozenset[str],
) -> Iterator[dict[str, Hyperedge]]:
    while needed and (needed[-1] in chosen or needed[-1] in sources):
        needed = needed[:-1]
    if not needed:
        yield chosen
        return
    for edge in into[needed[-1]]:
        more = {**chosen, needed[-1]: edge}
        yield from _choices(more, [*needed[:-1], *edge.sources], into, sources)


def _values(choice: Mapping[str, Hyperedge], sources: Collection[str]) -> dict[str, Value]:
    """By firing what can fire until nothing can; nodes on cycles get none."""
    values: dict[str, Value] = dict.fromkeys(sources, (0.0, 0))
    waiting = dict(choice)
    while ready := [t for t, edge in waiting.items() if values.keys() >= set(edge.sources)]:
        for target in ready:
            values[target] = fired(waiting.pop(target), values)
    return values


NODES = (START, *"abcdefg")
exact_weights = st.integers(0, 8).map(lambda n: n / 4)
"""Few, so that ties are many; sums are exact."""
awkward_weights = st.one_of(
    exact_weights,
    st.sampled_from([0.0, 5e-324, 1e-20, 1e-16, 0.1, 1e16, 1.7e308]),
    st.floats(0, 1e308),
)
"""Sums round, swallow small summands, and overflow."""


@st.composite
def hyperedge(
    draw: st.DrawFn, weights: st.SearchStrategy[float], nodes: Sequence[str] = NODES
) -> Hyperedge:
    """One to three sources, any target; the id says what it is and a number."""
    sources = draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=3, unique=True))
    target = draw(st.sampled_from([node for node in nodes if node not in sources]))
    number = draw(st.integers(0, 2))
    name = f"{'+'.join(sources)}>{target}#{number}"
    return Hyperedge(id=name, sources=tuple(sources), target=target, weight=draw(weights))


def hyperedges(
    weights: st.SearchStrategy[float], most: int = 14, nodes: Sequence[str] = NODES
) -> st.SearchStrategy[list[Hyperedge]]:
    """Small hypergraphs, cyclic ones too."""
    each = hyperedge(weights, nodes)
    return st.lists(each, max_size=most, unique_by=lambda edge: edge.id)
