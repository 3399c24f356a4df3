"""Which run, or grant, somebody means: by its id or, as with git, by the beginning of it."""

from collections.abc import Mapping
from typing import TypeVar

from pml.domain.run import Run
from pml.errors import NotFoundError, RequestError
from pml.store.ports import Store

SHORT = 8
"""Characters of an id that commands for people show; two runs of one store rarely share them."""
SHORTEST = 4
AMONG = 10_000
"""The latest runs, among which a beginning is looked for."""
NAMED = 5


def short(run_id: str) -> str:
    """The id as people are shown it."""
    return run_id[:SHORT]


T = TypeVar("T")


async def run_named(store: Store, wanted: str) -> Run:
    """The run of that id, or the only one whose id begins so.

    Raises:
        NotFoundError: there is none.
        RequestError: there are several.
    """
    try:
        return await store.runs.get(wanted)
    except NotFoundError:
        among = {run.id: run for run in await store.runs.recent(AMONG)}
    return one_of(among, wanted, kind="run", command="pml runs")


def one_of(among: Mapping[str, T], wanted: str, *, kind: str, command: str) -> T:
    """What has that id, or is the only one whose id begins so.

    Raises:
        NotFoundError: there is none.
        RequestError: there are several.
    """
    if wanted in among:
        return among[wanted]
    begins = wanted.lower() if len(wanted) >= SHORTEST else None
    found = [key for key in among if begins is not None and key.startswith(begins)]
    if not found:
        raise NotFoundError(kind, wanted, f"`{command}` lists them")
    if len(found) > 1:
        named = ", ".join(found[:NAMED])
        message = f"{wanted!r} is the beginning of {len(found)} {kind}s ({named}): give more of it"
        raise RequestError(message)
    return among[found[0]]
