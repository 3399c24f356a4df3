"""Histories of a capability's runs, for laws over them."""

from hypothesis import strategies as st

from pml.domain.capability import Learning
from pml.domain.structure import Decision, StaticStructure, Task
from pml.domain.trace import BranchDecision, ExecutionTrace
from pml.learning.td import learned
from tests.store.nouns import a_trace

STRUCTURE = StaticStructure(
    nodes=(
        Task(id="n1", tool="fs:stat"),
        Decision(id="d1", condition="file.exists"),
        Task(id="n2", tool="fs:read"),
        Decision(id="d2", condition="catch"),
    ),
    edges=(),
    complete=True,
)

PATHS = st.sampled_from([(), ("n1",), ("n1", "d1"), ("n1", "d1", "n2")])
DECISIONS = st.lists(
    st.builds(
        BranchDecision,
        node_id=st.sampled_from(["d1", "d2", "d9"]),
        outcome=st.sampled_from(["true", "false", "case:x"]),
    ),
    max_size=4,
).map(tuple)


@st.composite
def traces(draw: st.DrawFn) -> ExecutionTrace:
    """A trace that teaches."""
    success = draw(st.booleans())
    return a_trace(
        executed_path=draw(PATHS),
        decisions=draw(DECISIONS),
        success=success,
        state="success" if success else "error",
        duration_ms=draw(st.floats(0, 1e6)),
    )


HISTORIES = st.lists(traces(), min_size=1, max_size=30)


def learning_of(history: list[ExecutionTrace]) -> Learning:
    learning = Learning()
    for trace in history:
        learning = learned(learning, trace, STRUCTURE)
    return learning
