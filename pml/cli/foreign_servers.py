"""A server as another client wrote it, in the words of PML's mcp.json.

The clients agree on ``command``, ``args``, ``env``, ``url`` and ``headers`` and differ in the
rest: placeholders (``${input:key}``, ``${workspaceFolder}``, ``${env:NAME}``), transports and
keys of their own.  What cannot be said in mcp.json is told, never dropped in silence.
"""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pml.cli.clients import is_pml
from pml.domain.record import Record
from pml.domain.sanitising import redact
from pml.errors import ConfigError
from pml.runtime.upstream.config import load_servers

_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?::-.*)?")
_KEPT = ("command", "args", "env", "cwd", "url", "headers", "disabled")
_SILENT = frozenset(
    {"alwaysAllow", "autoApprove", "description", "dev", "gallery", "name", "trust", "type"}
    | {"version"}
)
"""Keys that mean nothing to PML, or that it reads off the others."""
WORKSPACE = "WORKSPACE_FOLDER"
"""The variable that stands for the editor's folder where nobody knows which that is."""


class Origin(Record, frozen=True, kw_only=True):
    """Where an entry was found, as far as its placeholders depend on it."""

    home: Path
    workspace: Path | None = None
    inputs: dict[str, str] = {}  # noqa: RUF012
    """What VS Code would ask for, by id."""
    port: int
    """At which PML's own endpoint would be recognised."""


class Translated(Record, frozen=True, kw_only=True):
    """An entry for mcp.json, or why there is none."""

    name: str
    entry: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    """What was left out or has to be done; why, where ``entry`` is None."""
    variables: dict[str, str] = {}  # noqa: RUF012
    """Variables without which it does not start, with what they are for."""


class _CannotTranslateError(Exception):
    """The entry says something that mcp.json cannot."""


def translate(name: str, value: object, origin: Origin) -> Translated:
    """The entry of one server."""
    if is_pml(value, port=origin.port):
        return Translated(name=name, notes=("it is PML itself",))
    try:
        entry, notes = _entry(value, origin)
    except _CannotTranslateError as exc:
        return Translated(name=name, notes=(str(exc),))
    except RecursionError:
        return Translated(name=name, notes=("is nested too deeply",))
    variables = {variable: _purpose(variable, origin) for variable in sorted(variables_of(entry))}
    fault = _fault(name, entry, variables)
    if fault:
        return Translated(name=name, notes=(fault,))
    notes += [f"{key} is a secret in plain text: keep the file private" for key in _secrets(entry)]
    return Translated(name=name, entry=entry, notes=tuple(notes), variables=variables)


def _entry(value: object, origin: Origin) -> tuple[dict[str, Any], list[str]]:
    if not isinstance(value, dict):
        message = "expected a mapping"
        raise _CannotTranslateError(message)
    kind = value.get("type")
    if isinstance(kind, str) and kind in {"sse", "ws"}:
        message = f"speaks {kind}, which PML does not: give its streamable HTTP address"
        raise _CannotTranslateError(message)
    kept = {
        key: value[key] if isinstance(value[key], int | float) else _told(value[key], origin)
        for key in _KEPT
        if value.get(key) is not None
    }  # a number instead of text or a list stays one, for `_fault` to say what was expected
    if origin.workspace is not None and "command" in kept:
        kept.setdefault("cwd", str(origin.workspace))  # as its client starts it
    others = [key for key in value if key not in _KEPT and key not in _SILENT]
    return kept, [f"left out its {key!r}, which mcp.json does not have" for key in others]


def _told(value: Any, origin: Origin) -> Any:  # noqa: ANN401  # a part of a JSON document
    """``value`` with its placeholders in PML's words; numbers within it become text."""
    match value:
        case str():
            return _PLACEHOLDER.sub(lambda found: _placeholder(found[1], origin), value)
        case list():
            return [_told(item, origin) for item in value]
        case dict():
            return {key: _told(item, origin) for key, item in value.items() if item is not None}
        case bool():
            return value
        case int() | float():
            return str(value)
    return value


def _placeholder(text: str, origin: Origin) -> str:
    """What stands for ``${text}``.

    Raises:
        _CannotTranslateError: only its own client can know.
    """
    folder = f"${{{WORKSPACE}}}" if origin.workspace is None else str(origin.workspace)
    known = {
        "userHome": str(origin.home),
        "workspaceFolder": folder,
        "workspaceRoot": folder,
        "workspaceFolderBasename": Path(folder).name,
        "pathSeparator": "/",
        "/": "/",
    }
    kind, _, rest = text.partition(":")
    if text in known:
        return known[text]
    if kind == "CLAUDE_PROJECT_DIR" and origin.workspace is not None:
        return folder
    if kind == "input":
        return f"${{{variable_of(rest)}}}"
    if kind == "env" and _PLAIN.fullmatch(rest):
        return f"${{{rest}}}"
    if _PLAIN.fullmatch(text):
        return f"${{{text}}}"
    message = f"uses ${{{text}}}, which only its own client can fill: write the value there"
    raise _CannotTranslateError(message)


def variable_of(input_id: str) -> str:
    """The variable that stands for what VS Code asks for: ``api-key`` is ``API_KEY``."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", input_id).strip("_").upper()
    return f"_{name}" if not name or name[0].isdigit() else name


def _purpose(variable: str, origin: Origin) -> str:
    if variable == WORKSPACE and origin.workspace is None:
        return "the folder that the server works in"
    told = (text for key, text in origin.inputs.items() if variable_of(key) == variable)
    return next(told, "")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def variables_of(entry: object) -> set[str]:
    """The variables without a default that an entry, or several, name."""
    return {found[1] for text in _texts(entry) for found in _VARIABLE.finditer(text)}


def _fault(name: str, entry: dict[str, Any], variables: Mapping[str, str]) -> str:
    """Why PML could not read the entry; empty where it can."""
    env = dict.fromkeys(variables, "http://localhost")  # will do for an address too
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mcp.json"
        path.write_text(json.dumps({"mcpServers": {name: entry}}), encoding="utf-8")
        try:
            load_servers(path, env)
        except ConfigError as exc:
            return str(exc).removeprefix(f"{exc.source}:{exc.line}: ").removeprefix("mcpServers.")
    return ""


def _secrets(entry: Mapping[str, Any]) -> list[str]:
    """Where the entry holds secrets that are no references to variables."""
    found = []
    for key, value in entry.items():
        parts = value if isinstance(value, dict) else {"": value}
        for part, text in parts.items():
            if _VARIABLE.search(str(text)) is None and redact({part: text}) != {part: text}:
                found.append(f"{key}.{part}" if part else key)
    return found
