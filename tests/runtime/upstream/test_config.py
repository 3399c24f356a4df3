"""mcp.json: what it means, and what is said of a malformed one (EX-11; issue 2, bad input)."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.errors import ConfigError
from pml.runtime.upstream.config import ServerConfig, load_servers

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "mcp-json.md"
BOTTOM = "\u22a5"


def load(tmp_path: Path, text: str, **env: str) -> tuple[ServerConfig, ...]:
    path = tmp_path / "mcp.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return load_servers(path, env)


def test_the_documented_example_means_what_it_says(tmp_path: Path) -> None:
    example = re.search(r"```json\n(.*?)```", REFERENCE.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    git, files, tickets = load(tmp_path, example[1], DATA="/data", TICKETS_TOKEN="t0")
    assert (git.name, git.command, git.args) == ("git", "python", ("-m", "mcp_server_git"))
    assert files.args[-1] == "/data"
    assert tickets.url == "https://tickets.example.org/mcp"
    assert tickets.headers == {"Authorization": "Bearer t0"}
    assert (tickets.transport, tickets.call_timeout_s) == ("http", 120.0)
    assert tickets.parses_text("search_all")
    assert not tickets.parses_text("get")


def test_what_other_clients_write_is_read(tmp_path: Path) -> None:
    vs_code = """\ufeff{
      // VS Code keeps comments /* like this */ and "quotes" in them
      "inputs": [],
      "servers": {
        "a": {"type": "stdio", "command": "x", "env": {"U": "http://h//p",}, /* gone */},
        "b": {"type": "http", "url": "${env:URL}", "alwaysAllow": ["*"],},
      },
    }"""
    a, b = load(tmp_path, vs_code, URL="http://127.0.0.1/mcp")
    assert a.env == {"U": "http://h//p"}
    assert b.url == "http://127.0.0.1/mcp"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${A}", "one"),
        ("x${A}y${env:B}", "xoney"),
        ("${B:-none}", "none"),
        ("${A:-none}", "one"),
        ("${C:-}", ""),
        ("$A $$ {A}", "$A $$ {A}"),
        ("${B}", ""),
    ],
)
def test_variables_are_expanded(tmp_path: Path, text: str, expected: str) -> None:
    config = {"mcpServers": {"s": {"command": "x", "args": [text], "env": {"V": text}}}}
    (server,) = load(tmp_path, json.dumps(config), A="one", B="")
    assert server.args == (expected,)
    assert server.env == {"V": expected}


def entry(fields: str, name: str = "s") -> str:
    return f'{{"mcpServers": {{\n  "{name}": {{\n    {fields}\n}}}}}}'


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", 1, "expected JSON"),
        ('{"mcpServers": {\n"a": {"command": }}}', 2, "expected JSON: Expecting value"),
        ("[]", 1, "expected a mapping, found a list"),
        ("{}", 1, 'expected one object "mcpServers"'),
        ('{"mcpServers": {}, "servers": {}}', 1, 'expected one object "mcpServers"'),
        ('{\n"mcpServers": []}', 2, "mcpServers: expected a mapping, found a list"),
        ('{"mcpServers": {\n"a": "x"}}', 2, "mcpServers.a: expected a mapping, found text"),
        ('{"mcpServers": {\n"a": {"command": "x"},\n"a": {}}}', 3, "'a' is given twice"),
        (entry('"comand": "x"'), 2, 'expected either "command" or "url"'),
        (entry('"command": "x",\n"arg": []'), 4, "unknown key; did you mean 'args'?"),
        (entry('"command": "x",\n"url": "http://h"'), 2, 'either "command" or "url"'),
        (entry('"command": "x", "headers": {}'), 3, "headers: unknown key"),
        (entry('"command": "x", "args": "y"'), 3, "args: expected a list"),
        (entry('"command": "x", "args": ["y",\n5]'), 4, "args.1: expected text, found 5"),
        (entry('"command": ["x"]'), 3, "command: expected text"),
        (entry('"command": ""'), 3, "command: expected a program"),
        (entry('"command": "a\\u0000b"'), 3, "NUL"),
        (entry('"command": "x", "env": {\n"A": 1}'), 4, "env.A: expected text, found 1"),
        (entry('"command": "x",\n"args": ["${NOPE}"]'), 4, "the variable NOPE is not set"),
        (entry('"command": "${input:key}"'), 3, "found '${input:key}'"),
        (entry('"command": "${"'), 3, "expected ${NAME}"),
        (entry('"url": "ftp://h"'), 3, "starts with http:// or https://"),
        (entry('"url": "http://[h"'), 3, "starts with http:// or https://"),
        (entry('"url": "http://h", "type": "sse"'), 3, "'sse' is not supported"),
        (entry('"url": "http://h", "type": "stdio"'), 3, 'needs "command"'),
        (entry('"url": "http://h", "type": "htpp"'), 3, "did you mean 'http'?"),
        (entry('"command": "x", "callTimeoutS": 0'), 3, "expected seconds"),
        (entry('"command": "x", "pingS": "5"'), 3, "expected seconds"),
        (entry('"command": "x", "pingS": true'), 3, "expected seconds"),
        (entry('"command": "x", "disabled": 1'), 3, "expected true or false"),
        (entry('"command": "x", "results": {"a": "xml"}'), 3, "expected one of: json, text"),
        (entry('"command": "x", "protocol": "new"'), 3, "expected one of: auto, legacy"),
        (entry('"command": "x"', "a:b"), 2, "holds ':'"),
        (entry('"command": "x"', "capabilities"), 2, "cannot be 'capabilities'"),
        (entry('"command": "x"', f"a{BOTTOM}b"), 2, "mark call sites"),
        (entry('"command": "x"', "a\u200bb"), 2, "invisible"),
        (entry('"command": "x"', "a\u202eb"), 2, "invisible"),
        (entry('"command": "x"', ""), 2, "empty"),
        ('{"a": NaN}', None, "NaN is no JSON"),
        ("\n\udcff", 2, "expected UTF-8 text"),
        ("[" * 100_000, None, "nested too deeply"),
        (" " * 2_000_000, None, "is it the right file?"),
    ],
)
def test_what_is_malformed_is_named_with_its_line(
    tmp_path: Path, text: str, line: int | None, says: str
) -> None:
    with pytest.raises(ConfigError) as error:
        load(tmp_path, text)
    assert says in str(error.value)
    assert str(tmp_path / "mcp.json") in str(error.value)
    assert line is None or error.value.line == line


def test_an_error_does_not_repeat_the_value_of_a_variable(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        load(tmp_path, entry('"url": "${SECRET}"'), SECRET="hunter2")
    assert "hunter2" not in str(error.value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["mcpServers", "command", "args", "env", "url", "type", "results", "a"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(value=VALUES, indent=st.sampled_from([None, 1, "\t"]))
def test_any_json_is_a_configuration_or_a_config_error(
    value: object, indent: int | str | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "mcp.json"
    path.write_text(json.dumps({"mcpServers": value}, indent=indent), encoding="utf-8")
    try:
        servers = load_servers(path, {})
    except ConfigError:
        return
    assert all((server.command is None) != (server.url is None) for server in servers)
