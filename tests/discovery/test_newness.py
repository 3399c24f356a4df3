"""How new a tool's server is, counted past intent by past intent (MCP-1)."""

import pytest

from pml.discovery.newness import SETTLED, Newness


def new_and_used(newness: Newness) -> tuple[dict[int, float], list[int]]:
    tools = newness.tools()
    return dict(zip(tools.new.tolist(), tools.newness.tolist(), strict=True)), tools.used.tolist()


@pytest.mark.parametrize("served", range(SETTLED + 2))
def test_a_server_is_less_new_with_each_past_intent_until_it_is_settled(served: int) -> None:
    newness = Newness()
    newness.put_tool(0, "mail")
    newness.put_capability(2, ["mail", "mail"], served)
    new = {0: 1 - served / SETTLED} if served < SETTLED else {}
    assert new_and_used(newness) == (new, [0] if served else [])


def test_what_several_capabilities_were_asked_for_adds_up() -> None:
    newness = Newness()
    newness.put_tool(1, "mail")
    newness.put_capability(0, ["mail"], 1)
    newness.put_capability(2, ["fs", "mail"], 2)
    assert new_and_used(newness) == ({1: 1 - 3 / SETTLED}, [1])


def test_what_was_taken_out_does_not_count() -> None:
    newness = Newness()
    newness.put_tool(0, "mail")
    newness.put_capability(1, ["mail"], SETTLED)
    assert new_and_used(newness) == ({}, [0])
    newness.put_capability(1, ["fs"], SETTLED)
    assert new_and_used(newness) == ({0: 1}, [])
    newness.put_tool(0, "fs")
    assert new_and_used(newness) == ({}, [0])
    newness.forget(1)
    assert new_and_used(newness) == ({0: 1}, [])
    newness.forget(0)
    assert new_and_used(newness) == ({}, [])


def test_of_a_tool_whose_server_nobody_told_nothing_is_known() -> None:
    newness = Newness()
    newness.put_tool(1, None)
    assert new_and_used(newness) == ({}, [])
