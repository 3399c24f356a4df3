"""What is told to a tracking server of one run, whatever the server is."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFacts:
    """The data set of a run."""

    name: str
    path: str
    """As it was given."""
    hash: str
    """SHA-256 of its files' names and contents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What is known when a run starts."""

    name: str
    kind: str
    """``training``, ``evaluation``, ``study`` or ``trial``."""
    data: DataFacts
    seed: int
    parameters: Mapping[str, Scalar] = field(default_factory=dict)
    parent: str | None = None
    """Id of the run that this one is a part of."""


def data_hash(files: Mapping[str, str]) -> str:
    """One hash of a data set.

    Args:
        files: SHA-256 in hex by file name.
    """
    listed = "".join(f"{files[name]}  {name}\n" for name in sorted(files))
    return hashlib.sha256(listed.encode()).hexdigest()
