"""The runs that the code of another run calls (EX-10; design, section 5, rule 13).

The id of such a run follows from the call, so a call that is made again after a crash finds
the run that it made, and goes on with it or takes its end.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import msgspec

from pml.analysis.parameters import bind_capability
from pml.domain import events
from pml.domain.capability import Capability
from pml.domain.limits import Limits
from pml.domain.record import JsonText
from pml.domain.response import ExecuteResponse
from pml.domain.run import Issued, RunState
from pml.domain.sanitising import preview
from pml.errors import NotFoundError, SandboxError
from pml.loop.asked import Asked
from pml.loop.close import History, read_history
from pml.loop.doubts import of_child
from pml.loop.ids import child_run_id
from pml.loop.judged import Judged
from pml.loop.library import Library
from pml.loop.means import Entropy
from pml.loop.places import NoPlaceError, Places
from pml.loop.prepare import Prepared, prepare_known
from pml.loop.stints import Standing, Stint
from pml.loop.surroundings import Refusal, refusal, refused
from pml.runtime.consent import Consents
from pml.store.ports import Store


class BeginsRuns(Protocol):
    """The part of the engine that is needed here."""

    @property
    def store(self) -> Store: ...  # noqa: D102
    @property
    def entropy(self) -> Entropy: ...  # noqa: D102
    @property
    def limits(self) -> Limits: ...  # noqa: D102
    @property
    def library(self) -> Library: ...  # noqa: D102
    @property
    def places(self) -> Places: ...  # noqa: D102
    @property
    def standing(self) -> Standing: ...  # noqa: D102
    async def start(self, prepared: Prepared, asked: Asked) -> ExecuteResponse: ...  # noqa: D102
    async def resume(self, history: History, asked: Asked) -> ExecuteResponse: ...  # noqa: D102


@dataclass(frozen=True, slots=True, kw_only=True)
class Nesting:
    """Runs what the code of one run calls."""

    engine: BeginsRuns
    judged: Judged
    """The run whose code calls."""
    asked: Asked
    stint: Stint

    async def __call__(self, capability: Capability, issued: Issued) -> ExecuteResponse:
        """Run a capability that the code of another run calls, or go on with its run (EX-10).

        Raises:
            StoreError: the database is lost.
        """
        parent, started_ms = self.judged.history.run, self.engine.entropy.now_ms()
        child_id = child_run_id(parent.id, issued.call)
        self.stint.emit(
            events.CapabilityStart(
                run_id=parent.id,
                at_ms=started_ms,
                task_id=issued.task_id,
                capability_id=capability.id,
                child_run_id=child_id,
            )
        )
        theirs = Asked(
            intent=capability.intent,
            timeout_ms=parent.timeout_ms,
            watchers=(self.stint.emit,),
            dry_run=parent.dry_run,
            mocks=self.judged.history.kept.mocks,
            run_id=child_id,
            parent=parent,
            lineage=(*self.asked.lineage, capability.id),
            answers=of_child(self.asked.answers, issued.task_id),
        )
        within = partial(self.judged.consents.within, issued)
        response = await self._in_place(capability, issued.arguments, theirs, within)
        self._tell_end(capability, issued, response, started_ms)
        return response

    async def _in_place(
        self,
        capability: Capability,
        arguments: JsonText,
        asked: Asked,
        within: Callable[[str], Consents],
    ) -> ExecuteResponse:
        level = len(asked.lineage)
        if level > self.engine.limits.capability_depth or len(set(asked.lineage)) < level:
            limit = self.engine.limits.capability_depth
            message = f"it is {level} levels deep or calls itself; the limit is {limit}"
            return refused(refusal("too_deep", f"{message} (capability_depth)"))
        try:
            async with self.engine.places.place(level, timeout_ms=asked.timeout_ms):
                return await self._begin_child(capability, arguments, asked, within)
        except NoPlaceError:
            return refused(refusal("busy", _BUSY_NESTED))
        except SandboxError as exc:
            return refused(refusal("sandbox_unavailable", str(exc)))

    async def _begin_child(
        self,
        capability: Capability,
        arguments: JsonText,
        asked: Asked,
        within: Callable[[str], Consents],
    ) -> ExecuteResponse:
        assert asked.run_id is not None
        try:
            run = await self.engine.store.runs.get(asked.run_id)
        except NotFoundError:
            return await self._new_child(capability, arguments, asked, within)
        if run.state.final:
            return await self.engine.standing(run.id)
        asked = replace(asked, inherited=within(run.source_hash))
        history = await read_history(self.engine.store, run)
        return await self.engine.resume(history, asked)

    async def _new_child(
        self,
        capability: Capability,
        arguments: JsonText,
        asked: Asked,
        within: Callable[[str], Consents],
    ) -> ExecuteResponse:
        given = msgspec.json.decode(arguments)
        if not isinstance(given, dict):
            return _invalid("a capability takes one object with named arguments")
        bound = bind_capability(capability.parameters, given)
        if wrong := (*(f"{name} is missing" for name in bound.missing), *bound.problems):
            return _invalid("; ".join(wrong))
        prepared = await prepare_known(capability, bound, library=self.engine.library)
        if isinstance(prepared, Refusal):
            return refused(prepared)
        inherited = within(prepared.source_hash())
        return await self.engine.start(prepared, replace(asked, inherited=inherited))

    def _tell_end(
        self,
        capability: Capability,
        issued: Issued,
        response: ExecuteResponse,
        started_ms: int,
    ) -> None:
        now_ms, chars = self.engine.entropy.now_ms(), self.engine.limits.preview_chars
        returned = response.result is not msgspec.UNSET
        error = response.error
        self.stint.emit(
            events.CapabilityEnd(
                run_id=self.stint.run_id,
                at_ms=now_ms,
                task_id=issued.task_id,
                capability_id=capability.id,
                success=response.status == RunState.SUCCESS,
                duration_ms=float(now_ms - started_ms),
                result=preview(response.result, chars) if returned else None,
                error=None if error is None else preview(error.message, chars),
            )
        )


_BUSY_NESTED = "too many nested runs were under way all the time (nested_runs): call fewer at once"


def _invalid(message: str) -> ExecuteResponse:
    return refused(refusal("invalid_params", message))
