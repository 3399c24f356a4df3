"""Which servers there are: the usual ``mcpServers`` JSON (EX-11).

Reads what Claude, Cursor and VS Code write (``mcpServers`` or ``servers``), expands
``${VAR}`` and ``${VAR:-default}``, and names file and line of whatever it cannot use.
Reference with examples: docs/reference/mcp-json.md.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.record import Record
from pml.domain.tools import matches
from pml.runtime.config_text import ConfigText, read_json
from pml.runtime.upstream.names import collisions, name_fault

_REFERENCE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{[^}]*\}?")
_STDIO_KEYS = frozenset({"command", "args", "env", "cwd"})
_HTTP_KEYS = frozenset({"url", "headers"})
_LONGEST_S = 86_400
"""A day; nobody waits longer for a tool."""
_COMMON_KEYS = frozenset(
    {"type", "disabled", "results", "protocol", "callTimeoutS", "connectTimeoutS", "pingS"}
)
_FOREIGN_KEYS = frozenset(
    {"alwaysAllow", "autoApprove", "description", "dev", "gallery", "name", "trust", "version"}
)
"""Written by other clients; they concern their own dialogs and are ignored."""
_TYPES = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
}


class ServerConfig(Record, frozen=True, kw_only=True):
    """How to reach one server; either ``command`` or ``url`` is set."""

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}  # noqa: RUF012
    """Added to the few variables that every server gets."""
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}  # noqa: RUF012
    results: dict[str, str] = {}  # noqa: RUF012
    """``json`` or ``text`` by tool pattern (``*``, ``?``): whether a text result is parsed."""
    protocol: str = "auto"
    """``auto`` asks the server; ``legacy`` is for servers that stumble over being asked."""
    call_timeout_s: float | None = None
    connect_timeout_s: float | None = None
    ping_s: float = 30.0
    """How long a connection may be silent before its server is asked for a sign of life."""
    ping_timeout_s: float = 10.0
    """An idle server that is silent for so long when asked is dead or stopped."""
    disabled: bool = False

    @property
    def transport(self) -> str:
        """``stdio`` or ``http``."""
        return "stdio" if self.command is not None else "http"

    def parses_text(self, tool: str) -> bool:
        """Whether a result of ``tool`` that is text is to be read as JSON; first match holds."""
        return next(
            (kind == "json" for pattern, kind in self.results.items() if matches(pattern, tool)),
            False,
        )


def load_servers(path: Path, env: Mapping[str, str]) -> tuple[ServerConfig, ...]:
    """Read the servers of a client configuration, in file order.

    Raises:
        ConfigError: unreadable, malformed, a wrong key or value, or a variable without value.
    """
    text = read_json(path)
    top = text.mapping(text.value)
    found = [key for key in ("mcpServers", "servers") if key in top]
    if len(found) != 1:
        text.fail('expected one object "mcpServers" (or "servers", as VS Code has it)')
    section = text.mapping(top[found[0]], found[0])
    for name, others in collisions((CAPABILITY_SERVER, *section)).items():
        if name in section:
            message = f"the name looks like {others[0]!a}: servers need names that differ"
            text.fail(message, found[0], name)
    return tuple(_Section(text, (found[0], name), env).read(section[name]) for name in section)


class _Section:
    """Reads one server's object; ``at`` is where it stands."""

    def __init__(self, text: ConfigText, at: tuple[str, str], env: Mapping[str, str]) -> None:
        self._text = text
        self._at = at
        self._env = env

    def read(self, value: object) -> ServerConfig:
        name = self._at[1]
        fault = "holds ':', which separates server and tool" if ":" in name else name_fault(name)
        if name == CAPABILITY_SERVER:
            fault = f"cannot be {name!r}: code calls capabilities so; choose another"
        if fault:
            self._text.fail(f"the name of a server {fault}", *self._at)
        fields = self._text.mapping(value, *self._at)
        kind = self._kind(fields)
        own = _STDIO_KEYS if kind == "stdio" else _HTTP_KEYS
        self._text.known_keys(
            {key: None for key in fields if key not in _FOREIGN_KEYS}, own | _COMMON_KEYS, *self._at
        )
        return ServerConfig(
            name=name,
            **(self._stdio(fields) if kind == "stdio" else self._http(fields)),
            results=self._results(fields),
            protocol=self._text.choice(
                fields.get("protocol", "auto"), ("auto", "legacy"), *self._at, "protocol"
            ),
            call_timeout_s=self._seconds(fields, "callTimeoutS", None),
            connect_timeout_s=self._seconds(fields, "connectTimeoutS", None),
            ping_s=self._seconds(fields, "pingS", 30.0) or 30.0,
            disabled=self._flag(fields, "disabled"),
        )

    def _kind(self, fields: Mapping[str, Any]) -> str:
        """The transport, from ``type`` or from which of ``command`` and ``url`` is there."""
        if fields.get("type") == "sse":
            self._text.fail(
                "the transport 'sse' is not supported: give the server's streamable HTTP address",
                *self._at,
                "type",
            )
        if ("command" in fields) == ("url" in fields):
            self._text.fail('expected either "command" or "url"', *self._at)
        kind = "stdio" if "command" in fields else "http"
        if "type" in fields:
            said = _TYPES[self._text.choice(fields["type"], _TYPES, *self._at, "type")]
            if said != kind:
                needs = "command" if said == "stdio" else "url"
                self._text.fail(f'the type {said!r} needs "{needs}"', *self._at, "type")
        return kind

    def _stdio(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        args = fields.get("args", [])
        if not isinstance(args, list):
            self._text.fail("expected a list of texts", *self._at, "args")
        command = self._string(fields["command"], "command")
        if not command:
            self._text.fail("expected a program", *self._at, "command")
        return {
            "command": command,
            "args": tuple(self._string(arg, "args", i) for i, arg in enumerate(args)),
            "env": self._strings(fields, "env"),
            "cwd": None if fields.get("cwd") is None else self._string(fields["cwd"], "cwd"),
        }

    def _http(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        url = self._string(fields["url"], "url")
        try:
            parts = urlsplit(url)
            valid = parts.scheme in {"http", "https"} and bool(parts.hostname)
        except ValueError:
            valid = False
        if not valid:  # without the value: it may hold a secret
            self._text.fail(
                "expected an address that starts with http:// or https://", *self._at, "url"
            )
        return {"url": url, "headers": self._strings(fields, "headers")}

    def _results(self, fields: Mapping[str, Any]) -> dict[str, str]:
        found = self._text.mapping(fields.get("results", {}), *self._at, "results")
        return {
            tool: self._text.choice(kind, ("json", "text"), *self._at, "results", tool)
            for tool, kind in found.items()
        }

    def _strings(self, fields: Mapping[str, Any], key: str) -> dict[str, str]:
        found = self._text.mapping(fields.get(key, {}), *self._at, key)
        return {name: self._string(value, key, name) for name, value in found.items()}

    def _string(self, value: object, *path: str | int) -> str:
        """``value`` with its variables expanded."""
        if not isinstance(value, str):
            self._text.fail(f"expected text, found {value!r}", *self._at, *path)
        text = _REFERENCE.sub(lambda match: self._expand(match, path), value)
        if "\0" in text:
            self._text.fail("holds a NUL character", *self._at, *path)
        return text

    def _expand(self, match: re.Match[str], path: tuple[str | int, ...]) -> str:
        name, default = match[1], match[2]
        if name is None:
            self._text.fail(
                f"expected ${{NAME}} or ${{NAME:-default}}, found {match[0]!r}", *self._at, *path
            )
        value = self._env.get(name)
        if not value and default is not None:
            value = default  # as in a shell, an empty variable counts as unset here
        if value is None:
            self._text.fail(
                f"the variable {name} is not set: set it, or write ${{{name}:-default}}",
                *self._at,
                *path,
            )
        return value

    def _seconds(self, fields: Mapping[str, Any], key: str, default: float | None) -> float | None:
        value = fields.get(key, default)
        if value is None:
            return None
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 < value <= _LONGEST_S:
            message = f"expected seconds, more than 0 and at most {_LONGEST_S}"
            self._text.fail(message, *self._at, key)
        return float(value)

    def _flag(self, fields: Mapping[str, Any], key: str) -> bool:
        value = fields.get(key, False)
        if not isinstance(value, bool):
            self._text.fail(f"expected true or false, found {value!r}", *self._at, key)
        return value
