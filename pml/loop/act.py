"""One request through the loop: prepare, ask, run, record, answer.

Everything that can refuse a program refuses it before the sandbox has it; everything that
happens after that is in the log first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from pml.domain.limits import Limits
from pml.domain.program import Program
from pml.domain.response import ExecuteRequest, ExecuteResponse, Suggestions
from pml.errors import SandboxError, StoreError, UpstreamUnavailableError
from pml.loop.asked import Asked
from pml.loop.engine import Engine
from pml.loop.foresee import Foreseen, foresee
from pml.loop.means import Emit
from pml.loop.places import NoPlaceError
from pml.loop.prepare import examine, prepare
from pml.loop.problems import problem_of
from pml.loop.recall import recall
from pml.loop.surroundings import Refusal, refusal, refused
from pml.loop.unclosed import close_the_unclosed
from pml.runtime.mocks import as_texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Act(Engine):
    """Executes requests."""

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
            return refused(refusal("bad_request", problem))
        asked = Asked(
            intent=request.intent,
            timeout_ms=request.timeout_ms,
            watchers=() if emit is None else (emit,),
            per_layer=request.per_layer_validation,
            dry_run=request.dry_run,
            mocks=as_texts(request.dry_run_mocks),
        )
        try:
            await close_the_unclosed(self)
            async with self.places.place(0, timeout_ms=request.timeout_ms, user=self.user_id):
                return await self._execute(request, asked)
        except (StoreError, SandboxError, NoPlaceError) as exc:
            return failed(exc, self.limits, request.timeout_ms)

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

    async def _execute(self, request: ExecuteRequest, asked: Asked) -> ExecuteResponse:
        if request.code is not None or request.dag is not None:
            prepared = await prepare(request, library=self.library, limits=self.limits)
            if isinstance(prepared, Refusal):
                return refused(prepared)
            return await self.start(prepared, asked)
        recalled = await recall(
            request,
            library=self.library,
            capabilities=self.store.capabilities,
            judge=self.permissions,
        )
        if isinstance(recalled, Suggestions):
            return ExecuteResponse(status="suggestions", suggestions=recalled)
        response = await self.start(recalled, asked)
        return msgspec.structs.replace(response, mode="speculation")


def failed(
    exc: StoreError | SandboxError | NoPlaceError, limits: Limits, timeout_ms: int
) -> ExecuteResponse:
    """The answer where what a run stands on is not to be had."""
    if isinstance(exc, NoPlaceError):
        return refused(refusal("busy", _busy(limits, exc.limit, timeout_ms)))
    if isinstance(exc, SandboxError):
        return refused(refusal("sandbox_unavailable", str(exc)))
    return refused(refusal("store_unavailable", str(exc)))


def _busy(limits: Limits, limit: str, timeout_ms: int) -> str:
    whose = " of yours" if limit == "runs_per_user" else ""
    return (
        f"{getattr(limits, limit)} runs{whose} are under way ({limit}) and none ended within "
        f"{timeout_ms} ms: nothing has run, send the request again later"
    )
