"""Nodes that come, go and change while a scorer serves: as if it were made anew (LE-5)."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.features.columns import CAPABILITY_COLUMNS, TOOL_COLUMNS
from pml.features.members import Members
from pml.models.config import ShgatConfig
from pml.models.hypergraph import hypergraph
from pml.models.inputs import NodeInputs
from pml.models.projection import NodeKind
from pml.models.scorer import Query, Scorer
from pml.models.served_nodes import ServedNodes
from tests.models.exports import exported
from tests.models.worlds import CONFIG, DEEP, World, inputs_of, worlds

STATIC = ShgatConfig(dim=CONFIG.dim, heads=2, head_dim=3, feature_dim=2, message_passing=False)
WIDTHS = {NodeKind.TOOLS: len(TOOL_COLUMNS), NodeKind.CAPABILITIES: len(CAPABILITY_COLUMNS)}
Known = dict[NodeKind, dict[str, tuple[np.ndarray, np.ndarray]]]


class Changing:
    """Served nodes, and beside them all that is known, to make them anew from."""

    def __init__(self, world: World, config: ShgatConfig, seed: int) -> None:
        graph, inputs = world.graph, inputs_of(world.graph, config=config)
        self.model = exported(config, graph)
        self.served = ServedNodes(self.model, graph, inputs)
        self.rng = np.random.default_rng(seed)
        tools = len(graph.tools)
        of_tools = zip(inputs.vectors[:tools], inputs.tool_features, strict=True)
        of_others = zip(inputs.vectors[tools:], inputs.capability_features, strict=True)
        self.known: Known = {
            NodeKind.TOOLS: dict(zip(graph.tools, of_tools, strict=True)),
            NodeKind.CAPABILITIES: dict(zip(graph.capabilities, of_others, strict=True)),
        }
        self.members = {one.id: one for one in world.members}

    def anew(self) -> ServedNodes:
        """From all that is known."""
        graph = hypergraph(self.known[NodeKind.TOOLS], self.members.values())
        keys = [(NodeKind.TOOLS, key) for key in graph.tools]
        keys += [(NodeKind.CAPABILITIES, key) for key in graph.capabilities]
        vectors = [self.known[kind][key][0] for kind, key in keys]
        features = {
            kind: np.reshape([self.known[kind][key][1] for of, key in keys if of is kind], (-1, w))
            for kind, w in WIDTHS.items()
        }
        inputs = NodeInputs(
            vectors=np.reshape(vectors, (-1, CONFIG.dim)).astype(np.float32),
            tool_features=features[NodeKind.TOOLS].astype(np.float32),
            capability_features=features[NodeKind.CAPABILITIES].astype(np.float32),
        )
        return ServedNodes(self.model, graph, inputs)

    def drawn(self, size: int) -> np.ndarray:
        return self.rng.normal(size=size).astype(np.float32)

    def change(self, what: int) -> None:
        """One of all that can happen."""
        kind = list(NodeKind)[what % 2]
        keys = list(self.known[kind])
        if what < 4 or not keys:
            self.add(kind, f"new{self.rng.integers(4)}")
            return
        key = keys[self.rng.integers(len(keys))]
        if what < 7:
            self.remove(kind, key)
        elif what == 7:
            self.rewire(key)
        else:
            self.renew(kind, key, vector=what > 9, features=what < 12)

    def add(self, kind: NodeKind, key: str) -> None:
        if key in self.known[kind]:
            return
        vector, features = self.drawn(CONFIG.dim), self.drawn(WIDTHS[kind])
        self.known[kind][key] = (vector, features)
        if kind is NodeKind.TOOLS:
            self.served.add_tool(key, vector, features)
            return
        self.members[key] = self.drawn_members(key, set(self.members))
        self.served.add_capability(self.members[key], vector, features)

    def remove(self, kind: NodeKind, key: str) -> None:
        del self.known[kind][key]
        of_tools = kind is NodeKind.TOOLS
        if not of_tools:
            del self.members[key]
        # One that comes again under the same id is in no capability until it is named again.
        for one in self.members.values():
            tools = tuple(tool for tool in one.tools if tool != key or not of_tools)
            inner = tuple(other for other in one.capabilities if other != key or of_tools)
            self.members[one.id] = Members(id=one.id, tools=tools, capabilities=inner)
        self.served.remove(kind, key)

    def rewire(self, key: str) -> None:
        """Never into a cycle: only what does not contain the capability."""
        self.members[key] = self.drawn_members(key, set(self.members) - {*self.over(key)})
        self.served.change_members(self.members[key])

    def over(self, key: str) -> Iterator[str]:
        yield key
        for one in self.members.values():
            if key in one.capabilities:
                yield from self.over(one.id)

    def drawn_members(self, key: str, inside: set[str]) -> Members:
        tools = [tool for tool in self.known[NodeKind.TOOLS] if self.rng.random() < 0.5]
        inner = [other for other in sorted(inside) if self.rng.random() < 0.4]
        return Members(id=key, tools=tuple(tools), capabilities=tuple(inner))

    def renew(self, kind: NodeKind, key: str, *, vector: bool, features: bool) -> None:
        old = self.known[kind][key]
        own = self.drawn(CONFIG.dim) if vector else None
        other = self.drawn(WIDTHS[kind]) if features else None
        self.known[kind][key] = (
            old[0] if own is None else own,
            old[1] if other is None else other,
        )
        by_kind = {
            NodeKind.TOOLS: self.served.change_tool,
            NodeKind.CAPABILITIES: self.served.change_capability,
        }
        by_kind[kind](key, vector=own, features=other)


def rows_by_id(nodes: ServedNodes, kind: NodeKind) -> dict[str, np.ndarray]:
    keys = nodes.tools if kind is NodeKind.TOOLS else nodes.capabilities
    return dict(zip(keys, nodes.rows(kind).copy(), strict=True))


@given(
    world=worlds(),
    config=st.sampled_from([CONFIG, STATIC]),
    changes=st.lists(st.integers(0, 13), max_size=12),
    seed=st.integers(0, 2**32 - 1),
)
def test_after_any_changes_all_is_as_in_a_fresh_pass(
    world: World, config: ShgatConfig, changes: list[int], seed: int
) -> None:
    changing = Changing(world, config, seed)
    for what in changes:
        changing.change(what)
    fresh = changing.anew()
    for kind in NodeKind:
        found, expected = rows_by_id(changing.served, kind), rows_by_id(fresh, kind)
        assert found.keys() == expected.keys()
        for key, row in found.items():
            np.testing.assert_allclose(row, expected[key], rtol=1e-5, atol=1e-5)
            place = changing.served.place(kind, key)
            assert place is not None
            np.testing.assert_array_equal(changing.served.rows(kind)[place], row)


def served() -> ServedNodes:
    graph = DEEP.graph
    return Scorer(exported(CONFIG, graph), graph, inputs_of(graph)).nodes


def changed(before: ServedNodes, after: ServedNodes) -> set[str]:
    """Ids of nodes whose rows differ in a bit, of those that are in both."""
    return {
        key
        for kind in NodeKind
        for key, row in rows_by_id(before, kind).items()
        if (rows_by_id(after, kind).get(key, row) != row).any()
    }


def test_a_new_tool_changes_no_other_node() -> None:
    before, after = served(), served()
    after.add_tool("new", np.ones(CONFIG.dim, np.float32), np.zeros(WIDTHS[NodeKind.TOOLS], "f4"))
    assert changed(before, after) == set()
    assert after.tools == (*before.tools, "new")


def test_a_new_capability_changes_what_is_in_it_at_any_depth() -> None:
    before, after = served(), served()
    after.add_capability(
        Members(id="new", tools=("t4",), capabilities=("c1",)),
        np.ones(CONFIG.dim, np.float32),
        np.zeros(WIDTHS[NodeKind.CAPABILITIES], np.float32),
    )
    assert changed(before, after) == {"t4", "c1", "t1", "t2"}


def test_scores_of_others_stay_to_the_bit() -> None:
    scorer = Scorer(exported(CONFIG, DEEP.graph), DEEP.graph, inputs_of(DEEP.graph))
    query = Query(vector=np.linspace(-1, 1, CONFIG.dim, dtype=np.float32))
    before = scorer.score_all_tools(query).raw
    for number in range(9):
        scorer.nodes.add_tool(f"new{number}", VECTOR, FEATURES)
    np.testing.assert_array_equal(scorer.score_all_tools(query).raw[: len(before)], before)


def test_other_features_change_their_own_node_only() -> None:
    before, after = served(), served()
    after.change_tool("t1", features=np.ones(WIDTHS[NodeKind.TOOLS], np.float32))
    assert changed(before, after) == {"t1"}


def test_what_a_capability_said_to_its_members_goes_with_it() -> None:
    changing = Changing(DEEP, CONFIG, 0)
    changing.remove(NodeKind.CAPABILITIES, "c3")
    found, fresh = changing.served, changing.anew()
    assert {"c0", "c2", "t0"} <= changed(served(), found)
    for kind in NodeKind:
        for key, row in rows_by_id(fresh, kind).items():
            np.testing.assert_allclose(rows_by_id(found, kind)[key], row, rtol=1e-5, atol=1e-5)


def test_a_member_that_is_left_out_no_longer_hears_the_capability() -> None:
    after = served()
    after.change_members(Members(id="c2", capabilities=("c0", "c1")))
    own, vectors = exported(CONFIG, DEEP.graph).parameters, inputs_of(DEEP.graph).vectors
    expected = own["project.tools.weight"] @ vectors[3] + own["id_embedding.weight"][3]
    np.testing.assert_allclose(after.called(("t3",))[0], expected, atol=1e-6)


def test_features_of_all_tools_are_renewed_at_once() -> None:
    one_by_one, at_once = served(), served()
    rng = np.random.default_rng(5)
    features = rng.normal(size=(len(at_once.tools), WIDTHS[NodeKind.TOOLS])).astype(np.float32)
    for key, row in zip(one_by_one.tools, features, strict=True):
        one_by_one.change_tool(key, features=row)
    at_once.renew_features(NodeKind.TOOLS, features)
    for key, row in rows_by_id(at_once, NodeKind.TOOLS).items():
        np.testing.assert_allclose(row, rows_by_id(one_by_one, NodeKind.TOOLS)[key], atol=1e-6)
    with pytest.raises(ValueError, match="features must be 5 nodes"):
        at_once.renew_features(NodeKind.TOOLS, features[1:])


def test_a_capability_that_nothing_is_linked_to_changes_alone() -> None:
    before, after = served(), served()
    after.change_capability("c4", vector=np.ones(CONFIG.dim, np.float32))
    assert changed(before, after) == {"c4"}


def test_a_node_that_was_trained_on_gets_its_id_embedding_back() -> None:
    graph, inputs = DEEP.graph, inputs_of(DEEP.graph)
    nodes = Scorer(exported(CONFIG, graph), graph, inputs).nodes
    before = rows_by_id(nodes, NodeKind.TOOLS)["t4"]
    nodes.remove(NodeKind.TOOLS, "t4")
    nodes.add_tool("t4", inputs.vectors[4], inputs.tool_features[4])
    np.testing.assert_allclose(rows_by_id(nodes, NodeKind.TOOLS)["t4"], before, atol=1e-6)


FEATURES = np.zeros(WIDTHS[NodeKind.TOOLS], np.float32)
OF_CAPABILITY = np.zeros(WIDTHS[NodeKind.CAPABILITIES], np.float32)
VECTOR = np.ones(CONFIG.dim, np.float32)
NAN = np.full(CONFIG.dim, np.nan, np.float32)
REFUSED = {
    "there is 't1' among the tools": lambda nodes: nodes.add_tool("t1", VECTOR, FEATURES),
    "vector must be finite": lambda nodes: nodes.add_tool("new", NAN, FEATURES),
    "vector must be 6 dim, got 5": lambda nodes: nodes.add_tool("new", VECTOR[:5], FEATURES),
    "features must be": lambda nodes: nodes.change_tool("t1", vector=VECTOR, features=VECTOR),
    "'gone' is not among the tools": lambda nodes: nodes.remove(NodeKind.TOOLS, "gone"),
    "'gone' is not among the capabilities": lambda nodes: nodes.change_members(Members(id="gone")),
    "capability 'c0' contains itself": lambda nodes: nodes.change_members(
        Members(id="c0", tools=("t4",), capabilities=("c3",))
    ),
    "capability 'new' contains itself": lambda nodes: nodes.add_capability(
        Members(id="new", capabilities=("new",)), VECTOR, OF_CAPABILITY
    ),
}


@pytest.mark.parametrize("problem", REFUSED)
def test_a_change_that_is_refused_changes_nothing(problem: str) -> None:
    before, after = served(), served()
    with pytest.raises(ValueError, match=problem):
        REFUSED[problem](after)
    assert changed(before, after) == set()
    assert (after.tools, after.capabilities) == (before.tools, before.capabilities)
    # Nor is anything half-linked: a later change reaches what it reached before.
    for nodes in (before, after):
        nodes.change_tool("t3", vector=VECTOR)
    assert changed(before, after) == set()
