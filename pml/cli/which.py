"""Which run somebody means: by its id or, as with git, by the beginning of it."""

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


async def run_named(store: Store, wanted: str) -> Run:
    """The run of that id, or the only one whose id begins so.

    Raises:
        NotFoundError: there is none.
        RequestError: there are several.
    """
    try:
        return await store.runs.get(wanted)
    except NotFoundError as exc:
        if len(wanted) < SHORTEST:
            raise NotFoundError("run", wanted, "`pml runs` lists them") from exc
    found = [run for run in await store.runs.recent(AMONG) if run.id.startswith(wanted.lower())]
    if not found:
        raise NotFoundError("run", wanted, "`pml runs` lists them")  # a kind
    if len(found) > 1:
        named = ", ".join(run.id for run in found[:NAMED])
        message = f"{wanted!r} is the beginning of {len(found)} runs ({named}): give more of it"
        raise RequestError(message)
    return found[0]
