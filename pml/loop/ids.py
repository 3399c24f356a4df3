"""Ids that follow from others, so that doing a thing twice finds what was done the first time.

They are as hard to guess as the random id of the run that they follow from.
"""

from uuid import UUID, uuid5

_PML = UUID("6f1d3c1e-6b0a-5c55-9a53-5f0b8a2c7d41")
"""Names of PML's own; any constant would do."""


def child_run_id(run_id: str, call: int) -> str:
    """Of the run that a call of a capability is."""
    return str(uuid5(_PML, f"{run_id}/call/{call}"))


def replanned_run_id(run_id: str) -> str:
    """Of the run that takes the place of another; there is one at most."""
    return str(uuid5(_PML, f"{run_id}/replanned"))


def doubt_id(run_id: str, records: int) -> str:
    """Of the stop of a run in doubt whose log has so many records."""
    return str(uuid5(_PML, f"{run_id}/doubt/{records}"))
