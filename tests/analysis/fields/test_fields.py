"""Names, fields and matches: what is one name, what a tool gives, what fits what (SA-10)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.analysis.fields.extract import Origin, signature
from pml.analysis.fields.mapping import Side, Sides, field_mapping, provides
from pml.analysis.fields.match import THRESHOLD, described, score
from pml.analysis.fields.names import Phrase, tokens
from pml.analysis.fields.rarity import rarity
from pml.domain.provides import ProvidesEdge
from pml.domain.record import decode, encode
from pml.domain.structure import Coverage
from pml.domain.tools import Tool
from tests.analysis.fields.catalogues import tools


def tool(
    name: str,
    takes: dict[str, Any] | None = None,
    gives: dict[str, Any] | None = None,
    *,
    required: tuple[str, ...] = (),
    description: str = "",
    observed: dict[str, Any] | None = None,
) -> Tool:
    return Tool(
        server="s",
        name=name,
        description=description,
        input_schema={"type": "object", "properties": takes or {}, "required": list(required)},
        output_schema=None if gives is None else {"type": "object", "properties": gives},
        observed_schema=None if observed is None else {"type": "object", "properties": observed},
    )


def mapped(provider: Tool, consumer: Tool) -> dict[str, str]:
    """By the consumer's field, the provider's."""
    found = field_mapping(Side(provider), Side(consumer))
    return {mapping.to_field: mapping.from_field for mapping in found}


TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("userIds", ("user", "id")),
        ("USER-ID", ("user", "id")),
        ("user_id", ("user", "id")),
        ("HTTPResponses", ("http", "response")),
        ("addresses", ("address",)),
        ("status", ("status",)),
        ("cities", ("city",)),
        ("img_url2", ("image", "url")),
        ("emailAddress", ("email",)),
        ("e-mail", ("email",)),
        ("2", ("2",)),
        ("größe", ("größe",)),
        ("", ()),
    ],
)
def test_spellings_of_one_name_are_one_name(name: str, expected: tuple[str, ...]) -> None:
    assert tokens(name) == expected


@given(st.text())
def test_tokens_are_words_in_small_letters(name: str) -> None:
    assert all(word and word == word.lower() for word in tokens(name))


@given(st.text(min_size=1))
def test_rarity_lies_between_nothing_and_one(word: str) -> None:
    assert 0 <= rarity("id") < rarity("location") <= 1
    assert 0 <= rarity(word) <= 1


@pytest.mark.parametrize(
    ("name", "verb", "nouns"),
    [
        ("create_user", "make", ("user",)),
        ("getPopulationByCity", "read", ("population",)),
        ("get_user_info", "read", ("user",)),
        ("delta_user_login", "login", ("delta", "user")),
        ("stat", "", ("status",)),
        ("get_info", "read", ("information",)),
    ],
)
def test_the_name_of_a_tool_says_what_it_does_and_to_what(
    name: str, verb: str, nouns: tuple[str, ...]
) -> None:
    phrase = Phrase(name)
    assert (phrase.verb, phrase.nouns) == (verb, nouns)


def test_an_id_is_the_id_of_what_the_tool_speaks_of() -> None:
    takes_user = tool("send_mail", {"user_id": TEXT}, required=("user_id",))
    assert mapped(tool("create_user", gives={"id": TEXT}), takes_user) == {"user_id": "id"}
    assert mapped(tool("create_order", gives={"id": TEXT}), takes_user) == {}


def test_an_id_is_the_id_of_the_object_that_it_lies_in() -> None:
    listing = {"type": "array", "items": {"type": "object", "properties": {"id": TEXT}}}
    provider = tool("search", gives={"orders": listing})
    assert mapped(provider, tool("cancel", {"order_id": TEXT})) == {"order_id": "orders[].id"}


def test_nested_fields_have_paths() -> None:
    owner = {"type": "object", "properties": {"email": TEXT}}
    provider = tool("get_file", gives={"owner": owner})
    assert mapped(provider, tool("notify", {"email": TEXT})) == {"email": "owner.email"}


def test_fields_of_different_types_do_not_match() -> None:
    consumer = tool("book", {"city": TEXT})
    assert mapped(tool("find", gives={"city": TEXT}), consumer) == {"city": "city"}
    assert mapped(tool("find", gives={"city": {"type": "boolean"}}), consumer) == {}


def test_values_of_closed_sets_match_only_if_they_share_some() -> None:
    def one_of(*values: str) -> dict[str, Any]:
        return {"type": "string", "enum": list(values)}

    consumer = tool("paint", {"colour": one_of("red", "blue")})
    assert mapped(tool("find", gives={"colour": one_of("red")}), consumer) == {"colour": "colour"}
    assert mapped(tool("find", gives={"colour": one_of("north")}), consumer) == {}


def test_what_was_observed_stands_for_an_output_schema() -> None:
    consumer = tool("notify", {"email": TEXT})
    assert mapped(tool("find", observed={"email": TEXT}), consumer) == {"email": "email"}


def test_where_no_schema_is_known_name_and_description_say_what_comes_back() -> None:
    code = tool("get_city_code", {"city_name": TEXT})
    (mapping,) = field_mapping(Side(code), Side(tool("count_cars", {"city_code": TEXT})))
    assert (mapping.from_field, mapping.inferred) == ("city_code", True)
    where = tool("whereami", description="Returns the place as latitude and longitude.")
    origins = {f.path: f.shape.origin for f in signature(where).outputs}
    assert origins["latitude"] is origins["longitude"] is Origin.DESCRIPTION


def test_what_deletes_a_thing_gives_nothing_of_it() -> None:
    assert signature(tool("delete_user", {"user_id": TEXT})).outputs == ()


def test_what_a_maker_was_given_is_less_news_than_what_was_found() -> None:
    """`reserve` answers the city that it was told; whoever called it knew it before."""
    reserve = tool("reserve_table", {"city": TEXT}, {"city": TEXT})
    find = tool("find_table", {"city": TEXT}, {"city": TEXT})
    (echoed,) = field_mapping(Side(reserve), Side(find))
    (found,) = field_mapping(Side(find), Side(reserve))
    assert echoed.score < found.score / 1.5


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/properties/it"},
        {"$ref": "#/nowhere"},
        {"$ref": "https://elsewhere.test/schema"},
        {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"type": "array", "items": {"$ref": "#/properties/it"}},
    ],
)
def test_references_that_lead_nowhere_or_back_end(schema: dict[str, Any]) -> None:
    root = {"type": "object", "properties": {"email": TEXT, "it": schema}}
    odd = Tool(server="s", name="odd", input_schema=root, output_schema=root)
    assert mapped(odd, tool("notify", {"email": TEXT}))["email"] == "email"


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = TEXT
    for _ in range(depth):
        schema = {"anyOf": [schema, {"type": "null"}]}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"$ref": "#/$defs/A"}] * 20},
        nested(2_000),
        {"type": "array", "items": {"$ref": "#/$defs/A"}},
    ],
    ids=["twenty ways to itself", "nested", "an array of it"],
)
def test_a_hostile_schema_costs_little(schema: dict[str, Any]) -> None:
    """Followed without a bound, the first has 20 to the power of its depth parts."""
    again = {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in "AAAAAAAABBBBBBBB"]}
    root = {
        "$defs": {"A": again, "B": again},
        "type": "object",
        "properties": {"email": TEXT, "it": schema},
    }
    odd = Tool(server="s", name="odd", input_schema=root, output_schema=root)
    assert mapped(odd, tool("notify", {"email": TEXT})) == {"email": "email"}


def test_what_the_sdk_wraps_is_seen_as_code_sees_it() -> None:
    """EX-1: ``{result: [...]}`` of a list is the list."""
    listing = {"type": "array", "items": {"type": "object", "properties": {"email": TEXT}}}
    wrapped = Tool(
        server="s",
        name="find",
        output_schema={
            "type": "object",
            "properties": {"result": {**listing, "title": "Result"}},
            "required": ["result"],
            "title": "findOutput",
            "x-fastmcp-wrap-result": True,
        },
    )
    assert mapped(wrapped, tool("notify", {"email": TEXT})) == {"email": "[].email"}


@pytest.mark.parametrize(
    ("required", "expected"),
    [
        (("email",), Coverage.STRICT),
        (("email", "subject"), Coverage.PARTIAL),
        (("subject",), Coverage.OPTIONAL),
        ((), Coverage.OPTIONAL),
    ],
)
def test_coverage_says_how_much_of_what_is_required_is_covered(
    required: tuple[str, ...], expected: Coverage
) -> None:
    """Story 10.3: strict, partial, optional, or no edge."""
    consumer = tool("notify", {"email": TEXT, "subject": TEXT}, required=required)
    edge = provides(Side(tool("find", gives={"email": TEXT})), Side(consumer))
    assert edge is not None
    assert edge.coverage is expected


def test_tools_with_nothing_in_common_and_a_tool_itself_have_no_edge() -> None:
    same = Side(tool("notify", {"email": TEXT}, {"email": TEXT}))
    assert provides(same, same) is None
    assert provides(Side(tool("find", gives={"height": NUMBER})), same) is None


@given(tools(), tools())
def test_an_edge_is_sound_and_survives_its_wire_form(provider: Tool, consumer: Tool) -> None:
    edge = provides(Side(provider), Side(consumer))
    if edge is None:
        return
    taken = [mapping.to_field for mapping in edge.field_mapping]
    inputs = list(consumer.input_schema["properties"])
    assert taken == [name for name in inputs if name in taken]
    assert all(THRESHOLD - 1e-4 <= m.score <= 1 for m in edge.field_mapping)
    outputs = {f.path for f in signature(provider).outputs}
    assert {m.from_field for m in edge.field_mapping} <= outputs
    assert decode(ProvidesEdge, encode(edge)) == edge
    assert edge.score == max(m.score for m in edge.field_mapping)


@given(tools(), tools())
def test_a_match_is_a_chance(provider: Tool, consumer: Tool) -> None:
    for output in signature(provider).outputs:
        for taken in signature(consumer).inputs:
            assert 0 <= score(output, taken) < 1


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": None},
        {"properties": []},
        {"properties": {"city": True}},
        {"properties": {"city": {"type": ["null", "string"], "enum": "x", "description": 1}}},
        {"properties": {"city": {"type": 3, "items": [1]}}, "required": "city"},
        {"type": "array", "items": {"properties": {"city": {}}}},
    ],
)
def test_a_schema_that_is_none_is_taken_for_what_it_says(schema: dict[str, Any]) -> None:
    odd = Tool(server="s", name="odd", input_schema=schema, output_schema=schema)
    assert provides(Side(odd), Side(tool("find", {"height": NUMBER}))) is None


def test_a_schema_without_end_is_read_to_a_depth() -> None:
    endless: dict[str, Any] = {"type": "object", "properties": {}}
    endless["properties"]["city"] = endless
    paths = [f.path for f in signature(tool("get_it", gives={"city": endless})).outputs]
    assert max(path.count(".") for path in paths) < 10


def test_descriptions_are_alike_by_their_rare_words() -> None:
    assert described("", "the city") == 0
    assert described("Tracks of an album", "Tracks of an album") == pytest.approx(1)
    assert 0 < described("the id of the album", "name of an album") < 1


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=20))
def test_remembered_sides_are_those_of_the_tool_that_is_asked_for(
    asked: list[tuple[int, bool]],
) -> None:
    """However few are remembered, and when a tool changes under its id."""
    sides, current = Sides(2), [tool(f"find_{number}") for number in range(5)]
    for number, changes in asked:
        if changes:
            current[number] = tool(f"find_{number}", gives={"email": TEXT})
        assert sides.of(current[number]).tool is current[number]
        assert sides.of(current[number]) is sides.of(current[number])
