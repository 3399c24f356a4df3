"""Runs whose end the database could not take: closed as soon as it is back."""

import structlog

from pml.errors import FencedError, NotFoundError, RunStateError, StoreError
from pml.loop.means import Means

_log = structlog.get_logger(__name__)


async def close_the_unclosed(means: Means) -> None:
    """Close what can be closed now; the rest waits for the next time."""
    for run_id in list(means.unclosed):
        close_it = means.unclosed.pop(run_id, None)
        if close_it is None:
            continue  # somebody else is at it
        try:
            await close_it()
        except StoreError:
            means.unclosed[run_id] = close_it
            return
        except (RunStateError, NotFoundError, FencedError):
            _log.info("closed_by_another_process", run=run_id)
