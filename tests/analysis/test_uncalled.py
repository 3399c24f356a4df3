"""Functions with calls that nothing ever calls: told, and no capability is made of them (SA-7)."""

import pytest

from pml.analysis.kept import new_capability
from tests.analysis.programs import program

TOLD = {
    "async function main() { await mcp.s.a() }": ("main", "add return await main();"),
    "const main = async (x) => { await mcp.s.a({ x }) }": ("main", "add return await main(...);"),
    "async function h() { await mcp.s.a() } async function main() { await h() }": (
        "main",
        "add return await main();",
    ),
    "async function a() { await b() } async function b() { await mcp.s.a(); await a() }": (
        "b",
        "add return await b();",
    ),
}


@pytest.mark.parametrize("source", TOLD)
def test_a_program_whose_calls_never_happen_is_told_what_to_add(source: str) -> None:
    name, advice = TOLD[source]
    analysed = program(source)
    found = [d for d in analysed.diagnostics if d.code == "never-called"]
    assert found[-1].text == name
    assert found[-1].message == (
        f"{name!r} is never called, so the calls in it never happen: {advice}"
    )
    kept = new_capability(analysed, intent="do it")
    assert kept == "it calls nothing: its calls stand in functions that are never called"


def test_one_of_several_is_to_be_called_or_removed() -> None:
    source = "const h = async () => await mcp.s.a(); return await mcp.s.b()"
    analysed = program(source)
    (said,) = analysed.diagnostics
    assert said.message.endswith("never happen: call it, or remove it")
    assert not isinstance(new_capability(analysed, intent="do it"), str)


@pytest.mark.parametrize(
    "source",
    [
        "async function main() { await mcp.s.a() } await main()",
        "const o = { main }; async function main() { await mcp.s.a() } return await o.main()",
        "const h = async (x) => mcp.s.a({ x }); return await Promise.all(args.xs.map(h))",
        "const api = { go: async () => mcp.s.a() }; return await api.go()",
        "return await (async function main() { await mcp.s.a() })()",
        "class K { async go() { await mcp.s.a() } } return await new K().go()",
        "async function main() { await h() } const h = async () => mcp.s.a(); await main()",
        "const f = async (n) => n && (await mcp.s.a(), await f(n - 1)); return await f(2)",
    ],
)
def test_a_function_that_may_be_called_is_right(source: str) -> None:
    analysed = program(source)
    assert analysed.diagnostics == ()
    assert not isinstance(new_capability(analysed, intent="do it"), str)
