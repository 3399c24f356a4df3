"""What one check of `pml doctor` found, and how to mend it."""

from enum import StrEnum

from pml.domain.record import Record


class Verdict(StrEnum):
    """What a check found."""

    OK = "ok"
    NOTE = "note"
    """Works, but not as you may expect."""
    FAILED = "failed"


class Check(Record, frozen=True, kw_only=True):
    """One thing that PML needs."""

    name: str
    verdict: Verdict
    found: str
    mend: str = ""
    """What to do; empty where nothing is to be done."""


def ok(name: str, found: str) -> Check:
    """Nothing is to be done."""
    return Check(name=name, verdict=Verdict.OK, found=found)


def noted(name: str, found: str, mend: str) -> Check:
    """Something may be other than you expect."""
    return Check(name=name, verdict=Verdict.NOTE, found=found, mend=mend)


def failed(name: str, found: str, mend: str) -> Check:
    """Something does not work."""
    return Check(name=name, verdict=Verdict.FAILED, found=found, mend=mend)
