"""From log to trace: path, results and edges between tools (ST-3, ST-5, EX-7, rule 10)."""

from collections import Counter
from itertools import combinations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.permissions import Effect
from pml.domain.run import Failed, Returned, Run, RunState
from pml.domain.structure import (
    Decision,
    Edge,
    EdgeType,
    Evidence,
    Fork,
    Join,
    StaticStructure,
    Task,
)
from pml.domain.trace import DependencyType
from pml.runtime.recorder import dependencies, executed_path, full_results, project

TOOLS = ("fs:read", "git:log", "time:now")
EMPTY = StaticStructure(nodes=(), edges=(), complete=True)


spans = st.lists(
    st.tuples(st.sampled_from(TOOLS), st.integers(0, 12), st.integers(1, 8)), max_size=8
)


def ledger_of(calls: list[tuple[str, int, int]]) -> Ledger:
    """A log whose calls have these tools, starts and durations, in order of time."""
    ledger = Ledger()
    numbers = [
        ledger.issue(site="n1", tool=tool, arguments="{}", effect=Effect.READ, at_ms=0).call
        for tool, _, _ in calls
    ]
    happenings = sorted(  # at one moment, what ends comes before what starts
        [(start, 1, number) for number, (_, start, _) in zip(numbers, calls, strict=True)]
        + [(start + d, 0, number) for number, (_, start, d) in zip(numbers, calls, strict=True)]
    )
    for at_ms, starts, number in happenings:
        if starts:
            ledger.attempt(number, at_ms)
        else:
            duration = float(calls[number][2])
            ledger.deliver(number, Returned(value="1"), at_ms, duration)
    return ledger


def brute_force(calls: list[tuple[str, int, int]]) -> set[tuple[str, str, DependencyType]]:
    """The definition, word for word, over all pairs and triples."""
    edges = set()
    for (a, start_a, d_a), (b, start_b, d_b) in combinations(calls, 2):
        if start_a < start_b + d_b and start_b < start_a + d_a:
            first, second = sorted((a, b))
            edges.add((first, second, DependencyType.CO_OCCURRENCE))
    for a, start_a, d_a in calls:
        for b, start_b, _ in calls:
            between = any(
                start_a + d_a <= start_c and start_c + d_c <= start_b for _, start_c, d_c in calls
            )
            if start_a + d_a <= start_b and not between:
                edges.add((a, b, DependencyType.SEQUENCE))
    return edges


@given(spans)
def test_edges_between_tools_equal_brute_force_over_all_pairs(
    calls: list[tuple[str, int, int]],
) -> None:
    found = {(e.source, e.target, e.type) for e in dependencies(EMPTY, ledger_of(calls))}
    assert found == brute_force(calls)


def test_weights_are_those_of_the_requirement_and_co_occurrence_is_one_row() -> None:
    edges = dependencies(EMPTY, ledger_of([("b:y", 0, 5), ("a:x", 1, 5), ("c:z", 9, 1)]))
    assert Counter((e.source, e.target, e.type.value, e.weight) for e in edges) == Counter(
        [
            ("a:x", "b:y", "co_occurrence", 0.4),
            ("a:x", "c:z", "sequence", 0.5),
            ("b:y", "c:z", "sequence", 0.5),
        ]
    )


def test_data_flow_in_the_code_gives_an_inferred_provides_edge() -> None:
    structure = StaticStructure(
        nodes=(Task(id="n1", tool="a:x"), Task(id="n2", tool="b:y")),
        edges=(Edge(source="n1", target="n2", type=EdgeType.PROVIDES, evidence=Evidence.DATAFLOW),),
        complete=True,
    )
    (edge,) = dependencies(structure, Ledger())
    assert (edge.source, edge.target, edge.type, edge.edge_source) == (
        "a:x",
        "b:y",
        DependencyType.PROVIDES,
        "inferred",
    )


FORKED = StaticStructure(
    nodes=(
        Decision(id="d1", condition="x"),
        Fork(id="f1", combinator="all"),
        Task(id="n1", tool="a:x"),
        Task(id="n2", tool="b:y"),
        Join(id="j1"),
        Task(id="n3", tool="c:z"),
    ),
    edges=(
        Edge(source="f1", target="n1", type=EdgeType.SEQUENCE),
        Edge(source="f1", target="n2", type=EdgeType.SEQUENCE),
        Edge(source="n1", target="j1", type=EdgeType.SEQUENCE),
        Edge(source="n2", target="j1", type=EdgeType.SEQUENCE),
    ),
    complete=True,
)


def forked(*, second_answers: bool) -> Ledger:
    ledger = Ledger()
    ledger.decide("d1", "false", 1)
    ledger.reach("f1", 1)
    for site, tool in (("n2", "b:y"), ("n1", "a:x")):
        ledger.issue(site=site, tool=tool, arguments='{"key": 1}', effect=Effect.WRITE, at_ms=2)
    ledger.attempt(0, 2)
    ledger.attempt(1, 2)
    ledger.deliver(1, Returned(value='{"token": "ghp_' + "a" * 36 + '"}'), 5, 3.0)
    if second_answers:
        ledger.deliver(0, Failed(code="tool_error", message="no"), 6, 4.0)
    return ledger


def test_the_path_holds_each_reached_node_once_in_structure_order() -> None:
    assert executed_path(FORKED, forked(second_answers=True)) == ("d1", "f1", "n1", "n2", "j1")


def test_a_join_is_not_reached_while_a_call_before_it_is_open() -> None:
    assert executed_path(FORKED, forked(second_answers=False)) == ("d1", "f1", "n1", "n2")


def run(state: RunState) -> Run:
    return Run(
        id="r",
        intent="try it",
        state=state,
        source_hash="0",
        owner="o",
        created_at_ms=1,
        updated_at_ms=9,
        timeout_ms=1,
    )


def test_a_trace_is_sanitised_and_says_what_is_in_doubt() -> None:
    ledger = forked(second_answers=False)
    trace = project(run(RunState.IN_DOUBT), FORKED, ledger, {"password": "hunter2"}, Limits())
    assert trace.initial_context == {"password": "[REDACTED]"}
    doubtful, answered = trace.task_results
    assert (doubtful.task_id, doubtful.error_code, doubtful.delivered) == ("n2", "in_doubt", False)
    assert answered.result == {"token": "[REDACTED]"}
    assert "ghp_" not in str(full_results(ledger))
    assert [(d.node_id, d.outcome) for d in trace.decisions] == [("d1", "false")]


def test_a_large_value_is_cut_from_the_trace_and_whole_in_the_results() -> None:
    ledger = Ledger()
    ledger.issue(site="n1", tool="a:x", arguments="{}", effect=Effect.READ, at_ms=1)
    ledger.attempt(0, 1)
    text = '"' + "word " * 4_000 + '"'
    ledger.deliver(0, Returned(value=text), 2, 1.0)
    trace = project(run(RunState.SUCCESS), EMPTY, ledger, {}, Limits())
    assert trace.task_results[0].result == {"_truncated": True, "_originalSize": len(text)}
    assert full_results(ledger) == (("n1", text),)


def test_a_mock_is_marked_and_so_is_the_trace() -> None:
    """EX-6: which task was mocked is said by the log, whatever the permissions say by now."""
    ledger = Ledger()
    for number, mocked in enumerate((True, False)):
        ledger.issue(site="n1", tool="a:x", arguments="{}", effect=Effect.READ, at_ms=1)
        ledger.deliver(number, Returned(value="1", mocked=mocked), 2)
    dry = msgspec.structs.replace(run(RunState.SUCCESS), dry_run=True)
    trace = project(dry, EMPTY, ledger, {}, Limits())
    assert trace.dry_run
    assert [task.mocked for task in trace.task_results] == [True, False]
    assert not project(run(RunState.SUCCESS), EMPTY, ledger, {}, Limits()).dry_run
