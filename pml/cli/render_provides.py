"""`provides` edges between tools, for people: who can feed whom, and with which fields."""

from collections.abc import Sequence

from pml.cli.table import table
from pml.domain.provides import FieldMapping, ProvidesEdge

NOTE = "~ no schema has the field: name or description of the provider says that it is there"


def render_provides(edges: Sequence[ProvidesEdge], *, width: int) -> str:
    """One edge per line, by consumer, its best provider first."""
    if not edges:
        return "No tool's result is known to be another's argument."
    rows = [
        (edge.provider, edge.consumer, edge.coverage.value, ", ".join(map(_shown, _best(edge))))
        for edge in edges
    ]
    listing = table(("provider", "consumer", "covers", "fields"), rows, width=width)
    guessed = any(mapping.inferred for edge in edges for mapping in edge.field_mapping)
    return f"{listing}\n{NOTE}" if guessed else listing


def _best(edge: ProvidesEdge) -> list[FieldMapping]:
    return sorted(edge.field_mapping, key=lambda mapping: -mapping.score)


def _shown(mapping: FieldMapping) -> str:
    mark = "~" if mapping.inferred else ""
    return f"{mark}{mapping.from_field} -> {mapping.to_field}"
