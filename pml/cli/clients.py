"""Where MCP clients keep their servers, and how PML stands among them.

Paths and formats as their vendors document them (2026-10): Claude Desktop
``claude_desktop_config.json``; Claude Code ``~/.claude.json`` and ``.mcp.json``
(code.claude.com/docs/en/mcp); Cursor ``mcp.json`` (cursor.com/docs/mcp); VS Code
``mcp.json`` with ``servers`` (code.visualstudio.com/docs/agents/reference/mcp-configuration).
"""

import itertools
import json
import os
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from pml.domain.record import Record
from pml.errors import ConfigError

OWN_NAME = "pml"
"""What clients call PML."""


class Client(StrEnum):
    """MCP clients that PML knows."""

    CLAUDE_DESKTOP = "claude-desktop"
    CLAUDE_CODE = "claude-code"
    CURSOR = "cursor"
    VSCODE = "vscode"

    @property
    def called(self) -> str:
        """As people write it."""
        return _TITLES[self]

    @property
    def section(self) -> str:
        """The key under which its files hold servers."""
        return "servers" if self is Client.VSCODE else "mcpServers"


_TITLES = {
    Client.CLAUDE_DESKTOP: "Claude Desktop",
    Client.CLAUDE_CODE: "Claude Code",
    Client.CURSOR: "Cursor",
    Client.VSCODE: "VS Code",
}


class Machine(Record, frozen=True, kw_only=True):
    """What decides where the files are."""

    platform: str
    """As ``sys.platform``."""
    home: Path
    cwd: Path
    settings: Path
    """Where programs of this platform keep their settings."""


class ClientFile(Record, frozen=True, kw_only=True):
    """One file of a client that can hold servers."""

    client: Client | None
    """None for a file whose client nobody named."""
    path: Path
    keys: tuple[str, ...]
    """What leads to the servers, from the top."""
    workspace: Path | None = None
    """The folder that it belongs to; None for a file of the user."""


def this_machine(env: Mapping[str, str] | None = None) -> Machine:
    """Where we are."""
    variables = os.environ if env is None else env
    home = Path.home()
    if sys.platform == "darwin":
        settings = home / "Library" / "Application Support"
    elif sys.platform == "win32":
        settings = Path(variables.get("APPDATA") or home / "AppData" / "Roaming")
    else:
        settings = Path(variables.get("XDG_CONFIG_HOME") or home / ".config")
    return Machine(platform=sys.platform, home=home, cwd=Path.cwd(), settings=settings)


def files_of(client: Client, machine: Machine) -> tuple[ClientFile, ...]:
    """Where the client looks for servers, the nearest first: of two with one name it takes that."""
    home, here = machine.home, machine.cwd
    match client:
        case Client.CLAUDE_DESKTOP:
            own = machine.settings / "Claude" / "claude_desktop_config.json"
            places: tuple[tuple[Path, tuple[str, ...], bool], ...] = ((own, (), False),)
        case Client.CLAUDE_CODE:
            own = home / ".claude.json"
            places = (
                (own, ("projects", str(here)), True),
                (here / ".mcp.json", (), True),
                (own, (), False),
            )
        case Client.CURSOR:
            name = Path(".cursor") / "mcp.json"
            places = ((here / name, (), True), (home / name, (), False))
        case Client.VSCODE:
            own = machine.settings / "Code" / "User" / "mcp.json"
            places = ((here / ".vscode" / "mcp.json", (), True), (own, (), False))
    return tuple(
        ClientFile(
            client=client,
            path=path,
            keys=(*above, client.section),
            workspace=here if of_folder else None,
        )
        for path, above, of_folder in places
    )


def user_file(client: Client, machine: Machine) -> Path:
    """The file in which a server is there for all the user's work."""
    return files_of(client, machine)[-1].path


def read_client(path: Path) -> dict[str, Any]:
    """The whole of a client's file.

    Raises:
        ConfigError: it cannot be read, or is no JSON object.
    """
    from pml.runtime.config_text import read_json

    try:
        # Claude Code's file holds megabytes of other things, all of them strict JSON.
        value = json.loads(path.read_bytes())
    except OSError as exc:
        raise ConfigError(str(path), f"cannot be read: {exc.strerror}") from exc
    except (ValueError, RecursionError):
        value = read_json(path).value  # with comments, or an error that names the line
    if not isinstance(value, dict):
        raise ConfigError(str(path), "expected a JSON object")
    return value


def servers_in(file: ClientFile) -> dict[str, Any]:
    """The servers of one file, by name; empty where it has none.

    Raises:
        ConfigError: the file cannot be read, or holds something else there.
    """
    value: Any = read_client(file.path)
    for key in file.keys:
        value = value.get(key, {}) if isinstance(value, dict) else value
    if not isinstance(value, dict):
        raise ConfigError(str(file.path), f"{'.'.join(file.keys)}: expected a mapping of servers")
    return value


def command_words(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Command and arguments of a server's entry; empty where it has none."""
    command, args = entry.get("command"), entry.get("args")
    words = [command, *(args if isinstance(args, list) else [])]
    return tuple(word for word in words if isinstance(word, str))


def is_pml(entry: object, *, port: int) -> bool:
    """Whether a client's entry starts PML, or leads to its endpoint on this machine."""
    if not isinstance(entry, dict):
        return False
    words = command_words(entry)
    names = [Path(word).name for word in words]
    starts = ("pml", "stdio") in itertools.pairwise(names)
    urls = [word for word in (entry.get("url"), *words) if isinstance(word, str)]
    return starts or any(f"{host}:{port}/" in f"{url}/" for host in _LOOPBACK for url in urls)


_LOOPBACK = ("//127.0.0.1", "//localhost", "//[::1]")
