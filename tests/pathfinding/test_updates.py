"""What is kept under updates equals what is computed from scratch (LE-6)."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from pml.pathfinding import values
from pml.pathfinding.drdsp import DRDSP
from pml.pathfinding.records import START, Action, Hyperedge, HyperedgeUpdate
from tests.oracle.hyperpaths import NODES, awkward_weights, hyperedge, published


class Updated(RuleBasedStateMachine):
    """A graph that only ever changes, beside the list of what is in it."""

    def __init__(self) -> None:
        super().__init__()
        self.graph = DRDSP.from_hyperedges([], nodes=NODES)
        self.edges: dict[str, Hyperedge] = {}

    ids = Bundle("ids")

    @rule(target=ids, edge=hyperedge(awkward_weights))
    def insert(self, edge: Hyperedge) -> str:
        update = HyperedgeUpdate.insert(edge)
        if edge.id in self.edges:
            with pytest.raises(ValueError, match="already"):
                self.graph.apply_update(update)
        else:
            self.graph.apply_update(update)
            self.edges[edge.id] = edge
        return edge.id

    @rule(name=consumes(ids))
    def delete(self, name: str) -> None:
        update = HyperedgeUpdate.delete(name)
        if name in self.edges:
            self.graph.apply_update(update)
            del self.edges[name]
        else:
            with pytest.raises(ValueError, match="no hyperedge"):
                self.graph.apply_update(update)

    @rule(name=ids, weight=awkward_weights)
    def reweight(self, name: str, weight: float) -> None:
        if name in self.edges:
            self.graph.apply_update(HyperedgeUpdate.reweight(name, weight))
            old = self.edges[name]
            self.edges[name] = Hyperedge(
                id=name, sources=old.sources, target=old.target, weight=weight
            )

    @rule(name=ids, weight=st.sampled_from([-1.0, float("nan"), float("inf")]))
    def reweight_badly(self, name: str, weight: float) -> None:
        with pytest.raises(ValueError, match=r"at least 0|no hyperedge"):
            self.graph.apply_update(HyperedgeUpdate.reweight(name, weight))

    @rule(weights=st.dictionaries(ids, awkward_weights, max_size=6))
    def reweight_many(self, weights: dict[str, float]) -> None:
        known = {name: weight for name, weight in weights.items() if name in self.edges}
        if known != weights:
            with pytest.raises(ValueError, match="no hyperedge"):
                self.graph.reweight(weights)
            return
        self.graph.reweight(weights)
        for name, weight in weights.items():
            old = self.edges[name]
            self.edges[name] = Hyperedge(
                id=name, sources=old.sources, target=old.target, weight=weight
            )

    @invariant()
    def values_are_those_of_the_published_procedure(self) -> None:
        wanted = published(list(self.edges.values()), [START])
        for node in NODES:
            path = self.graph.find_shortest_hyperpath([START], node)
            assert (None if path is None else (path.cost, path.depth)) == wanted.get(node)

    @invariant()
    def paths_are_those_of_a_graph_made_anew(self) -> None:
        anew = DRDSP.from_hyperedges([self.edges[name] for name in sorted(self.edges)], nodes=NODES)
        assert set(self.graph.hyperedges()) == set(anew.hyperedges())
        for sources in ([START], ["a"], [START, "b"]):
            for node in NODES:
                found = self.graph.find_shortest_hyperpath(sources, node)
                assert found == anew.find_shortest_hyperpath(sources, node)


TestUpdated = Updated.TestCase
TestUpdated.settings = settings(max_examples=60, stateful_step_count=30)


def large(rng: random.Random, nodes: int, edges: int) -> list[Hyperedge]:
    """Weights of few values, one of them 0, so that there are ties and cycles of no cost."""
    names = [START, *map(str, range(nodes))]
    made = []
    for number in range(edges):
        *sources, target = rng.sample(names, rng.randint(2, 4))
        if target != START:
            weight = rng.choice([0.0, 0.5, 1.0, 0.1])
            made.append(
                Hyperedge(id=str(number), sources=tuple(sources), target=target, weight=weight)
            )
    return made


@pytest.mark.parametrize("seed", range(4))
def test_hundreds_of_updates_of_a_larger_graph_leave_what_a_new_one_holds(seed: int) -> None:
    rng = random.Random(seed)
    pool = large(rng, nodes=150, edges=700)
    inside = {edge.id: edge for edge in pool[:400]}
    graph = DRDSP.from_hyperedges(inside.values(), nodes=map(str, range(150)))
    for step in range(600):
        edge = rng.choice(pool)
        if edge.id not in inside:
            update, inside[edge.id] = HyperedgeUpdate.insert(edge), edge
        elif step % 3:
            update = HyperedgeUpdate.delete(edge.id)
            del inside[edge.id]
        else:
            old, weight = inside[edge.id], rng.choice([0.0, 0.1, 3.0])
            update = HyperedgeUpdate.reweight(edge.id, weight)
            inside[edge.id] = Hyperedge(
                id=old.id, sources=old.sources, target=old.target, weight=weight
            )
        graph.apply_update(update)
        if step % 20 == 0:
            wanted = published(list(inside.values()), [START])
            costs = {node: graph.cost(node) for node in graph.nodes}
            assert {n: c for n, c in costs.items() if c is not None} == {
                n: c for n, (c, _) in wanted.items()
            }
    assert len(graph) == len(inside)


def test_a_cycle_of_weight_zero_keeps_nothing_alive() -> None:
    edges = [
        Hyperedge(id="in", sources=(START,), target="a", weight=0),
        Hyperedge(id="there", sources=("a",), target="b", weight=0),
        Hyperedge(id="back", sources=("b",), target="a", weight=0),
    ]
    graph = DRDSP.from_hyperedges(edges)
    graph.apply_update(HyperedgeUpdate.delete("in"))
    assert graph.cost("a") is None
    assert graph.cost("b") is None
    assert graph.find_shortest_hyperpath([START], "b") is None


def test_an_update_looks_only_at_what_it_changes() -> None:
    chain = [
        Hyperedge(id=str(n), sources=(str(n - 1) if n else START,), target=str(n), weight=1)
        for n in range(100)
    ]
    graph = DRDSP.from_hyperedges(chain)
    side = Hyperedge(id="side", sources=("97",), target="leaf", weight=1)
    assert graph.apply_update(HyperedgeUpdate.insert(side)) == 1
    assert graph.apply_update(HyperedgeUpdate.reweight("98", 0.5)) == 2
    assert graph.apply_update(HyperedgeUpdate.delete("99")) == 1
    detour = Hyperedge(id="detour", sources=(START,), target="97", weight=1000)
    assert graph.apply_update(HyperedgeUpdate.insert(detour)) == 0


@pytest.mark.parametrize("hub", [False, True])
def test_what_everything_hangs_from_may_go_and_come_back(hub: bool) -> None:
    # Into a hub, each of these was the best once those before it are gone: n * n looks, if
    # nobody gave up.
    count = 500
    edges = [Hyperedge(id="root", sources=(START,), target="root", weight=1)]
    for n in range(count):
        edges.append(Hyperedge(id=f"in{n}", sources=("root",), target=f"n{n}", weight=n))
        target = "hub" if hub else f"m{n}"
        edges.append(Hyperedge(id=f"out{n}", sources=(f"n{n}",), target=target, weight=0))
    graph = DRDSP.from_hyperedges(edges)
    before = {node: graph.find_shortest_hyperpath([START], node) for node in graph.nodes}
    graph.apply_update(HyperedgeUpdate.delete("root"))
    assert [node for node in graph.nodes if graph.cost(node) is not None] == [START]
    graph.apply_update(HyperedgeUpdate.insert(edges[0]))
    assert before == {node: graph.find_shortest_hyperpath([START], node) for node in graph.nodes}
    assert graph._values._tree.looks[0] == 0


def test_a_repair_that_looks_too_often_is_given_up_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = random.Random(0)
    edges = large(rng, nodes=60, edges=200)
    patient, impatient = DRDSP.from_hyperedges(edges), DRDSP.from_hyperedges(edges)
    for edge in rng.sample(edges, 80):
        patient.apply_update(HyperedgeUpdate.delete(edge.id))
        with monkeypatch.context() as patched:
            patched.setattr(values, "PATIENCE", 0)
            impatient.apply_update(HyperedgeUpdate.delete(edge.id))
        for node in patient.nodes:
            found = patient.find_shortest_hyperpath([START], node)
            assert found == impatient.find_shortest_hyperpath([START], node)


def test_new_nodes_come_with_their_hyperedges() -> None:
    graph = DRDSP()
    for n in range(100):
        sources = (START,) if n == 0 else (START, str(n - 1))
        edge = Hyperedge(id=str(n), sources=sources, target=str(n), weight=1)
        graph.apply_update(HyperedgeUpdate.insert(edge))
    assert graph.cost("99") == 100
    path = graph.find_shortest_hyperpath(["98", START], "99")
    assert path is not None
    assert path.cost == 1


@given(hyperedge(awkward_weights))
def test_what_was_inserted_and_deleted_has_never_been(edge: Hyperedge) -> None:
    graph = DRDSP.from_hyperedges([edge], nodes=NODES)
    before = [graph.find_shortest_hyperpath([START], node) for node in NODES]
    other = Hyperedge(id="other", sources=(START,), target="a", weight=0)
    graph.apply_update(HyperedgeUpdate.insert(other))
    graph.apply_update(HyperedgeUpdate.delete("other"))
    assert before == [graph.find_shortest_hyperpath([START], node) for node in NODES]


@pytest.mark.parametrize(
    "update",
    [
        HyperedgeUpdate.insert(Hyperedge(id="x", sources=("new",), target="new", weight=1)),
        HyperedgeUpdate.insert(Hyperedge(id="x", sources=(), target="new", weight=1)),
        HyperedgeUpdate.insert(Hyperedge(id="x", sources=("new",), target="a", weight=-1)),
        HyperedgeUpdate.insert(Hyperedge(id="in", sources=("new",), target="a", weight=1)),
        HyperedgeUpdate.delete("unknown"),
        HyperedgeUpdate.reweight("unknown", 1),
        HyperedgeUpdate.reweight("in", -1),
        HyperedgeUpdate(action=Action.INSERT, id="in"),
        HyperedgeUpdate(action=Action.REWEIGHT, id="in"),
    ],
)
def test_an_update_that_is_refused_changes_nothing(update: HyperedgeUpdate) -> None:
    edge = Hyperedge(id="in", sources=(START,), target="a", weight=3)
    graph = DRDSP.from_hyperedges([edge])
    with pytest.raises(ValueError, match=r"hyperedge|update"):
        graph.apply_update(update)
    assert graph.nodes == (START, "a")
    assert list(graph.hyperedges()) == [edge]
    assert graph.cost("a") == 3
