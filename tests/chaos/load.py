"""Agents that start runs, and a person who answers those that wait; both see servers die."""

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from pml.domain.run import Run, RunState
from pml.errors import StoreError
from pml.store.ports import Store
from tests.chaos.client import BrokenError, RefusedError, call, told
from tests.chaos.evidence import ALL, HUMAN, Evidence, Retried, Told, roots
from tests.chaos.programs import program, replanned
from tests.chaos.site import Served

TIMEOUT_MS = 120_000
"""Of the programs; they are through in a second where nothing dies."""
INTERNAL = -32603
"""Code of an error inside PML; a lost database has it too, and says so."""
_ABORTS, _REPLANS, _REFUSES = 0.05, 0.15, 0.9
"""Of the numbers from 0 to 1, up to where the person aborts, replans, approves."""
PATIENCE = 60
"""Answers that come to nothing, one after the other, before a run counts as stuck."""
_EVERY_S = 0.1
_UUID = re.compile(r"[0-9a-f-]{36}")
_PASSING = ("database", "shutting down", "sandbox")
"""In messages of failures that are the chaos's own doing."""


@dataclass(slots=True)
class Load:
    """What asks the servers for something."""

    servers: tuple[Served, ...]
    store: Store
    evidence: Evidence
    random: Random
    capability: str = ""
    begins: bool = False
    """Whether new runs are started."""
    started: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    """How requests ended, for the report."""
    in_flight: Counter[str] = field(default_factory=Counter)
    """Requests without an answer so far, by name of the server."""
    _busy: set[str] = field(default_factory=set)
    """Runs that the person is about to answer."""
    _refusals: Counter[str] = field(default_factory=Counter)
    """How often an approval of a run was not taken."""

    async def agent(self) -> None:
        """Start one run after the other."""
        while True:
            if not self.begins:
                await asyncio.sleep(_EVERY_S)
                continue
            self.started += 1
            name = f"r{self.started}"
            random = Random(f"{self.random.random()}")
            options = {
                "timeout": TIMEOUT_MS,
                "args": {"run": name},
                "per_layer_validation": random.random() < 0.25,
            }
            code = program(random, self.capability)
            arguments = {"intent": f"chaos {name}", "code": code, "options": options}
            if await self.ask("pml_execute", arguments, await self._somebody()) is None:
                await asyncio.sleep(_EVERY_S)

    async def person(self) -> None:
        """Answer whatever waits."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                try:
                    for run in await self.waiting():
                        if run.id not in self._busy:
                            self._busy.add(run.id)
                            tasks.create_task(self._decide(run))
                except StoreError:
                    self.outcomes["the person found no database"] += 1
                await asyncio.sleep(_EVERY_S)

    async def waiting(self) -> list[Run]:
        """Runs that wait for the person."""
        runs = await self.store.runs.recent(ALL)
        return [run for run in roots(runs) if run.state.waits and run.state != RunState.INTERRUPTED]

    async def ask(
        self, tool: str, arguments: dict[str, Any], server: Served
    ) -> dict[str, Any] | None:
        """Make one request and keep its answer; None: no whole answer came."""
        if server.url is None:
            self.outcomes[f"{tool}: nobody there"] += 1
            return None
        self.in_flight[server.name] += 1
        try:
            answer = await call(server.url, tool, arguments)
        except BrokenError:
            self.outcomes[f"{tool}: connection lost"] += 1
            return None
        except RefusedError as error:
            self._refused(tool, error)
            return None
        except TimeoutError:
            self.evidence.hanging.append(f"{tool} {arguments.get('workflow_id', '')}")
            return None
        finally:
            self.in_flight[server.name] -= 1
        self.evidence.told.append(Told(tool, answer))
        code = answer.get("error", {}).get("code", "")
        self.outcomes[f"{tool}: {answer['status']} {code}".strip()] += 1
        if code in {"internal", "not_closed"}:
            self.evidence.faults.append(f"{tool} answered {told(answer)}")
        return answer

    def _refused(self, tool: str, error: RefusedError) -> None:
        self.outcomes[f"{tool}: refused {_UUID.sub('ID', error.said)[:80]}"] += 1
        if error.code == INTERNAL and not any(word in str(error) for word in _PASSING):
            self.evidence.faults.append(f"{tool} answered {error}")

    async def _somebody(self) -> Served:
        while not (up := [each for each in self.servers if each.url is not None]):  # noqa: ASYNC110
            await asyncio.sleep(_EVERY_S)
        return self.random.choice(up)

    # -- the person ----------------------------------------------------------------------

    async def _decide(self, run: Run) -> None:
        """Answer one run; what is decided of a stop is the same however often it is asked."""
        try:
            dice = Random(f"{run.intent} {run.state} {run.epoch}").random()
            name = {"workflow_id": run.id}
            if dice < _ABORTS or self._refusals[run.id] > PATIENCE:
                await self._twice("pml_abort", name)
            elif dice < _REPLANS and run.state is RunState.PAUSED:
                args = {"run": f"{run.id}.new"}
                options = {"timeout": TIMEOUT_MS, "args": args}
                await self._twice("pml_replan", {**name, "code": replanned(), "options": options})
            elif run.state is RunState.APPROVAL_REQUIRED:
                await self._approve(run, approved=dice < _REFUSES)
            elif run.state is RunState.PAUSED:
                await self._twice("pml_continue", name)
            else:
                await self._doubts(run, await self._somebody())
        finally:
            self._busy.discard(run.id)

    async def _approve(self, run: Run, *, approved: bool) -> None:
        arguments = {"workflow_id": run.id, "approved": approved}
        if any(await self._twice("pml_approval_response", arguments)):
            del self._refusals[run.id]
            return
        self._refusals[run.id] += 1
        if self._refusals[run.id] == PATIENCE:
            self.evidence.faults.append(f"run {run.id} waits for an approval that nobody can give")

    async def _doubts(self, run: Run, server: Served) -> None:
        """Decide about every write in doubt."""
        stands = await self.ask("pml_continue", {"workflow_id": run.id}, server)
        if stands is None or stands["status"] != "in_doubt":
            return
        paths = dict.fromkeys(task["taskId"] for task in stands.get("inDoubt", ()))
        resolutions = [self._resolution(path) for path in paths]
        self.evidence.retried += [
            Retried(run.id, one["task_id"]) for one in resolutions if one["action"] == "retry"
        ]
        arguments = {
            "workflow_id": run.id,
            "checkpoint_id": stands["checkpointId"],
            "resolutions": resolutions,
        }
        await self._twice("pml_continue", arguments)

    def _resolution(self, path: str) -> dict[str, Any]:
        action = self.random.choice(("retry", "result", "skip"))
        given = {"result": {"id": HUMAN, "serial": HUMAN}} if action == "result" else {}
        return {"task_id": path, "action": action, **given}

    async def _twice(self, tool: str, arguments: dict[str, Any]) -> list[dict[str, Any] | None]:
        """Ask one server; now and then both at once, and one of them again."""
        asked: list[Awaitable[dict[str, Any] | None]] = [
            self.ask(tool, arguments, await self._somebody())
        ]
        if self.random.random() < 0.25:
            asked += [self.ask(tool, arguments, server) for server in self.servers]
        return await asyncio.gather(*asked)
