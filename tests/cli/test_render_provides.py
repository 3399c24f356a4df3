"""`provides` edges as people read them (SA-10, OP-2)."""

from pml.cli.render_provides import NOTE, render_provides
from pml.domain.provides import FieldMapping, ProvidesEdge
from pml.domain.structure import Coverage


def mapping(source: str, target: str, score: float, *, inferred: bool = False) -> FieldMapping:
    return FieldMapping(
        from_field=source, to_field=target, type_compatible=True, score=score, inferred=inferred
    )


def edge(*mappings: FieldMapping) -> ProvidesEdge:
    return ProvidesEdge(
        provider="crm:create_user",
        consumer="mail:send",
        coverage=Coverage.PARTIAL,
        field_mapping=mappings,
    )


def test_an_edge_is_one_line_with_its_best_field_first() -> None:
    shown = render_provides(
        [edge(mapping("name", "to", 0.5), mapping("id", "user", 0.9))], width=80
    )
    assert shown.splitlines() == [
        "provider         consumer   covers   fields",
        "crm:create_user  mail:send  partial  id -> user, name -> to",
    ]


def test_a_field_that_no_schema_has_is_marked() -> None:
    shown = render_provides([edge(mapping("user_id", "user", 0.9, inferred=True))], width=80)
    assert "~user_id -> user" in shown
    assert shown.endswith(NOTE)


def test_no_edges_are_said_to_be_none() -> None:
    assert render_provides([], width=80).startswith("No tool")
