"""A store with runs to ask about, and the people who answer; shared by the tests of asking."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

from pml.analysis.analyse import analyse
from pml.analysis.plan import plan_of
from pml.domain.approval import Principal, Role
from pml.domain.capability import Capability
from pml.domain.permissions import Effect, Permission
from pml.domain.plan import Plan
from pml.domain.record import JsonText, encode
from pml.domain.run import Issued, Run, RunProgram, RunState
from pml.domain.tools import Catalog, Tool
from pml.loop.asking import Asking
from pml.store.memory import memory_store
from pml.store.ports import Store

CATALOG = Catalog(
    {
        "fs": [Tool(server="fs", name=name) for name in ("read", "write", "delete")],
        "net": [Tool(server="net", name="post")],
    }
)
ANN = Principal(name="ann", role=Role.APPROVER)
BOB = Principal(name="bob", role=Role.ADMIN)
AGENT = Principal(name="claude", role=Role.AGENT)
READER = Principal(name="eve", role=Role.VIEWER)
TTL_S = 60
HOURS = 3_600


@dataclass
class Desk:
    """Where requests are made and answered; its clock is moved by the test."""

    agents_may_approve: bool = False
    now_ms: int = 1_000_000
    store: Store = field(default_factory=memory_store)
    ids: "count[int]" = field(default_factory=lambda: count(1))

    @property
    def asking(self) -> Asking:
        return Asking(
            store=self.store,
            now_ms=lambda: self.now_ms,
            new_id=lambda: f"a{next(self.ids)}",
            ttl_s=TTL_S,
            agents_may_approve=self.agents_may_approve,
        )

    async def begin(
        self, source: str, *, parent: Run | None = None, run_id: str = "r1", **args: object
    ) -> "Asked":
        """A run of the program in the store, waiting for approval."""
        asked = Asked.of(source, args, run_id=run_id, parent=parent, now_ms=self.now_ms)
        await self.store.runs.create(asked.run, asked.kept)
        return asked


@dataclass(frozen=True)
class Asked:
    """A run that waits, and what is known of it."""

    run: Run
    kept: RunProgram
    plan: Plan

    @classmethod
    def of(
        cls,
        source: str,
        args: Mapping[str, object],
        *,
        run_id: str,
        parent: Run | None = None,
        now_ms: int = 0,
        callees: Mapping[str, Capability] | None = None,
    ) -> "Asked":
        program = analyse(source, CATALOG)
        assert program.errors == ()
        arguments = {name: json.dumps(value) for name, value in args.items()}
        source_hash = hashlib.sha256(source.encode()).hexdigest()
        run = Run(
            id=run_id,
            intent="tidy up",
            state=RunState.APPROVAL_REQUIRED,
            source_hash=source_hash,
            owner="here/1",
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
            timeout_ms=30_000,
            parent_run_id=None if parent is None else parent.id,
        )
        kept = RunProgram(
            source=source,
            instrumented=program.instrumented,
            structure=encode(program.structure).decode(),
            arguments=arguments,
            seed=7,
        )
        tools = program.structure.tools()
        plan = plan_of(
            program.structure,
            source_hash=source_hash,
            arguments=arguments,
            tools=[Permission(tool=tool) for tool in tools],
            callees=callees or {},
        )
        return cls(run, kept, plan)


def call(
    site: str, tool: str, arguments: Mapping[str, object] | JsonText = "{}", *, number: int = 0
) -> Issued:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return Issued(
        seq=number,
        at_ms=0,
        call=number,
        site=site,
        occurrence=1,
        tool=tool,
        arguments=text,
        effect=Effect.WRITE,
    )


def tool(tool_id: str, catalog: Catalog = CATALOG) -> Tool:
    found = catalog.find(tool_id)
    assert found is not None
    return found
