"""Deletes what is kept no longer: traces by age and count, results and logs by TTL (ST-7)."""

from pml.domain.limits import Limits
from pml.store.ports import Collected, Store

DAY_MS = 86_400_000


async def clean_up(
    store: Store,
    limits: Limits,
    *,
    now_ms: int,
    traces_kept: int | None = None,
    trace_age_days: int | None = None,
) -> Collected:
    """Delete it, as `Limits` says unless told otherwise; how much went.

    Raises:
        StoreError: the database is lost; what went is gone, and the rest goes next time.
    """
    kept = limits.traces_kept if traces_kept is None else traces_kept
    days = limits.trace_age_days if trace_age_days is None else trace_age_days
    return await store.retention.collect(
        now_ms=now_ms, traces_kept=kept, trace_age_ms=days * DAY_MS
    )
