"""What is left of chaos to judge: what the servers counted, what the store holds, what was told."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pml.domain.ledger import Ledger
from pml.domain.run import Issued, Run
from pml.domain.trace import ExecutionTrace
from pml.errors import NotFoundError
from pml.loop.ids import child_run_id
from pml.store.ports import Store
from tests.chaos.site import SERVERS, Site

ALL = 1_000_000
HUMAN = "human"
"""Serial of a result that a person supplied for a write in doubt."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request that a counting server was sent."""

    tool: str
    """``server:tool``."""
    id: str
    serial: str


@dataclass(frozen=True, slots=True)
class Told:
    """One answer that a client got, whole."""

    asked: str
    """The tool that was called."""
    answer: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kept:
    """What the store holds of one run."""

    run: Run
    ledger: Ledger
    traces: tuple[ExecutionTrace, ...] = ()
    approvals: frozenset[str] = frozenset()
    """Ids of what was asked in it."""


@dataclass(frozen=True, slots=True)
class Retried:
    """A person decided that a write in doubt is sent again."""

    root: str
    path: str
    """Of task ids, from the root on."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """A run that nobody ran, until somebody did."""

    run_id: str
    took_s: float
    """While PML was up: until a living server had the run, or it waited or had ended."""
    boot_s: float
    """How long PML had needed to start just before."""
    calm: bool
    """Whether nothing was killed meanwhile."""


@dataclass(slots=True)
class Evidence:
    """All of it."""

    requests: list[Request] = field(default_factory=list)
    kept: dict[str, Kept] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    retried: list[Retried] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    """Processes that outlived what started them."""
    recoveries: list[Recovery] = field(default_factory=list)
    hanging: list[str] = field(default_factory=list)
    """Requests that nobody answered while their connection stood."""
    faults: list[str] = field(default_factory=list)
    """What servers said of themselves that they never should."""

    def retries(self) -> Counter[str]:
        """How often a person let a call be sent again, by the id of the call; at most."""
        found: Counter[str] = Counter()
        for one in self.retried:
            issued = self._issued(one.root, one.path.split("/"))
            if issued is not None:
                found[id_of(issued)] += 1
        return found

    def _issued(self, run_id: str, path: list[str]) -> Issued | None:
        kept = self.kept.get(run_id)
        calls = [] if kept is None else [call.issued for call in kept.ledger.calls]
        for issued in calls:
            if issued.task_id == path[0]:
                rest = path[1:]
                return self._issued(child_run_id(run_id, issued.call), rest) if rest else issued
        return None


def id_of(issued: Issued) -> str:
    """The id that a call carries."""
    return str(json.loads(issued.arguments)["id"])


def read_requests(site: Site) -> list[Request]:
    """Everything that the servers counted."""
    return [
        Request(f"{name}:{seen['tool']}", seen["id"], seen["serial"])
        for name in SERVERS
        if site.counter(name).exists()
        for seen in map(json.loads, site.counter(name).read_text().splitlines())
    ]


async def read_store(store: Store) -> dict[str, Kept]:
    """Every run, with its log and its traces."""
    return {run.id: await _kept(store, run) for run in await store.runs.recent(ALL)}


async def _kept(store: Store, run: Run) -> Kept:
    approvals = await store.approvals.of_run(run.id)
    return Kept(
        run,
        Ledger(await store.run_log.read(run.id)),
        await store.traces.of_run(run.id),
        frozenset(approval.id for approval in approvals),
    )


async def trace_there(store: Store, trace_id: str) -> bool:
    """Whether the store has the trace."""
    try:
        await store.traces.get(trace_id)
    except NotFoundError:
        return False
    return True


def roots(runs: Iterable[Run]) -> list[Run]:
    """Runs that somebody asked for."""
    return [run for run in runs if run.parent_run_id is None]
