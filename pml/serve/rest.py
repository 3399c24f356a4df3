"""REST: what people and their programs see and say of runs, approvals, grants and tools (HIL-4).

Thin, as the endpoint: each route is one question to the store or one request to the loop.
Reads take the role viewer, steering agent, answers for a person approver, accepting tools
admin.  What leaves goes through `outward`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pml.domain.approval import Grant, Role
from pml.domain.record import Record
from pml.domain.response import ExecuteResponse
from pml.domain.steering import (
    AbortRequest,
    ApprovalAnswer,
    ContinueRequest,
    ReplanRequest,
)
from pml.domain.tools import Tool
from pml.domain.trace import ExecutionTrace
from pml.errors import NotFoundError
from pml.serve.ports import Bench
from pml.serve.rest_records import (
    Abort,
    Acceptance,
    Answer,
    ApprovalList,
    AuditList,
    ChangedTool,
    Continue,
    GrantList,
    NewPlan,
    QuarantineList,
    Recent,
    RecentAudit,
    RecentRuns,
    RunList,
    RunView,
)
from pml.serve.routes import Asked, Route


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """Answers requests for one bench."""

    bench: Bench
    now_ms: Callable[[], int]

    def routes(self) -> tuple[Route, ...]:
        """The whole table."""
        return (*self._runs(), *self._steering(), *self._consent(), *self._tools())

    def _runs(self) -> tuple[Route, ...]:
        return (
            Route(
                method="GET",
                path="/api/runs",
                role=Role.VIEWER,
                summary="The latest runs",
                answer=self.runs,
                returns=RunList,
                query=RecentRuns,
            ),
            Route(
                method="GET",
                path="/api/runs/{run_id}",
                role=Role.VIEWER,
                summary="One run, and how it stands",
                answer=self.run,
                returns=RunView,
            ),
            Route(
                method="GET",
                path="/api/runs/{run_id}/trace",
                role=Role.VIEWER,
                summary="What a run that has ended did",
                answer=self.trace,
                returns=ExecutionTrace,
            ),
        )

    def _steering(self) -> tuple[Route, ...]:
        def steers(word: str, summary: str, answer: Any, body: type[Record]) -> Route:  # noqa: ANN401
            return Route(
                method="POST",
                path=f"/api/runs/{{run_id}}/{word}",
                role=Role.AGENT,
                summary=summary,
                answer=answer,
                returns=ExecuteResponse,
                body=body,
            )

        return (
            steers("continue", "Let a run go on", self.go_on, Continue),
            steers("abort", "End a run", self.abort, Abort),
            steers("replan", "End a run and go on with other code", self.replan, NewPlan),
        )

    def _consent(self) -> tuple[Route, ...]:
        return (
            Route(
                method="GET",
                path="/api/approvals",
                role=Role.VIEWER,
                summary="What waits for a person",
                answer=self.approvals,
                returns=ApprovalList,
                query=Recent,
            ),
            Route(
                method="POST",
                path="/api/approvals/{approval_id}",
                role=Role.APPROVER,
                summary="Answer, and go on with the run or end it",
                answer=self.decide,
                returns=ExecuteResponse,
                body=Answer,
            ),
            Route(
                method="GET",
                path="/api/grants",
                role=Role.VIEWER,
                summary="What is remembered",
                answer=self.grants,
                returns=GrantList,
            ),
            Route(
                method="DELETE",
                path="/api/grants/{grant_id}",
                role=Role.APPROVER,
                summary="Revoke a grant",
                answer=self.revoke,
                returns=Grant,
            ),
            Route(
                method="GET",
                path="/api/audit",
                role=Role.VIEWER,
                summary="The audit log",
                answer=self.audit,
                returns=AuditList,
                query=RecentAudit,
            ),
        )

    def _tools(self) -> tuple[Route, ...]:
        return (
            Route(
                method="GET",
                path="/api/tools/quarantined",
                role=Role.VIEWER,
                summary="Tools that changed since they were accepted",
                answer=self.quarantined,
                returns=QuarantineList,
            ),
            Route(
                method="POST",
                path="/api/tools/quarantined/accept",
                role=Role.ADMIN,
                summary="Accept a changed tool",
                answer=self.accept,
                returns=Tool,
                body=Acceptance,
            ),
        )

    async def runs(self, asked: Asked) -> Record:
        """See `Route.summary`, as for all of these."""
        return RunList(
            runs=await self.bench.store.runs.recent(asked.query.limit, asked.query.state)
        )

    async def run(self, asked: Asked) -> Record:
        """One run."""
        run = await self.bench.store.runs.get(asked.path["run_id"])
        return RunView(run=run, standing=await self.bench.steering.status(run.id))

    async def trace(self, asked: Asked) -> Record:
        """The latest trace of a run."""
        run_id = asked.path["run_id"]
        await self.bench.store.runs.get(run_id)
        traces = await self.bench.store.traces.of_run(run_id)
        if not traces:
            hint = "a run has one when it has ended"
            raise NotFoundError("trace", run_id, hint)  # noqa: EM101  # a kind
        return traces[-1]

    async def go_on(self, asked: Asked) -> Record:
        """Let a run go on."""
        body: Continue = asked.body
        request = ContinueRequest(
            workflow_id=asked.path["run_id"],
            checkpoint_id=body.checkpoint_id,
            resolutions=body.resolutions,
        )
        return await self.bench.steering.go_on(request, by=asked.by)

    async def abort(self, asked: Asked) -> Record:
        """End a run."""
        request = AbortRequest(workflow_id=asked.path["run_id"], reason=asked.body.reason)
        return await self.bench.steering.abort(request, by=asked.by)

    async def replan(self, asked: Asked) -> Record:
        """Other code."""
        said = {name: getattr(asked.body, name) for name in NewPlan.__struct_fields__}
        request = ReplanRequest(workflow_id=asked.path["run_id"], **said)
        return await self.bench.steering.replan(request, by=asked.by)

    async def approvals(self, asked: Asked) -> Record:
        """What waits."""
        return ApprovalList(approvals=await self.bench.store.approvals.pending(asked.query.limit))

    async def decide(self, asked: Asked) -> Record:
        """A person's answer; the run that was asked for goes on, whichever run asked."""
        approval = await self.bench.store.approvals.get(asked.path["approval_id"])
        body: Answer = asked.body
        request = ApprovalAnswer(
            workflow_id=await self.bench.steering.root_of(approval.run_id),
            approval_id=approval.id,
            approved=body.approved,
            note=body.note,
            remember=body.remember,
        )
        return await self.bench.steering.answer(request, by=asked.by)

    async def grants(self, asked: Asked) -> Record:  # noqa: ARG002  # every route is asked
        """What is remembered."""
        return GrantList(grants=await self.bench.store.grants.all())

    async def revoke(self, asked: Asked) -> Record:
        """One grant less."""
        return await self.bench.store.grants.revoke(
            asked.path["grant_id"], by=asked.by.name, now_ms=self.now_ms()
        )

    async def audit(self, asked: Asked) -> Record:
        """The log."""
        query: RecentAudit = asked.query
        entries = await self.bench.store.audit.recent(query.limit, run_id=query.run_id)
        return AuditList(entries=entries)

    async def quarantined(self, asked: Asked) -> Record:  # noqa: ARG002
        """What changed."""
        held = await self.bench.store.tool_schemas.quarantined()
        return QuarantineList(
            tools=tuple(
                ChangedTool(
                    accepted=each.accepted, now=each.now, schema_hash=each.now.schema_hash()
                )
                for each in held
            )
        )

    async def accept(self, asked: Asked) -> Record:
        """A tool as it is described now."""
        body: Acceptance = asked.body
        tool = await self.bench.store.tool_schemas.accept(
            body.tool,
            schema_hash=body.schema_hash,
            by=asked.by.name,
            now_ms=self.now_ms(),
        )
        self.bench.library.outdated()
        return tool
