"""What values may hold in the end, against a model that goes round until nothing changes (SA-4)."""

from hypothesis import given
from hypothesis import strategies as st

from pml.analysis.unions import gathered
from pml.analysis.valuegraph import NOTHING, ValueGraph

NODES = 7
numbers = st.integers(0, NODES - 1)
graphs = st.lists(st.lists(numbers, max_size=3), min_size=NODES, max_size=NODES)
links = st.lists(
    st.tuples(st.sampled_from(["flow", "made", "store"]), numbers, numbers), max_size=12
)


def model(own: list[int], done: list[tuple[str, int, int]]) -> list[int]:
    """By what the links mean: ``put[n]`` is what is put into a node."""
    held, put = list(own), [0] * len(own)
    before: list[int] = []
    while before != held + put:
        before = held + put
        for what, source, target in done:
            if NOTHING in {source, target}:
                continue
            held[target] |= held[source] if what != "store" else 0
            put[target] |= held[source] if what == "store" else 0
            put[source] |= put[target] if what != "made" else 0
        held = [one | other for one, other in zip(held, put, strict=True)]
    return held


@given(done=links)
def test_every_value_holds_what_flows_into_it_and_what_is_put_into_it(
    done: list[tuple[str, int, int]],
) -> None:
    graph = ValueGraph()
    for node in range(1, NODES):
        graph.own[graph.new()] = 1 << node
    for what, source, target in done:
        {"flow": graph.flow, "made": graph.made, "store": graph.store}[what](source, target)
    assert graph.solved() == model([0, *(1 << node for node in range(1, NODES))], done)


@given(sources=graphs)
def test_a_node_gathers_the_bits_of_all_that_lead_to_it(sources: list[list[int]]) -> None:
    leading = [{node} for node in range(NODES)]
    for _ in sources:
        leading = [
            one.union(*(leading[source] for source in sources[node]))
            for node, one in enumerate(leading)
        ]
    wanted = [sum(1 << source for source in one) for one in leading]
    assert gathered(sources, [1 << node for node in range(NODES)]) == wanted
