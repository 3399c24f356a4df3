"""Adding servers to an mcp.json that a person wrote: everything else in it stays as it is.

New entries are put, as text, right behind the bracket that opens the servers, so comments,
order and layout survive.  The result is read back before it replaces the file.
"""

import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pml.errors import ConfigError
from pml.runtime.config_text import read_json

_SECTIONS = ("mcpServers", "servers")
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|[{}\[\]]', re.DOTALL)
_INDENT = re.compile(r"\s*?\n([ \t]+)[\"/]")
_PRIVATE = 0o600
"""Entries can hold secrets; a file that is there keeps its own mode."""


def servers_of(path: Path) -> dict[str, Any]:
    """The entries of an mcp.json, as written; empty where there is no file yet.

    Raises:
        ConfigError: the file cannot be used.
    """
    if not path.exists():
        return {}
    text = read_json(path)
    top = text.mapping(text.value)
    found = [key for key in _SECTIONS if key in top]
    if len(found) != 1:
        text.fail('expected one object "mcpServers" (or "servers", as VS Code has it)')
    return text.mapping(top[found[0]], found[0])


def add_servers(path: Path, entries: Mapping[str, Any]) -> None:
    """Write ``entries`` into ``path``, which is made if need be; no name of them is there yet.

    Raises:
        ConfigError: the file cannot be read or written, or is too odd to add to.
    """
    before = servers_of(path)
    if not entries:
        return
    if path.exists():
        text = _with(path.read_text(encoding="utf-8-sig"), entries, empty=not before)
    else:
        text = _json({"mcpServers": entries}, "") + "\n"
    try:
        _replace(path.resolve(), text, before | dict(entries))
    except OSError as exc:
        raise ConfigError(str(path), f"cannot be written: {exc.strerror}") from exc


def _with(text: str, entries: Mapping[str, Any], *, empty: bool) -> str:
    start = _opening(text)
    first = _INDENT.match(text, start)
    indent = first[1] if first else "    "
    body = ",".join(f"\n{indent}{_json(name)}: {_json(entries[name], indent)}" for name in entries)
    end = "\n" + indent[: len(indent) // 2] if empty and first is None else ""
    return text[:start] + body + ("" if empty else ",") + end + text[start:]


def _json(value: object, indent: str = "") -> str:
    """JSON as people write it here: mappings on lines, lists within one."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    deeper = indent + "  "
    lines = (f"{deeper}{_json(key)}: {_json(item, deeper)}" for key, item in value.items())
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _opening(text: str) -> int:
    """Just behind the bracket that opens the servers; the text is JSON and has one."""
    depth, key = 0, ""
    for token in _TOKEN.finditer(text):
        match token[0][0]:
            case '"':
                key = token[0][1:-1]
            case "{" | "[":
                if depth == 1 and key in _SECTIONS:
                    return token.end()
                depth += 1
            case "}" | "]":
                depth -= 1
    return 0


def _replace(path: Path, text: str, expected: Mapping[str, Any]) -> None:
    """Write beside the file, read back, and move over it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else _PRIVATE
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".mcp-", suffix=".json")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        if not _reads_as(Path(name), expected):
            message = "is laid out in a way that cannot be added to: add the servers by hand"
            raise ConfigError(str(path), message)
        Path(name).chmod(mode)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


def _reads_as(path: Path, expected: Mapping[str, Any]) -> bool:
    try:
        return servers_of(path) == expected
    except ConfigError:
        return False
