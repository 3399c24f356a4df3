"""Capabilities in PostgreSQL, in its twin, and in a simple model (ST-4, ST-8, LE-1, LE-2).

The model holds the list of all that happened and computes from it; and somebody who follows
the changes from mark to mark must see what somebody sees who reads everything.
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule
from msgspec.structs import replace

from pml.domain.approval import Quarantined
from pml.domain.capability import (
    Capability,
    Learning,
    NewCapability,
    PastIntent,
    normalised_intent,
)
from pml.domain.run import RunState
from pml.domain.structure import CapabilityCall, Task
from pml.domain.tools import Tool, changes_of
from pml.domain.trace import ExecutionTrace, ToolDependency
from pml.learning.lifecycle import lifecycle
from pml.learning.priority import priority
from pml.learning.td import learned
from pml.store.ports import Mark, Store
from tests.contract.twins import Twins, run_twins
from tests.store.nouns import a_capability, a_program, a_run, a_structure, a_tool, a_trace

PROCEDURES = st.sampled_from("pqrst")
NAMES = st.sampled_from(["a", "b", "a_2"])
TOOLS = ("read", "write")
DESCRIPTIONS = st.sampled_from(["", "", "new"])
TIMES = st.integers(0, 20)
PROCEDURE_IDS = {procedure: a_capability(procedure=procedure).id for procedure in "pqrst"}
ARGUMENTS = st.integers(0, 3).map(lambda number: f'{{"n":{number}}}')
ENDS = [RunState.SUCCESS] * 3 + [RunState.ERROR, RunState.CANCELLED]
TRACES = st.fixed_dictionaries(
    {
        "state": st.sampled_from(ENDS),
        "intent_text": st.sampled_from(["Read it.", "read  it", "write it", ""]),
        "executed_path": st.sampled_from([("n1",), ("d1", "n1")]),
    }
)


def a_procedure(procedure: str, name: str) -> NewCapability:
    """``p`` and ``q`` read, ``r`` writes, ``s`` calls ``p`` too, ``t`` calls ``s`` and itself."""
    tools = ("fs:write",) if procedure in "rs" else ("fs:read",)
    fields: dict[str, Any] = {"structure": a_structure(*tools)}
    if procedure == "q":
        fields["parameters"] = ()
    if procedure == "s":
        fields["structure"] = a_structure("fs:write", calls=(PROCEDURE_IDS["p"],))
    if procedure == "t":
        fields["structure"] = a_structure(calls=(PROCEDURE_IDS["s"], PROCEDURE_IDS["t"]))
    return a_capability(name, procedure=procedure, **fields)


@dataclass
class Model:
    """One capability: what it is called, and everything that ran."""

    new: NewCapability
    name: str
    stale: bool = False
    runs: list[tuple[ExecutionTrace, str, int]] = field(default_factory=list)
    """Those that taught, with their arguments and when they ended."""

    def check(self, found: Capability) -> None:
        traces = [trace for trace, _, _ in self.runs]
        won = [(trace, arguments) for trace, arguments, _ in self.runs if trace.success]
        learning = Learning()
        for trace in traces:
            learning = learned(learning, trace, self.new.structure)
        different = min(3, len({arguments for _, arguments in won}))
        assert (found.name, found.stale, found.hidden) == (self.name, self.stale, not won)
        assert (found.usage_count, found.success_count) == (len(traces), len(won))
        assert (found.learning, found.distinct_arguments) == (learning, different)
        assert found.lifecycle == lifecycle(
            len(won),
            len(traces) - len(won),
            distinct_arguments=different,
            has_parameters=bool(self.new.parameters),
        )

    def intents(self) -> dict[str, tuple[int, int, bool, int]]:
        known: dict[str, tuple[int, int, bool, int]] = {}
        for trace, _, now_ms in self.runs:
            key = normalised_intent(trace.intent_text)
            won, lost, _, _ = known.get(key, (0, 0, False, 0))
            ends = (won + trace.success, lost + (not trace.success))
            known[key] = (*ends, trace.success, now_ms)
        return known


class Follower:
    """Knows what it was told of changes."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.tools_mark: Mark | None = None
        self.mark: Mark | None = None
        self.tools: dict[str, Tool] = {}
        self.capabilities: dict[str, Capability] = {}
        self.intents: dict[str, list[PastIntent]] = {}

    async def follow(self) -> None:
        tools = await self.store.tool_schemas.changes(self.tools_mark)
        self.tools_mark = tools.mark
        self.tools.update({tool.id: tool for tool in tools.tools})
        for tool_id in tools.gone:
            self.tools.pop(tool_id, None)
        changes = await self.store.capabilities.changes(self.mark)
        self.mark = changes.mark
        for one in changes.capabilities:
            self.capabilities[one.id] = one
            self.intents[one.id] = []
        for intent in changes.intents:
            self.intents[intent.capability_id].append(intent)


class CapabilityTwins(Twins):
    @initialize()
    def empty(self) -> None:
        self.begin()
        self.listed: dict[str, Tool] = {}
        self.ever_listed: dict[str, Tool] = {}
        self.listed_before: dict[str, Tool] = {}
        self.accepted: dict[str, Tool] = {}
        self.called: Counter[tuple[str, str]] = Counter()
        self.model: dict[str, Model] = {}
        self.runs = 0
        self.followers = [Follower(store) for store in self.stores]

    @rule(procedure=PROCEDURES, name=NAMES, now=TIMES)
    def keep(self, procedure: str, name: str, now: int) -> None:
        new = a_procedure(procedure, name)
        said = self.ask(lambda store: store.capabilities.keep(new, now_ms=now))
        assert isinstance(said, dict)
        if new.id not in self.model:
            assert said["name"].startswith(name)
            assert said["name"] not in {model.name for model in self.model.values()}
            self.model[new.id] = Model(new, said["name"])

    @rule(
        procedure=PROCEDURES,
        fields=TRACES,
        arguments=ARGUMENTS,
        now=TIMES,
        again=st.booleans(),
        knew=st.sampled_from(["nothing", "listed", "listed", "listed_before"]),
        callees=st.dictionaries(PROCEDURES, st.integers(1, 3), max_size=2),
    )
    def run(
        self,
        procedure: str,
        fields: dict[str, Any],
        arguments: str,
        *,
        now: int,
        again: bool,
        knew: str,
        callees: dict[str, int],
    ) -> None:
        capability_id = a_procedure(procedure, "a").id
        self.runs += 1
        run_id = f"run-{self.runs}"
        success = fields["state"] is RunState.SUCCESS
        known = fields | {"capability_id": capability_id, "success": success}
        trace = a_trace(f"trace-{self.runs}", run_id, duration_ms=float(now), **known)
        self.ask(lambda store: store.runs.create(a_run(run_id), a_program()))
        tools = None if knew == "nothing" else hashes(getattr(self, knew))
        called = {PROCEDURE_IDS[callee]: number for callee, number in callees.items()}
        for _ in range(1 + again):
            self.ask(lambda store: finished(store, trace, arguments, now, tools, called))
        if capability_id in self.model:
            fresh = tools is None or not self.outdated(capability_id, tools)
            self.taught(self.model[capability_id], trace, arguments, now, fresh=fresh)
            if trace.state is not RunState.CANCELLED:
                known = {one: number for one, number in called.items() if one in self.model}
                self.called.update({(capability_id, one): n for one, n in known.items()})

    def outdated(self, capability_id: str, tools: dict[str, str]) -> bool:
        return any(
            self.listed.get(tool) is None or self.listed[tool].schema_hash() != tools.get(tool)
            for tool in self.reached(capability_id, ()) & set(self.ever_listed)
        )

    def taught(
        self, model: Model, trace: ExecutionTrace, arguments: str, now: int, *, fresh: bool
    ) -> None:
        learning = Learning()
        for before, _, _ in model.runs:
            learning = learned(learning, before, model.new.structure)
        stored = self.ask(lambda store: store.traces.get(trace.id))
        assert isinstance(stored, ExecutionTrace)
        assert stored.priority == priority(learning, trace)
        if trace.state is not RunState.CANCELLED:
            model.runs.append((trace, arguments, now))
            model.stale = model.stale and not (trace.success and fresh)

    @rule(procedure=PROCEDURES, name=NAMES, now=TIMES)
    def rename(self, procedure: str, name: str, now: int) -> None:
        capability_id = a_procedure(procedure, "a").id
        said = self.ask(lambda store: store.capabilities.rename(capability_id, name, now_ms=now))
        if isinstance(said, dict):
            self.model[capability_id].name = name

    @rule(listed=st.dictionaries(st.sampled_from(TOOLS), DESCRIPTIONS))
    def list_tools(self, listed: dict[str, str]) -> None:
        tools = [a_tool(name, description=text) for name, text in listed.items()]
        self.ask(lambda store: store.tool_schemas.replace("fs", tools))
        new = {tool.id: tool for tool in tools}
        gone = set(self.listed) - set(new)
        changed = {name for name in new if self.ever_listed.get(name, new[name]) != new[name]}
        for capability_id, model in self.model.items():
            model.stale |= not (gone | changed).isdisjoint(self.reached(capability_id, ()))
        self.listed_before, self.listed = self.listed, new
        self.ever_listed |= new
        self.accepted = new | self.accepted

    @rule(name=st.sampled_from(TOOLS), description=DESCRIPTIONS)
    def accept(self, name: str, description: str) -> None:
        looked_at = a_tool(name, description=description)
        said = self.ask(
            lambda store: store.tool_schemas.accept(
                looked_at.id, schema_hash=looked_at.schema_hash(), by="ada", now_ms=1
            )
        )
        if self.listed.get(looked_at.id) == looked_at:
            assert said == looked_at
            self.accepted[looked_at.id] = looked_at

    @precondition(lambda self: hasattr(self, "model"))
    @invariant()
    def what_changed_since_it_was_accepted_is_quarantined(self) -> None:
        said = self.ask(lambda store: store.tool_schemas.quarantined())
        assert said == tuple(
            Quarantined(accepted=was, now=replace(now, changed=changes_of(was, now)))
            for tool_id, now in sorted(self.listed.items())
            if (was := self.accepted[tool_id]) != now
        )

    @precondition(lambda self: hasattr(self, "model"))
    @invariant()
    def calls_of_capabilities_are_counted(self) -> None:
        said = self.ask(lambda store: store.capabilities.dependencies())
        edges = cast("tuple[ToolDependency, ...]", said)
        assert {(edge.source, edge.target): edge.count for edge in edges} == self.called

    def reached(self, capability_id: str, above: tuple[str, ...]) -> set[str]:
        """Tools that the capability calls, those of capabilities that are kept included."""
        if capability_id not in self.model or capability_id in above:
            return set()
        nodes = self.model[capability_id].new.structure.nodes
        tools = {node.tool for node in nodes if isinstance(node, Task)}
        callees = [node.capability_id for node in nodes if isinstance(node, CapabilityCall)]
        below = [self.reached(callee, (*above, capability_id)) for callee in callees]
        return tools.union(*below)

    @rule()
    def follow(self) -> None:
        for follower in self.followers:
            self.runner.run(follower.follow())

    @rule(limit=st.integers(0, 5), hidden=st.booleans())
    def list_capabilities(self, limit: int, hidden: bool) -> None:
        self.ask(lambda store: store.capabilities.recent(limit, hidden=hidden))
        self.ask(lambda store: store.capabilities.named(["a", "a_2", "b", "b_2"]))

    @precondition(lambda self: hasattr(self, "model"))
    @invariant()
    def everything_follows_from_what_happened(self) -> None:
        found = self.ask(lambda store: store.capabilities.recent(99, hidden=True))
        assert isinstance(found, tuple)
        assert {one.id for one in found} == set(self.model)
        for one in found:
            model = self.model[one.id]
            model.check(one)
            assert self.intents_of(one.id) == model.intents()

    def intents_of(self, capability_id: str) -> dict[str, tuple[int, int, bool, int]]:
        known = self.ask(lambda store: store.capabilities.intents(capability_id))
        assert isinstance(known, tuple)
        return {
            normalised_intent(one.intent): (
                one.success_count,
                one.failure_count,
                one.last_success,
                one.last_at_ms,
            )
            for one in known
        }

    def teardown(self) -> None:
        for follower in getattr(self, "followers", ()):
            self.runner.run(follower.follow())
            fresh = Follower(follower.store)
            self.runner.run(fresh.follow())
            assert follower.tools == fresh.tools
            assert follower.capabilities == fresh.capabilities
            assert {key: Counter(told) for key, told in follower.intents.items()} == {
                key: Counter(told) for key, told in fresh.intents.items()
            }


def hashes(tools: dict[str, Tool]) -> dict[str, str]:
    return {tool_id: tool.schema_hash() for tool_id, tool in tools.items()}


async def finished(  # noqa: PLR0917
    store: Store,
    trace: ExecutionTrace,
    arguments: str,
    now: int,
    tools: dict[str, str] | None,
    callees: dict[str, int],
) -> None:
    await store.traces.finish(
        trace.run_id,
        trace.state,
        reason="",
        now_ms=now,
        epoch=0,
        trace=trace,
        results=(),
        dependencies=(),
        result_expires_at_ms=now,
        arguments=arguments,
        tools=tools,
        callees=callees,
    )


def test_postgres_its_twin_and_the_model_agree(postgres_dir: Path) -> None:
    run_twins(CapabilityTwins, postgres_dir)
