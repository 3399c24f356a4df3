"""Recorded runs of the sample set: calls that fail for reasons that can be learned.

A call fails more often where its tool is unreliable (`FLAKY`), on a Sunday in a shop, with a
large amount in the purse, and where its server is down in this run: then it goes on failing,
so that a failure tells of the next ones.  A failed call may be tried once more, and the run goes on
or gives up.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from pml.evaluation.dataset import Call, Episode, Tool
from pml.evaluation.sample.requests import Request
from pml.evaluation.sample.town import SHOPS

FLAKY = {
    "ferry.list_times": 0.5,
    "library.check_shelf": 0.45,
    "market.fill_basket": 0.4,
    "people.get_card": 0.35,
    "bakery.list_orders": 0.5,
}
_BASE = 0.02
_DOWN, _SUNDAY, _LARGE = 0.9, 0.25, 0.3
_P_SERVER_DOWN = 0.1
_LARGE_AMOUNT = 60
_P_TRIED_AGAIN = 0.7
_P_GIVES_UP = 0.3
_P_UNTOLD = 0.03
"""How often the record does not tell how a call ended."""
_SHOP_SERVERS = {shop.server for shop in SHOPS}


def runs(
    rng: np.random.Generator, requests: Sequence[Request], tools: Sequence[Tool], n: int
) -> tuple[tuple[Episode, ...], tuple[Call, ...]]:
    """``n`` runs of requests drawn at random."""
    known = {tool.id: tool for tool in tools}
    episodes, calls = [], []
    for number in range(n):
        request = requests[int(rng.integers(len(requests)))]
        done, finished = _run(rng, f"run-{number:03}", request, known)
        calls += done
        episodes.append(
            Episode(
                id=f"run-{number:03}",
                workflow_id=request.workflow.id,
                intent=request.workflow.intent,
                reward=1.0 if finished else 0.0,
                n_errors=sum(call.ok is False for call in done),
            )
        )
    return tuple(episodes), tuple(calls)


def _run(
    rng: np.random.Generator, episode: str, request: Request, tools: dict[str, Tool]
) -> tuple[list[Call], bool]:
    """The calls, and whether what each was for succeeded in the end."""
    servers = sorted({tools[node].server for node in request.workflow.nodes})
    down = {server for server in servers if rng.random() < _P_SERVER_DOWN}
    calls: list[Call] = []
    finished = True
    for node in request.workflow.nodes:
        for call, ok in _tries(rng, tools[node], request, down):
            ended = None if rng.random() < _P_UNTOLD else ok
            calls.append(
                Call(
                    episode_id=episode,
                    step=len(calls),
                    tool_id=node,
                    arguments=call,
                    ok=ended,
                    result=_result(rng, tools[node], ok=ok),
                )
            )
        finished = finished and ok
        if not ok and rng.random() < _P_GIVES_UP:
            break
    return calls, finished


def _tries(
    rng: np.random.Generator, tool: Tool, request: Request, down: set[str]
) -> Iterator[tuple[dict[str, object], bool]]:
    """Arguments and success of one or two tries."""
    arguments = {name: _argument(rng, name, request) for name in _fields(tool.input_schema)}
    ok = rng.random() >= chance_of_failure(tool, arguments, request.day, down)
    yield arguments, ok
    if not ok and rng.random() < _P_TRIED_AGAIN:
        yield arguments, rng.random() >= chance_of_failure(tool, arguments, request.day, down)


def chance_of_failure(tool: Tool, arguments: dict[str, object], day: str, down: set[str]) -> float:
    """How likely a call fails; causes add up as independent ones do."""
    amount = arguments.get("amount")
    causes = [FLAKY.get(tool.id, _BASE)]
    causes += [_DOWN] if tool.server in down else []
    causes += [_SUNDAY] if day == "Sunday" and tool.server in _SHOP_SERVERS else []
    causes += [_LARGE] if isinstance(amount, int) and amount > _LARGE_AMOUNT else []
    return float(1 - np.prod([1 - each for each in causes]))


def _fields(schema: object) -> list[str]:
    return list(schema["properties"]) if isinstance(schema, dict) else []


def _argument(rng: np.random.Generator, name: str, request: Request) -> object:
    told: dict[str, object] = {"name": request.name, "day": request.day, "count": request.count}
    if name in told:
        return told[name]
    return int(rng.integers(5, 100)) if name == "amount" else f"{name[0]}{int(rng.integers(100))}"


def _result(rng: np.random.Generator, tool: Tool, *, ok: bool) -> dict[str, object]:
    if not ok:
        return {"error": "not available"}
    return {name: f"{name[0]}{int(rng.integers(100))}" for name in _fields(tool.output_schema)}
