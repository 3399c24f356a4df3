"""Learned procedures, and the vectors by which they are found."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pml.domain.capability import Capability, NewCapability, PastIntent
from pml.domain.trace import ToolDependency
from pml.store.ports.tools import Mark

PAST_INTENTS = 100
"""Of one capability, the latest; more would say nothing new and be told after each run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityChanges:
    """Capabilities changed since a mark, and the latest `PAST_INTENTS` past intents of each."""

    mark: Mark
    capabilities: tuple[Capability, ...]
    """Hidden ones too."""
    intents: tuple[PastIntent, ...]
    """Of the capabilities that changed, also the intents that did not."""


class Capabilities(Protocol):
    """Learned procedures."""

    async def keep(self, new: NewCapability, *, now_ms: int) -> Capability:
        """The capability of that canonical hash, made now (hidden) if there is none (ST-8).

        What is there stays as it is.  A new one gets the wanted name, or that name with
        ``_2``, ``_3``...
        """

    async def get(self, capability_id: str) -> Capability:
        """The capability.

        Raises:
            NotFoundError: there is none.
        """

    async def named(self, names: Collection[str]) -> Mapping[str, Capability]:
        """Those of the names that are there and not hidden."""

    async def recent(self, limit: int, *, hidden: bool = False) -> tuple[Capability, ...]:
        """At most ``limit`` capabilities, the latest used first; ties by id.

        With ``hidden``, those too that never succeeded.
        """

    async def intents(self, capability_id: str) -> tuple[PastIntent, ...]:
        """With which intents it has run, the latest first, at most `PAST_INTENTS`."""

    async def rename(self, capability_id: str, name: str, *, now_ms: int) -> Capability:
        """Give it another name; code that was analysed before goes on calling the same version.

        Raises:
            NotFoundError: there is no such capability.
            ValueError: the name is no `CAPABILITY_NAME`, or another capability has it.
        """

    async def dependencies(self) -> tuple[ToolDependency, ...]:
        """Edges between capabilities, by source, target and type; the ends are their ids."""

    async def changes(self, since: Mark | None) -> CapabilityChanges:
        """What changed since a mark; everything that is there, for None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """The vector of one text by one encoder."""

    key: str
    """``tool:`` and the tool's id, or ``intent:`` and the normalised intent."""
    text_hash: str
    """SHA-256 of the text: a vector whose text changed is out of date."""
    vector: NDArray[np.float32]


class Embeddings(Protocol):
    """Vectors of texts, kept with the name of the encoder that made them."""

    async def read(self, encoder: str) -> tuple[Embedding, ...]:
        """Every vector of the encoder, by key."""

    async def write(self, encoder: str, embeddings: Sequence[Embedding]) -> None:
        """Keep vectors; one that is there under the key is replaced."""

    async def delete(self, encoder: str, keys: Collection[str]) -> None:
        """Forget vectors."""
