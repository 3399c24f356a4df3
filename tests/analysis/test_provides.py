"""Schema `provides` edges of a program: the matcher, where no value flows (SA-3, SA-10)."""

from pml.analysis.analyse import analyse
from pml.domain.tools import Catalog, Tool
from tests.analysis.programs import provides, schema

BOOLEAN = schema("user_id", user_id="boolean")
CRM = Catalog(
    {
        "crm": [
            Tool(server="crm", name="create_user", output_schema=schema("id created")),
            Tool(server="crm", name="find_order", output_schema=schema("id", id="string")),
            Tool(server="crm", name="count_users", output_schema=BOOLEAN),
            Tool(server="crm", name="get_user"),
            Tool(server="crm", name="load_user", observed_schema=schema("user_id")),
            Tool(
                server="crm",
                name="list_users",
                observed_schema={"type": "array", "items": schema("id name")},
            ),
            Tool(server="crm", name="mail", input_schema=schema("userId subject")),
        ]
    }
)
MAIL = "await mcp.crm.mail({ userId: args.user, subject: 'x' });"


def edges(*calls: str) -> set[tuple[str, str, str, str | None]]:
    return provides(analyse("\n".join(calls), CRM).structure)


def test_the_id_of_what_was_created_is_another_tools_argument() -> None:
    assert edges("await mcp.crm.create_user({});", MAIL) == {("n1", "n2", "schema", "partial")}


def test_the_id_of_something_else_is_not() -> None:
    assert edges("await mcp.crm.find_order({});", MAIL) == set()


def test_a_field_of_another_type_is_not() -> None:
    assert edges("await mcp.crm.count_users({});", MAIL) == set()


def test_what_only_a_name_says_of_a_result_makes_no_edge_of_a_program() -> None:
    assert edges("await mcp.crm.get_user({});", MAIL) == set()


def test_what_results_have_taught_makes_one() -> None:
    assert edges("await mcp.crm.load_user({});", MAIL) == {("n1", "n2", "schema", "partial")}


def test_what_lies_in_a_list_counts() -> None:
    assert edges("await mcp.crm.list_users({});", MAIL) == {("n1", "n2", "schema", "partial")}


def test_a_call_provides_for_what_comes_after_it_only() -> None:
    assert edges(MAIL, "await mcp.crm.create_user({});") == set()


def test_of_several_calls_of_one_tool_the_latest_provides() -> None:
    call = "await mcp.crm.create_user({});"
    assert edges(call, call, MAIL) == {("n2", "n3", "schema", "partial")}
    either = f"if (args.a) {{ {call} }} else {{ {call} }}"
    assert {edge[:2] for edge in edges(either, MAIL)} == {("n1", "n3"), ("n2", "n3")}


def test_of_many_calls_that_may_be_passed_by_the_last_ones_provide() -> None:
    """Else the edges of a long program would grow with the square of its length."""
    call = "if (args.a) { await mcp.crm.create_user({}); }"
    found = {edge[:2] for edge in edges(*[call] * 40, MAIL)}
    assert found == {(f"n{number}", "n41") for number in range(29, 41)}


def test_where_a_value_flows_the_schemas_need_not_say_so() -> None:
    source = (
        "const user = await mcp.crm.create_user({});\n"
        "await mcp.crm.mail({ userId: user.id, subject: 'x' });"
    )
    assert edges(source) == {("n1", "n2", "dataflow", "partial")}
