"""Which tool can provide for which: `provides` edges between tools, from their schemas (SA-10).

An edge says that a value may flow, not that one has: the schemas of both tools are looked up by
their ids (`Tool.result_schema` of the provider, `Tool.input_schema` of the consumer).
"""

from typing import Annotated

import msgspec

from pml.domain.record import Record
from pml.domain.structure import Coverage

Score = Annotated[float, msgspec.Meta(ge=0, le=1)]


class FieldMapping(Record, frozen=True, kw_only=True):
    """An output of the provider that can be an input of the consumer."""

    from_field: str
    """Path in the result: ``owner.email``, ``items[].id``; a name where nothing declares one."""
    to_field: str
    """Name of the input."""
    type_compatible: bool
    """Whether a value of the one type can be one of the other; unknown types can."""
    score: Score
    """How sure the matcher is, from its threshold to 1; comparable between edges."""
    inferred: bool = False
    """No schema has the output: name or description of the provider says that it is there."""


class ProvidesEdge(Record, frozen=True, kw_only=True):
    """From a tool whose result can feed another to that other.

    Invariant: every input is in at most one mapping, the best one; mappings are in the order of
    the consumer's inputs.
    """

    provider: str
    """Id of the tool."""
    consumer: str
    coverage: Coverage
    """How much of the consumer's input the mapped fields are."""
    field_mapping: tuple[FieldMapping, ...]

    @property
    def score(self) -> float:
        """Of its best mapping."""
        return max((mapping.score for mapping in self.field_mapping), default=0.0)
