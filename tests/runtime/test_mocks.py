"""Dry runs reach no server with what would change the world (EX-6, XP-2)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.permissions import ApprovalMode, Effect, Permission
from pml.domain.run import Failed, Issued, Outcome, Returned
from pml.domain.tools import Catalog, Tool
from pml.errors import ConfigError
from pml.runtime.mocks import (
    DEFAULT,
    DryRun,
    MockedCalls,
    Mocks,
    as_texts,
    load_mocks,
    mock_for,
    mock_problem,
)

NAMES = ("read", "write", "put", "shape")
SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "integer", "minimum": 5}, "url": {"format": "uri"}},
    "required": ["id"],
}
CATALOG = Catalog(
    {
        "s": [
            *(Tool(server="s", name=name) for name in NAMES[:3]),
            Tool(server="s", name="shape", output_schema=SCHEMA),
        ],
        "capabilities": [Tool(server="capabilities", name="tidy")],
    }
)


class Judge:
    """Permissions by effect; everything needs approval."""

    def __init__(self, effects: dict[str, Effect]) -> None:
        self._effects = effects

    def of(self, tool: Tool) -> Permission:
        effect = self._effects.get(tool.name, Effect.WRITE)
        return Permission(tool=tool.id, effect=effect, approval_mode=ApprovalMode.HIL)


class Server:
    """A server that counts what reaches it."""

    def __init__(self) -> None:
        self.reached: list[str] = []

    async def ready(self, server: str) -> None:
        self.reached.append(server)

    async def call(self, issued: Issued) -> Outcome:
        self.reached.append(issued.tool)
        return Returned(value='"real"')


def dry_run(effects: dict[str, Effect], requested: Mocks, configured: Mocks) -> DryRun:
    return DryRun(judge=Judge(effects), catalog=CATALOG, requested=requested, configured=configured)


def issue(ledger: Ledger, tool: str) -> Issued:
    return ledger.issue(site="n1", tool=tool, arguments="{}", effect=Effect.READ, at_ms=0)


EFFECTS = st.fixed_dictionaries({name: st.sampled_from(Effect) for name in NAMES})
PATTERNS = st.sampled_from(["s:read", "s:write", "s:*", "s:?ut", "*", "capabilities:tidy"])
VALUES = st.sampled_from([None, 1, {"a": [1]}, [1], ["x", [2], None], "text"])
MOCKS = st.dictionaries(PATTERNS, VALUES, max_size=3).map(as_texts)
CALLS = st.lists(st.sampled_from([*(f"s:{name}" for name in NAMES), "capabilities:tidy"]))


@given(EFFECTS, MOCKS, MOCKS, CALLS, st.integers(0, 20))
def test_a_tool_that_changes_anything_is_never_reached(
    effects: dict[str, Effect], requested: Mocks, configured: Mocks, tools: list[str], cut: int
) -> None:
    """A law, with a reference: what each call answers, before and after a resume at ``cut``."""
    rules = dry_run(effects, requested, configured)
    ledger, server = Ledger(), Server()
    calls = MockedCalls(calls=server, dry_run=rules, ledger=ledger)
    for number, tool in enumerate(tools):
        if number == cut:  # another process goes on with the log
            ledger = Ledger(ledger.records)
            calls = MockedCalls(calls=server, dry_run=rules, ledger=ledger)
        issued = issue(ledger, tool)
        reached = len(server.reached)
        outcome = asyncio.run(calls.call(issued))
        assert isinstance(outcome, Returned)
        given_mock = mock_for(requested, tool)
        safe = effects.get(tool.partition(":")[2]) is Effect.READ or tool.startswith("cap")
        if given_mock is None and safe:
            assert server.reached[reached:] == [tool.partition(":")[0], tool]
            assert not rules.mocked(found(tool))
            continue
        assert server.reached[reached:] == []
        assert outcome.mocked
        mock = mock_for(configured, tool) if given_mock is None else given_mock
        occurrence = tools[: number + 1].count(tool)
        assert json.loads(outcome.value) == expected(tool, mock, occurrence)
        permission = rules.of(found(tool))
        assert (permission.effect, permission.approval_mode) == (Effect.READ, ApprovalMode.AUTO)


def found(tool_id: str) -> Tool:
    tool = CATALOG.find(tool_id)
    assert tool is not None
    return tool


def expected(tool: str, mock: str | None, occurrence: int) -> Any:  # noqa: ANN401  # JSON
    if mock is None:
        made = {"id": 5, "url": "https://example.com/"}
        return made if tool == "s:shape" else DEFAULT
    value = json.loads(mock)
    return value[min(occurrence, len(value)) - 1] if isinstance(value, list) else value


def test_what_the_permissions_say_of_a_read_stays() -> None:
    rules = dry_run({"read": Effect.READ}, {}, {})
    assert rules.of(found("s:read")).approval_mode is ApprovalMode.HIL


def test_a_mock_is_as_code_sees_results() -> None:
    """A wrapper of the SDK is taken off, and a learned schema is one of what code sees."""
    wrapped = {
        "title": "listOutput",
        "type": "object",
        "properties": {"result": {"title": "Result", "type": "array", "items": {"type": "string"}}},
        "required": ["result"],
    }
    rules = dry_run({}, {}, {})
    text = rules.value(Tool(server="s", name="list", output_schema=wrapped), 1)
    assert json.loads(text) == ["mocked result"]
    learned = Tool(server="s", name="count", observed_schema={"type": "integer"})
    assert jsonschema_rs.is_valid({"type": "integer"}, json.loads(rules.value(learned, 1)))
    impossible = Tool(server="s", name="odd", output_schema={"not": {}})
    assert json.loads(rules.value(impossible, 1)) == DEFAULT


def test_an_exact_name_is_stronger_than_a_pattern() -> None:
    mocks = as_texts({"*": 1, "s:*": 2, "s:write": 3})
    assert (mock_for(mocks, "s:write"), mock_for(mocks, "s:put")) == ("3", "1")
    assert mock_for(as_texts({"s:[ab]": 1}), "s:a") is None


@pytest.mark.parametrize(
    ("mocks", "message"),
    [
        ({"write": 1}, "write: expected server:tool or a pattern such as github:*"),
        ({"s:write": []}, "s:write: expected a value, or a list with one value per call, got []"),
        ({"s:write": object()}, "s:write: the value is no JSON"),
    ],
)
def test_what_is_no_mock_is_said(mocks: dict[str, Any], message: str) -> None:
    assert str(mock_problem(mocks, Limits())).startswith(message)
    assert mock_problem({"*": None, "s:*": [1]}, Limits()) is None


def test_mocks_of_the_configuration_are_read(tmp_path: Path) -> None:
    path = tmp_path / "mocks.yaml"
    path.write_text('version: 1\nmocks:\n  "s:write": {id: 7}\n  s:*: [1, null]\n')
    assert load_mocks(path, Limits()) == {"s:write": '{"id":7}', "s:*": "[1,null]"}
    assert load_mocks(None, Limits()) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version: 2\n", "mocks.yaml:1: version: expected version: 1, found 2"),
        ("version: 1\nmock: {}\n", "mocks.yaml:2: mock: unknown key"),
        ("version: 1\nmocks:\n  write: 1\n", "mocks.yaml:3: mocks.write: expected server:tool"),
        ("version: 1\nmocks:\n  a:b: []\n", "mocks.yaml:3: mocks.a:b: expected a value"),
    ],
)
def test_mocks_that_cannot_be_used_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mocks.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_mocks(path, Limits())
    assert message in str(caught.value)


async def test_a_failure_of_a_tool_that_runs_stays_a_failure() -> None:
    class Down(Server):
        async def call(self, issued: Issued) -> Outcome:
            return Failed(code="tool_error", message=issued.tool)

    ledger = Ledger()
    rules = dry_run({"read": Effect.READ}, {}, {})
    calls = MockedCalls(calls=Down(), dry_run=rules, ledger=ledger)
    assert isinstance(await calls.call(issue(ledger, "s:read")), Failed)
