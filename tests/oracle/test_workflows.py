"""The program of an explicit workflow does what the workflow says (EX-1).

A law over random workflows: at every step the compiled program, instrumented, in a real sandbox
makes the calls that an interpreter of workflows makes, with the same arguments, from the site of
the right task, and comes to the same end.
"""

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pml.analysis.analyse import analyse
from pml.analysis.dag import compile_dag
from pml.domain.dag import ExplicitDag
from pml.domain.run import Failed, Returned
from pml.domain.structure import CapabilityCall, Task
from pml.domain.tools import Catalog, Tool
from pml.runtime.sandbox.module import module_text
from pml.runtime.sandbox.protocol import CallIssued, ProgramReturned, ProgramThrew, TurnItem
from tests.oracle.sandboxed import Reusing, Sandboxed, sandboxed
from tests.oracle.scenario import Case
from tests.oracle.workflows import OUTPUTS, Interpreted, text_of, workflows

pytestmark = pytest.mark.asyncio(loop_scope="module")

CATALOG = Catalog(
    {
        "s": [Tool(server="s", name=name) for name in "ab"],
        "my-server": [Tool(server="my-server", name="read-file")],
        "capabilities": [Tool(server="capabilities", name="tidy")],
    }
)
NOW_MS = 1_800_000_000_000
FAILURE = Failed(code="tool_error", message="the tool said no")


@given(workflows(), st.data())
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
async def test_a_compiled_workflow_does_what_the_workflow_says(
    reusing: Reusing, dag: ExplicitDag, data: st.DataObject
) -> None:
    source = compile_dag(dag).source
    program = analyse(source, CATALOG)
    assert program.errors == ()
    tools = {n.id: n.tool for n in program.structure.nodes if isinstance(n, Task)}
    calls = {n.id for n in program.structure.nodes if isinstance(n, CapabilityCall)}
    text = module_text(program.instrumented, program.structure.variables)
    wanted = Interpreted(dag)
    async with sandboxed(reusing, text, {}) as runner:
        turn = await runner.start(Case(source=source), NOW_MS)
        open_calls: dict[int, tuple[str, str]] = {}
        while True:
            expected = wanted.go_on()
            issued = [item for item in turn if isinstance(item, CallIssued)]
            for item in issued:
                tool = f"{item.server}:{item.tool}"
                assert tools.get(item.site) == tool or item.site in calls
            end = _end(turn)
            if wanted.settled:
                _assert_ended(wanted, end)
                return
            assert end is None
            _take(open_calls, expected, issued)
            turn = await _answer(runner, wanted, open_calls, data)


def _end(turn: tuple[TurnItem, ...]) -> ProgramReturned | ProgramThrew | None:
    ends = [item for item in turn if isinstance(item, ProgramReturned | ProgramThrew)]
    return ends[0] if ends else None


def _assert_ended(wanted: Interpreted, end: ProgramReturned | ProgramThrew | None) -> None:
    if wanted.failed is None:
        assert isinstance(end, ProgramReturned)
        assert end.value == text_of(wanted.result())
    else:
        assert isinstance(end, ProgramThrew)
        assert end.name == wanted.failed


def _take(
    open_calls: dict[int, tuple[str, str]],
    expected: list[tuple[str, str, str]],
    issued: list[CallIssued],
) -> None:
    """Match the calls of the turn with those that the interpreter made; equal ones are alike."""
    made = [(f"{item.server}:{item.tool}", item.arguments) for item in issued]
    assert Counter(made) == Counter((tool, arguments) for _, tool, arguments in expected)
    left = list(expected)
    for item, (tool, arguments) in zip(issued, made, strict=True):
        task = next(one for one in left if one[1:] == (tool, arguments))
        left.remove(task)
        open_calls[item.call] = (task[0], tool)


async def _answer(
    runner: Sandboxed,
    wanted: Interpreted,
    open_calls: dict[int, tuple[str, str]],
    data: st.DataObject,
) -> tuple[TurnItem, ...]:
    number = data.draw(st.sampled_from(sorted(open_calls)))
    task, tool = open_calls.pop(number)
    if data.draw(st.integers(0, 9)) == 0:
        wanted.failed = "ToolError"
        return await runner.deliver(number, tool, FAILURE, NOW_MS)
    value: Any = data.draw(OUTPUTS)
    wanted.answered(task, value)
    return await runner.deliver(number, tool, Returned(value=text_of(value)), NOW_MS)


async def test_tasks_that_wait_for_nothing_start_side_by_side(reusing: Reusing) -> None:
    """A control of the law: three calls in the first turn, in the order of the workflow."""
    tasks = [{"id": f"t{n}", "tool": "s:a", "arguments": {"n": n}} for n in range(3)]
    source = compile_dag(msgspec.convert({"tasks": tasks}, ExplicitDag)).source
    async with sandboxed(reusing, module_text(source, ()), {}) as runner:
        turn = await runner.start(Case(source=source), NOW_MS)
    issued = [item.arguments for item in turn if isinstance(item, CallIssued)]
    assert issued == ['{"n":0}', '{"n":1}', '{"n":2}']
