"""An index that was changed answers as one built anew from what is there (MCP-1)."""

from collections.abc import Iterator

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from numpy.typing import NDArray

from pml.discovery.entry import Entry
from pml.discovery.index import Index
from pml.domain.capability import PastIntent
from pml.domain.discovery import Found
from tests.discovery.entries import index_of, sentences, servers_of, tool

TOOLS = ("fs:read_file", "fs:write", "db:read_file")
QUERIES = ("read the report", "not write 2024 files", "read_file", "天 été", "the")

vectors = st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 1.0])] * 2).map(
    lambda pair: np.array(pair, np.float32)
)
"""Their products are exact, so that equal cosines are equal in any order of rows."""


@st.composite
def capabilities(draw: st.DrawFn) -> Entry:
    capability_id = draw(st.sampled_from(["cap_a", "cap_b", "cap_c"]))
    intents = [
        PastIntent(
            capability_id=capability_id,
            intent=intent,
            success_count=draw(st.integers(0, 1)),
            failure_count=0,
            last_success=draw(st.booleans()),
            last_at_ms=draw(st.integers(0, 2)),
        )
        for intent in draw(st.lists(sentences, max_size=3, unique=True))
    ]
    tools = draw(st.lists(st.sampled_from(TOOLS), max_size=2))
    return Entry(
        id=capability_id,
        kind=Found.CAPABILITY,
        name=draw(st.sampled_from(["read_file", capability_id])),
        text=draw(sentences),
        tools=tuple(tools),
        servers=servers_of(tools),
        intents=tuple(intents),
    )


class IndexMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.index = Index()
        self.entries: dict[tuple[Found, str], Entry] = {}
        self.vectors: dict[str, NDArray[np.float32]] = {}

    @rule(tool_id=st.sampled_from(TOOLS), text=sentences)
    def put_tool(self, tool_id: str, text: str) -> None:
        self._put(tool(tool_id, text))

    @rule(entry=capabilities())
    def put_capability(self, entry: Entry) -> None:
        self._put(entry)

    def _put(self, entry: Entry) -> None:
        self.index.put(entry)
        self.entries[entry.kind, entry.id] = entry
        self._keep_owned_vectors()

    @rule(kind=st.sampled_from(Found), entry_id=st.sampled_from([*TOOLS, "cap_a", "cap_b"]))
    def remove(self, kind: Found, entry_id: str) -> None:
        self.index.remove(kind, entry_id)
        self.entries.pop((kind, entry_id), None)
        self._keep_owned_vectors()

    @rule(data=st.data())
    def put_vectors(self, data: st.DataObject) -> None:
        keys = [*self.index.texts(), "tool:of no entry"]
        new = data.draw(st.dictionaries(st.sampled_from(keys), vectors, max_size=4))
        self.index.put_vectors(new)
        self.vectors |= new
        self._keep_owned_vectors()

    def _keep_owned_vectors(self) -> None:
        owned = index_of(self.entries.values()).texts()
        self.vectors = {key: vector for key, vector in self.vectors.items() if key in owned}

    @invariant()
    def answers_as_if_built_anew(self) -> None:
        anew = index_of(sorted(self.entries.values(), key=lambda entry: entry.text))
        anew.put_vectors(self.vectors)
        assert self.index.texts() == anew.texts()
        for ranking, expected in zip(_rankings(self.index), _rankings(anew), strict=True):
            assert ranking == expected


def _rankings(index: Index) -> Iterator[object]:
    vector = np.array([0.5, 1.0], np.float32)
    for query in QUERIES:
        yield index.rank(query)
        yield index.rank(query, kind="tool", limit=1, offset=1)
        yield index.rank(query, kind="capability", vector=vector)
        yield index.past_equal(query)
        yield index.past_alike(query, 2)
        yield index.capabilities_named(query)


TestIndex = IndexMachine.TestCase
TestIndex.settings = settings(max_examples=60, stateful_step_count=15, deadline=None)
