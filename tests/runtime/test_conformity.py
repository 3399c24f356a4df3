"""Results that their server's output schema does not allow are told, once per tool (EX-1)."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pml.domain.ledger import Ledger
from pml.domain.permissions import Effect
from pml.domain.run import Failed, Returned
from pml.domain.tools import Catalog, Tool
from pml.runtime.conformity import contradictions

PERSON = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
WRAPPED = {
    "title": "nextOutput",
    "type": "object",
    "properties": {"result": {"title": "Result", "$ref": "#/$defs/N", "type": "integer"}},
    "required": ["result"],
    "$defs": {"N": {"minimum": 3}},
}
CATALOG = Catalog(
    {
        "s": [
            Tool(server="s", name="person", output_schema=PERSON),
            Tool(server="s", name="next", output_schema=WRAPPED),
            Tool(server="s", name="odd", output_schema={"type": "nothing"}),
            Tool(server="s", name="free"),
        ]
    }
)
VALID = {
    "s:person": lambda value: isinstance(value, dict) and type(value.get("age")) is int,
    "s:next": lambda value: type(value) is int and value >= 3,
}
VALUES = st.sampled_from([{"age": 1}, {"age": "1"}, {}, "text", 2, 3, None])


def ledger_of(results: list[tuple[str, Any, bool]]) -> Ledger:
    ledger = Ledger()
    for number, (tool, value, mocked) in enumerate(results):
        ledger.issue(site="n1", tool=tool, arguments="{}", effect=Effect.READ, at_ms=1)
        ledger.deliver(number, Returned(value=json.dumps(value), mocked=mocked), 2)
    return ledger


@given(st.lists(st.tuples(st.sampled_from(["s:person", "s:next", "s:odd", "s:free"]), VALUES,
                          st.booleans()), max_size=6))  # fmt: skip
def test_every_tool_that_contradicts_its_schema_is_told_once(
    results: list[tuple[str, Any, bool]],
) -> None:
    wrong = dict.fromkeys(
        tool for tool, value, mocked in results
        if not mocked and tool in VALID and not VALID[tool](value)
    )  # fmt: skip
    told = contradictions(ledger_of(results).calls, CATALOG)
    assert [warning.partition("(")[2].partition(")")[0] for warning in told] == list(wrong)


def test_the_warning_says_which_call_and_what() -> None:
    (told,) = contradictions(
        ledger_of([("s:person", {"age": 1}, False), ("s:person", {"age": "x"}, False)]).calls,
        CATALOG,
    )
    assert told.startswith("n1_2 (s:person) returned what its server's output schema does not")
    assert told.endswith('.age: "x" is not of type "integer"')


def test_failures_contradict_nothing() -> None:
    ledger = Ledger()
    ledger.issue(site="n1", tool="s:person", arguments="{}", effect=Effect.READ, at_ms=1)
    ledger.deliver(0, Failed(code="tool_error", message="no"), 2)
    assert contradictions(ledger.calls, CATALOG) == ()
