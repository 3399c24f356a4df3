"""Tools, workflows and calls for tests of the tasks about sequences, and strategies of them."""

from collections.abc import Sequence

from hypothesis import strategies as st

from pml.evaluation.dataset import Call, Dataset, Tool, Workflow

NAMES = "abcdef"


def tools(names: Sequence[str] = NAMES, *, server: str = "s") -> tuple[Tool, ...]:
    return tuple(Tool(id=name, server=server, name=f"tool_{name}") for name in names)


def flow(  # as the record has
    nodes: str,
    edges: Sequence[tuple[int, int]] | None = (),
    *,
    split: str = "train",
    intent: str = "do it",
    key: str | None = None,
    main_tool: str | None = None,
) -> Workflow:
    """A workflow of one-letter tools; a chain if ``edges`` is None."""
    if edges is None:
        edges = [(at, at + 1) for at in range(len(nodes) - 1)]
    return Workflow(
        id=key or f"{split}/{intent}/{nodes}/{edges}",
        intent=intent,
        nodes=tuple(nodes),
        edges=tuple(edges),
        split=split,
        main_tool=main_tool,
    )


def call(episode: str, step: int, tool: str, ok: bool | None = True) -> Call:
    return Call(
        episode_id=episode, step=step, tool_id=tool, ok=ok, arguments={"x": step}, result=tool
    )


def dataset(*workflows: Workflow, names: Sequence[str] = NAMES) -> Dataset:
    return Dataset(name="made", tools=tools(names), workflows=workflows)


SEQUENCES = st.lists(st.text(NAMES[:3], max_size=6), max_size=6)


Graph = tuple[str, list[tuple[int, int]]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Nodes and edges to later nodes; a pair may have two.

    No `Workflow`: the check of its types takes random numbers, which strategies may not.
    """
    nodes = draw(st.text(NAMES, min_size=1, max_size=6))
    pairs = [(a, b) for b in range(len(nodes)) for a in range(b)]
    return nodes, draw(st.lists(st.sampled_from(pairs), max_size=8)) if pairs else []
