"""Values at the border of the sandbox: what no server, log or answer could hold does not leave."""

import json

import pytest

from pml.domain.limits import Limits
from pml.runtime.sandbox.pool import SandboxPool
from pml.runtime.sandbox.protocol import DecisionMade, SiteReached
from tests.runtime.sandbox.driver import echo, run_program

pytestmark = pytest.mark.asyncio(loop_scope="module")

NEST = "let a = 1; for (let i = 0; i < {}; i++) a = [a]; "


@pytest.mark.parametrize(
    ("text", "arrives"),
    [
        (r'"a\ud83d".slice(0, 2)', "a\ufffd"),
        (r'"\ude00\ud83d"', "\ufffd\ufffd"),
        (r'"\\ud83d \u{1F600}"', "\\ud83d \U0001f600"),
        (r'"\\\ud83d\\"', "\\\ufffd\\"),
    ],
)
async def test_half_of_a_surrogate_pair_becomes_the_replacement_character(
    pool: SandboxPool, text: str, arrives: str
) -> None:
    """As in every UTF-8 encoder; text cut in the middle of an emoji is a daily case."""
    story = await run_program(pool, f"const t = {text}; return await mcp.a.b({{ [t]: t }});")
    assert story.value == {arrives: arrives}
    thrown = await run_program(pool, f"throw new Error({text});")
    assert thrown.error.message == arrives


async def test_values_as_deep_as_the_limit_pass_and_deeper_ones_do_not(pool: SandboxPool) -> None:
    levels = Limits().nesting
    passes = await run_program(pool, NEST.format(levels) + "return a;")
    assert passes.value == json.loads("[" * levels + "1" + "]" * levels)
    deeper = await run_program(pool, NEST.format(levels + 1) + "return a;")
    assert (deeper.error.code, str(levels) in deeper.error.message) == ("too_large", True)
    source = NEST.format(levels + 1) + "try { await mcp.a.b(a); } catch (e) { return e.message; }"
    caught = await run_program(pool, source)
    assert (caught.calls, "nested deeper" in caught.value) == ([], True)


async def test_a_loop_tells_a_thousand_decisions_and_then_only_what_is_new(
    pool: SandboxPool,
) -> None:
    source = """
      for (let i = 0; i < 50_000; i++) {
        __pml.reach("l1");
        __pml.decide("d1", i === 40_000);
        __pml.decide("d2", i % 2);
      }
      return (await mcp.a.b({ done: true })).done;
    """
    story = await run_program(pool, source, answer=echo)
    assert story.value is True
    told = [(i.site, i.outcome) for i in story.items if isinstance(i, DecisionMade)]
    assert [d for d in told if d[0] == "d1"] == [("d1", "false")] * 1000 + [("d1", "true")]
    assert len([d for d in told if d[0] == "d2"]) == 1000
    assert len([i for i in story.items if isinstance(i, SiteReached)]) == 1000
