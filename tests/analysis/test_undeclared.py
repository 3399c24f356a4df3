"""Names that nothing declares, and names with hyphens: what was meant is said (SA-7)."""

# ruff: noqa: E501  # programs and what is said of them, a row each

import pytest

from pml.analysis.analyse import analyse
from pml.domain.tools import Catalog
from tests.analysis.programs import program

ERRORS = {
    "await fs.read({ path })": "'fs' is declared nowhere: to call the tool, write mcp.fs.read({ ... })",
    "await fs.readFile({ path })": "'fs' is declared nowhere: to call the tool, write mcp.fs.read({ ... })",
    "await tools.fs.read({ path })": "'tools' is declared nowhere: to call the tool, write mcp.fs.read({ ... })",
    "await mcp__fs__read({ path })": "'mcp__fs__read' is declared nowhere: to call the tool, write mcp.fs.read({ ... })",
    "await fs_read({ path })": "'fs_read' is declared nowhere: to call the tool, write mcp.fs.read({ ... })",
    "await my_server_read_file()": '\'my_server_read_file\' is declared nowhere: to call the tool, write mcp["my-server"]["read-file"]({ ... })',
    "await mcp.fs__read({ path })": "'fs__read' is no server, and a tool is called through its server: write mcp.fs.read({ ... })",
    "await mcp['fs:read']({ path })": "'fs:read' is no server, and a tool is called through its server: write mcp.fs.read({ ... })",
    "await mcp.read({ path })": "'read' is no server, and a tool is called through its server: write mcp.fs.read({ ... })",
    "await mcp.callTool('fs', 'read')": "'callTool' is no server: tools are called as mcp.server.tool({ ... }); the servers are fs, s, my-server",
    "await fetch('http://x')": "fetch always fails: the sandbox has no network; use an MCP tool",
    "const x = await mcp.my-server.read-file({ x })": '`-` subtracts: names with hyphens go in brackets, mcp["my-server"]["read-file"](...)',
    "return 1 + mcp.my-server.read_file({ x })": '`-` subtracts: names with hyphens go in brackets, mcp["my-server"].read_file(...)',
    "await mcp.fs.read-text-file({ path })": '`-` subtracts: names with hyphens go in brackets, mcp.fs["read-text-file"](...)',
    "await capabilities.read-notes()": '`-` subtracts: names with hyphens go in brackets, capabilities["read-notes"](...)',
    "return mcp.fs - 1": "`-` subtracts, and this is no number: call a tool, mcp.server.tool({ ... })",
}


@pytest.mark.parametrize("source", ERRORS)
def test_an_error_says_how_the_tool_is_called(source: str) -> None:
    assert [d.message for d in program(source).errors] == [ERRORS[source]]


def test_a_server_is_enough_where_nobody_asked_it_for_its_tools() -> None:
    catalog = Catalog({"files": []})
    for source in ("await files.read_text({ path })", "await mcp__files__read_text({ path })"):
        (error,) = analyse(source, catalog).errors
        assert error.message.endswith("write mcp.files.read_text({ ... })")


WARNINGS = {
    "await read({ path })": "'read' is declared nowhere, so it is an input, and data is no function: write mcp.fs.read({ ... })",
    "print('x')": "'print' is declared nowhere, so it is an input, and data is no function: write console.log(...)",
    "return axios.get('x')": "'axios' is declared nowhere, so it is an input, and data has no method 'get': declare it, or call a tool, mcp.server.tool({ ... })",
    "return new Foo()": "'Foo' is declared nowhere, so it is an input, and data is no function: declare it, or call a tool, mcp.server.tool({ ... })",
    "return None": "'None' is an input here, as nothing declares it: write null",
    "return [].map(q = 'a')": "this assigns a variable 'q', and names no argument: arguments go in one object, ({ q: 'a' })",
    "try { await fetch('x') } catch { }": "fetch always fails: the sandbox has no network; use an MCP tool",
    "return await fetch('x').catch(() => 1)": "fetch always fails: the sandbox has no network; use an MCP tool",
}


@pytest.mark.parametrize("source", WARNINGS)
def test_what_fails_only_when_it_runs_is_a_warning(source: str) -> None:
    analysed = program(source)
    assert [d.message for d in analysed.diagnostics] == [WARNINGS[source]]
    assert analysed.instrumented


@pytest.mark.parametrize(
    "source",
    [
        "return fs.map((f) => f.x).filter(Boolean)",
        "return fs.files.find((f) => f.read)",
        "return s.trim().split(',').map((x) => x.foo())",
        "return fs.read",
        "const fs = { read: (o) => o }; return fs.read({ path: 1 })",
        "const { fs } = mcp; return await fs.read({ path })",
        "if (typeof fs !== 'undefined') fs.read()",
        "return fs?.read?.({ path })",
        "globalThis.fs = { read: (o) => o }; return fs.read({ path })",
        "return typeof fetch",
        "globalThis.fetch = async (x) => x; return await fetch(1)",
        "const fetch = async (x) => x; return await fetch(1)",
        "const print = (x) => x; return print(1)",
        "return (await mcp.fs.stat({ path })).size - 1",
        "const n = args.c ? mcp.fs : 5; return args.c ? 1 : 2",
        "let q; return [].map(q = 'a')",
        "return args.fs.map((x) => x)",
    ],
)
def test_nothing_is_said_of_what_may_be_right(source: str) -> None:
    assert program(source).diagnostics == ()
