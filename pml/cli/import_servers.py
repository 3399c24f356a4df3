"""`pml servers import`: the servers that another MCP client knows, into mcp.json."""

import os
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pml.cli.options import AsJson
from pml.cli.table import shorten, wrapped
from pml.cli.terminal import result, result_json, width
from pml.domain.record import Record

if TYPE_CHECKING:
    from pml.cli.clients import ClientFile
    from pml.cli.foreign_servers import Translated

EXAMPLES = (
    "pml servers import cursor --dry-run",
    "pml servers import claude-desktop",
    "pml servers import ~/src/project/.vscode/mcp.json --config mcp.json",
)


class Outcome(StrEnum):
    """What became of one server."""

    ADDED = "added"
    THERE = "there"
    """The same entry is in mcp.json already."""
    KEPT = "kept"
    """mcp.json has another entry of that name, which stays."""
    LEFT_OUT = "left out"


class ImportedServer(Record, frozen=True, kw_only=True):
    """One server that was found, and what became of it."""

    name: str
    source: str
    outcome: Outcome
    command: str = ""
    """What starts it, or its address."""
    notes: tuple[str, ...] = ()
    variables: dict[str, str] = {}  # noqa: RUF012
    """Variables that are not set and without which it does not start, with their purpose."""


def import_servers(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FROM",
            help="claude-desktop, claude-code, cursor, vscode, or a file of theirs.",
        ),
    ],
    config: Annotated[
        Path, typer.Option(metavar="FILE", help="Where they go; made if it is not there.")
    ] = Path("mcp.json"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be written.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add the servers of another MCP client to mcp.json.

    An entry that is there is never changed, and PML's own is left out.
    """
    from pml.cli.server_file import add_servers

    found = list(_found(_sources(source)))
    outcomes, entries = _sorted(found, config)
    if entries and not dry_run:
        add_servers(config, entries)
    if as_json:
        result_json(outcomes)
    else:
        result(render_import(outcomes, config=config, dry_run=dry_run, width=width()))


def _sources(source: str) -> "tuple[ClientFile, ...]":
    """The files to read, the nearest first.

    Raises:
        NotFoundError: there is none.
    """
    from pml.cli.clients import Client, ClientFile, files_of, read_client, this_machine
    from pml.domain.nearest import did_you_mean
    from pml.errors import NotFoundError

    if source in list(Client):
        files = files_of(Client(source), this_machine())
        there = tuple(file for file in files if file.path.is_file())
        if not there:
            looked = " and ".join(dict.fromkeys(str(file.path) for file in files))
            raise NotFoundError("configuration", source, f"looked for {looked}")
        return there
    path = Path(source).expanduser()
    if not path.is_file():
        hint = f"no such file, and no client of that name{did_you_mean(source, map(str, Client))}"
        raise NotFoundError("configuration", source, hint)
    key = "servers" if "servers" in read_client(path) else "mcpServers"
    hidden = path.resolve().parent.name in {".vscode", ".cursor"}
    workspace = path.resolve().parents[1] if hidden else None
    return (ClientFile(client=None, path=path, keys=(key,), workspace=workspace),)


def _found(files: "Iterable[ClientFile]") -> "Iterable[tuple[ClientFile, Translated]]":
    """Each server once, from the nearest file that has it."""
    from pml.cli.clients import read_client, servers_in, this_machine
    from pml.cli.foreign_servers import Origin, translate
    from pml.cli.ports import DEFAULT_PORT

    seen: set[str] = set()
    for file in files:
        origin = Origin(
            home=this_machine().home,
            workspace=file.workspace,
            inputs=_inputs(read_client(file.path).get("inputs")),
            port=DEFAULT_PORT,
        )
        for name, value in servers_in(file).items():
            if name not in seen:
                yield file, translate(name, value, origin)
            seen.add(name)


def _inputs(value: object) -> dict[str, str]:
    """VS Code's inputs: what each id asks for."""
    items = value if isinstance(value, list) else []
    return {
        str(item.get("id")): str(item.get("description", ""))
        for item in items
        if isinstance(item, dict)
    }


def _sorted(
    found: "list[tuple[ClientFile, Translated]]", config: Path
) -> tuple[list[ImportedServer], dict[str, Any]]:
    """What became of each server, and the entries that are new."""
    from pml.cli.clients import command_words
    from pml.cli.server_file import servers_of
    from pml.domain.sanitising import redact_text

    there = servers_of(config)
    outcomes, entries = [], {}
    for file, server in found:
        entry, outcome, notes = server.entry, Outcome.ADDED, server.notes
        if entry is None:
            outcome = Outcome.LEFT_OUT
        elif server.name in there:
            same = there[server.name] == entry
            outcome, notes = (Outcome.THERE if same else Outcome.KEPT), ()
        else:
            entries[server.name] = entry
        words = " ".join(command_words(entry or {})) or str((entry or {}).get("url", ""))
        unset = {name: why for name, why in server.variables.items() if name not in os.environ}
        outcomes.append(
            ImportedServer(
                name=server.name,
                source=str(file.path),
                outcome=outcome,
                command=redact_text(words),
                notes=notes,
                variables=unset if outcome is Outcome.ADDED else {},
            )
        )
    return outcomes, entries


_WORDS = {
    Outcome.ADDED: "added",
    Outcome.THERE: "there already",
    Outcome.KEPT: "kept yours",
    Outcome.LEFT_OUT: "left out",
}


def render_import(
    outcomes: list[ImportedServer], *, config: Path, dry_run: bool, width: int
) -> str:
    """What was found where, what became of it, and what to do next."""
    if not outcomes:
        return "No servers there."
    names = max(len(server.name) for server in outcomes)
    parts = []
    for source in dict.fromkeys(server.source for server in outcomes):
        lines = [f"from {source}"]
        for server in outcomes:
            if server.source == source:
                lines += _row(server, names, width)
        parts.append("\n".join(lines))
    return "\n\n".join([*parts, *_ending(outcomes, config=config, dry_run=dry_run, width=width)])


def _row(server: ImportedServer, names: int, width: int) -> list[str]:
    head = f"  {server.name:<{names}}  {_WORDS[server.outcome]:<13}  "
    if server.outcome in {Outcome.ADDED, Outcome.THERE}:
        return [head + shorten(server.command, width - len(head))]
    kept = "its entry there differs: rename one of them to have both"
    why = kept if server.outcome is Outcome.KEPT else "; ".join(server.notes)
    return wrapped(why, head, " " * len(head), width)


def _ending(
    outcomes: list[ImportedServer], *, config: Path, dry_run: bool, width: int
) -> list[str]:
    added = [server for server in outcomes if server.outcome is Outcome.ADDED]
    count = f"{len(added)} server{'' if len(added) == 1 else 's'}"
    lines = [f"{config}: {count} {'would be added (dry run)' if dry_run else 'added'}"]
    for server in added:
        lines += [f"  {server.name}: {note}" for note in server.notes]
        lines += [
            f"  {server.name}: set the variable {name}" + (f" ({why})" if why else "")
            for name, why in server.variables.items()
        ]
    ending = ["\n".join(lines)]
    if added and not dry_run:
        text = (
            f"`pml servers --config {config}` connects them; permissions.yaml says what their "
            "tools may do (docs/how-to/own-servers.md)."
        )
        ending.append("\n".join(wrapped(text, "", "", width)))
    return ending
