"""One request through the loop: prepare, ask, run, record, answer.

Everything that can refuse a program refuses it before the sandbox has it; everything that
happens after that is in the log first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import structlog

from pml.analysis.parameters import bind_capability
from pml.domain.capability import Capability
from pml.domain.limits import Limits
from pml.domain.permissions import ApprovalMode, Permission
from pml.domain.program import Program
from pml.domain.record import JsonText, encode
from pml.domain.response import ExecuteError, ExecuteRequest, ExecuteResponse, Suggestions
from pml.domain.run import Run, RunProgram, RunState
from pml.domain.sanitising import redact_text
from pml.errors import (
    NotFoundError,
    RunStateError,
    SandboxError,
    StoreError,
    UpstreamUnavailableError,
)
from pml.loop.foresee import Foreseen, foresee
from pml.loop.library import Library
from pml.loop.nested import permissions_of
from pml.loop.places import NoPlaceError, Places
from pml.loop.prepare import Prepared, Refusal, examine, prepare, prepare_known, problem_of
from pml.loop.recall import recall
from pml.loop.under_way import Emit, Means, RunUnderWay

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """Who wants a run, and how."""

    intent: str
    timeout_ms: int
    emit: Emit
    level: int = 0
    """Of nesting."""
    parent_run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Act(Means):
    """Executes requests over one store, one set of servers and one pool of sandboxes."""

    library: Library
    user_id: str
    owner: str
    """Names this process in the runs that it runs."""
    emit: Emit
    """Told of what happens in runs whose request names nobody else."""
    places: Places

    async def execute(
        self, request: ExecuteRequest, *, emit: Emit | None = None
    ) -> ExecuteResponse:
        """Run one request to its end, or to the point where someone is asked.

        With code or a DAG that is run, and kept as a capability; with the intent alone a known
        capability is run where the match is clear, else the answer holds suggestions (MCP-2).
        Bad input and failures come back as a response with ``status`` and ``error``; on
        cancellation the run is closed first.
        """
        if problem := problem_of(request, self.limits):
            return _refused(Refusal(ExecuteError(code="bad_request", message=problem)))
        asked = _Asked(intent=request.intent, timeout_ms=request.timeout_ms, emit=emit or self.emit)
        try:
            await self._close_the_unclosed()
            async with self.places.place(0, timeout_ms=request.timeout_ms, user=self.user_id):
                return await self._execute(request, asked)
        except StoreError as exc:
            error = ExecuteError(code="store_unavailable", message=str(exc))
        except SandboxError as exc:
            error = ExecuteError(code="sandbox_unavailable", message=str(exc))
        except NoPlaceError as exc:
            busy = _busy(self.limits, exc.limit, request.timeout_ms)
            error = ExecuteError(code="busy", message=busy)
        return ExecuteResponse(status=RunState.ERROR, error=error)

    async def _close_the_unclosed(self) -> None:
        for run_id in list(self.unclosed):
            close_it = self.unclosed.pop(run_id)
            try:
                await close_it()
            except StoreError:
                self.unclosed[run_id] = close_it
                return
            except (RunStateError, NotFoundError):
                _log.info("closed_by_another_process", run=run_id)

    async def analyse(self, source: str) -> Program:
        """What the program would do; nothing runs, and servers are only listed.

        Raises:
            StoreError: the database is lost.
        """
        return (await examine(source, library=self.library, limits=self.limits)).program

    async def plan(self, source: str, args: Mapping[str, Any]) -> Foreseen:
        """What the program would do with these arguments (HIL-2).

        Raises:
            StoreError: the database is lost.
            UpstreamUnavailableError: a server that it names could not be asked for its tools.
        """
        found = await examine(source, library=self.library, limits=self.limits)
        for server, reason in found.unavailable.items():
            raise UpstreamUnavailableError(server, reason)
        return foresee(
            found.program,
            args,
            catalog=found.catalog,
            callees=found.callees,
            judge=self.permissions,
        )

    async def _execute(self, request: ExecuteRequest, asked: _Asked) -> ExecuteResponse:
        if request.code is not None or request.dag is not None:
            prepared = await prepare(request, library=self.library, limits=self.limits)
            if isinstance(prepared, Refusal):
                return _refused(prepared)
            return await self._run(prepared, asked)
        recalled = await recall(
            request,
            library=self.library,
            capabilities=self.store.capabilities,
            judge=self.permissions,
        )
        if isinstance(recalled, Suggestions):
            return ExecuteResponse(status="suggestions", suggestions=recalled)
        response = await self._run(recalled, asked)
        return msgspec.structs.replace(response, mode="speculation")

    async def _run(self, prepared: Prepared, asked: _Asked) -> ExecuteResponse:
        """Run what may run, or ask first."""
        permissions = self._permissions_of(prepared)
        approvals = tuple(p for p in permissions if p.approval_mode is ApprovalMode.HIL)
        capability = prepared.capability
        now_ms = self.entropy.now_ms()
        if prepared.new is not None:
            capability = await self.store.capabilities.keep(prepared.new, now_ms=now_ms)
        run = Run(
            id=self.entropy.run_id(),
            user_id=self.user_id,
            intent=redact_text(asked.intent) if prepared.new is None else prepared.new.intent,
            state=RunState.APPROVAL_REQUIRED if approvals else RunState.RUNNING,
            source_hash=prepared.source_hash(),
            owner=self.owner,
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
            timeout_ms=asked.timeout_ms,
            capability_id=None if capability is None else capability.id,
            parent_run_id=asked.parent_run_id,
        )
        under_way = RunUnderWay(
            means=self,
            run=run,
            kept=self._kept(prepared),
            prepared=prepared,
            emit=asked.emit,
            run_nested=partial(self._run_nested, parent=run, asked=asked),
        )
        if approvals:
            await self.store.runs.create(run, under_way.kept)
            return under_way.ask(approvals, prepared.plan(permissions))
        response = await under_way.run_program()
        self.library.outdated()
        return response

    def _kept(self, prepared: Prepared) -> RunProgram:
        return RunProgram(
            source=prepared.source,
            instrumented=prepared.instrumented,
            structure=encode(prepared.structure).decode(),
            arguments=dict(prepared.arguments),
            seed=self.entropy.seed(),
            lifted=dict(prepared.lifted),
            literals=prepared.literals,
        )

    def _permissions_of(self, prepared: Prepared) -> tuple[Permission, ...]:
        """What holds for everything that may be called (HIL-1)."""
        return permissions_of(
            prepared.structure, prepared.callees, prepared.catalog, self.permissions
        )

    async def _run_nested(
        self, capability: Capability, arguments: JsonText, *, parent: Run, asked: _Asked
    ) -> ExecuteResponse:
        """Run a capability that the code of another run calls (EX-10).

        Raises:
            StoreError: the database is lost.
            SandboxError: there is no sandbox to be had.
        """
        given = msgspec.json.decode(arguments)
        if not isinstance(given, dict):
            return _invalid("a capability takes one object with named arguments")
        bound = bind_capability(capability.parameters, given)
        if wrong := (*(f"{name} is missing" for name in bound.missing), *bound.problems):
            return _invalid("; ".join(wrong))
        prepared = await prepare_known(capability, bound, library=self.library)
        if isinstance(prepared, Refusal):
            return _refused(prepared)
        nested = _Asked(
            intent=capability.intent,
            timeout_ms=parent.timeout_ms,
            emit=asked.emit,
            level=asked.level + 1,
            parent_run_id=parent.id,
        )
        try:
            async with self.places.place(nested.level, timeout_ms=nested.timeout_ms):
                return await self._run(prepared, nested)
        except NoPlaceError:
            return _refused(Refusal(ExecuteError(code="busy", message=_BUSY_NESTED)))


_BUSY_NESTED = "too many nested runs were under way all the time (nested_runs): call fewer at once"


def _invalid(message: str) -> ExecuteResponse:
    return _refused(Refusal(ExecuteError(code="invalid_params", message=message)))


def _refused(refusal: Refusal) -> ExecuteResponse:
    return ExecuteResponse(
        status=RunState.ERROR, error=refusal.error, diagnostics=refusal.diagnostics
    )


def _busy(limits: Limits, limit: str, timeout_ms: int) -> str:
    whose = " of yours" if limit == "runs_per_user" else ""
    return (
        f"{getattr(limits, limit)} runs{whose} are under way ({limit}) and none ended within "
        f"{timeout_ms} ms: nothing has run, send the request again later"
    )
