"""Other code in place of a run that waits, with the finished work of that run at hand.

The new run's id follows from the old one's, and the old one is ended first: of two replans one
begins a run, and whoever asks again is told of the same one (design, section 5, rule 11).
"""

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from pml.domain.ledger import Ledger
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import Checkpoint, Returned, Run, RunState
from pml.domain.steering import ReplanRequest
from pml.errors import FencedError, NotFoundError, RequestError, RunStateError
from pml.loop.asked import Asked
from pml.loop.bookkeeping import end_run
from pml.loop.close import History, read_history
from pml.loop.engine import Engine
from pml.loop.ids import replanned_run_id
from pml.loop.means import Emit
from pml.loop.prepare import Prepared, prepare
from pml.loop.problems import problem_of
from pml.loop.surroundings import Refusal, refusal, refused

CONTEXT = "context"
"""The parameter under which the new code finds results, by task id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replan:
    """One request to replan."""

    engine: Engine
    request: ReplanRequest
    by: str

    async def begin(self, old: Run, watchers: tuple[Emit, ...]) -> ExecuteResponse:
        """End the old run and begin the new one; what the new one comes to.

        Raises:
            RequestError: there is no program, or its arguments take the name `CONTEXT`.
            NotFoundError: the old run never stopped at that checkpoint.
            SandboxError: there is none to be had.
            StoreError: the database is lost.
        """
        engine, new_id = self.engine, replanned_run_id(old.id)
        begun = await self._begun(new_id, watchers)
        if begun is not None:
            return _begun_before(begun)
        if not old.state.waits and old.reason != _reason(new_id):
            return await engine.standing(old.id)
        history = await read_history(engine.store, old)
        if not self._is_meant(history.ledger):
            return await engine.standing(old.id)
        prepared = await self._prepared(history)
        if isinstance(prepared, Refusal):
            return refused(prepared)
        if old.state.waits and not await self._ended(old, new_id):
            return await engine.standing(old.id)
        return await engine.start(prepared, self._asked(old, history, watchers))

    async def _begun(self, new_id: str, watchers: tuple[Emit, ...]) -> ExecuteResponse | None:
        """What the new run comes to or how it stands, if there is one already."""
        if (stint := self.engine.under_way.find(new_id)) is not None:
            return await self.engine.join(stint, watchers)
        with suppress(NotFoundError):
            return await self.engine.standing(new_id)
        return None

    async def _ended(self, old: Run, new_id: str) -> bool:
        """End the old run; False: somebody continued it, or replanned it too."""
        try:
            await end_run(self.engine.bookkeeping, old, RunState.ABORTED, _reason(new_id))
        except (RunStateError, FencedError):
            return False
        return True

    def _is_meant(self, ledger: Ledger) -> bool:
        """Whether the run still waits where the request says."""
        named = self.request.checkpoint_id
        if named is None:
            return True
        stops = [r.checkpoint_id for r in ledger.records if isinstance(r, Checkpoint)]
        if named not in stops:
            hint = f"run {self.request.workflow_id} never stopped there"
            raise NotFoundError("checkpoint", named, hint)  # noqa: EM101  # a kind
        return ledger.pending is not None and ledger.pending.checkpoint_id == named

    async def _prepared(self, history: History) -> Prepared | Refusal:
        request, engine = self.request, self.engine
        if (request.code is None) == (request.dag is None):
            message = "expected exactly one of code and dag"
            raise RequestError(message)
        if CONTEXT in request.args:
            message = f"args.{CONTEXT}: that name stands for the results of the run: give another"
            raise RequestError(message)
        execute = ExecuteRequest(
            intent=request.intent or history.run.intent,
            code=request.code,
            dag=request.dag,
            args=request.args,
            timeout_ms=request.timeout_ms,
        )
        if problem := problem_of(execute, engine.limits):
            return refusal("bad_request", problem)
        results = finished_results(history)
        if len(json.dumps(results)) > engine.limits.result_bytes:
            limit = engine.limits.result_bytes
            message = f"the results of the run are more than {limit} bytes (result_bytes) together"
            return refusal("too_large", f"{message}: begin anew, and read what is needed again")
        execute = msgspec.structs.replace(execute, args={**request.args, CONTEXT: results})
        prepared = await prepare(execute, library=engine.library, limits=engine.limits)
        if isinstance(prepared, Refusal):
            return prepared
        told = (
            d for d in prepared.diagnostics if (d.code, d.text) != ("unknown-parameter", CONTEXT)
        )
        return replace(prepared, diagnostics=tuple(told))

    def _asked(self, old: Run, history: History, watchers: tuple[Emit, ...]) -> Asked:
        request = self.request
        per_layer = request.per_layer_validation
        return Asked(
            intent=request.intent or old.intent,
            timeout_ms=request.timeout_ms,
            watchers=watchers,
            per_layer=old.per_layer if per_layer is None else per_layer,
            dry_run=old.dry_run,
            mocks=history.kept.mocks,
            run_id=replanned_run_id(old.id),
            replaces_run_id=old.id,
        )


def finished_results(history: History) -> dict[str, Any]:
    """What the calls of a run returned, by task id; with what it was handed itself.

    Where a task of the run has the id of one that it was handed, its own result counts.
    """
    handed = json.loads(history.kept.arguments.get(CONTEXT, "{}"))
    own = {
        call.issued.task_id: json.loads(call.outcome.value)
        for call in history.ledger.calls
        if isinstance(call.outcome, Returned)
    }
    replaced = history.run.replaces_run_id is not None and isinstance(handed, dict)
    return {**(handed if replaced else {}), **own}


def _begun_before(response: ExecuteResponse) -> ExecuteResponse:
    """What the first replan came to; what was sent now may have been other code."""
    message = (
        f"it was replanned before, as run {response.workflow_id}: that one is shown, and what was "
        "sent now did not run"
    )
    return msgspec.structs.replace(response, warnings=(*response.warnings, message))


def _reason(new_id: str) -> str:
    return f"replanned as {new_id}"
