"""`pml keys`: API keys for the endpoint over HTTP, each with a role (OP-3, HIL-4)."""

import secrets
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.options import AsJson, DataDir, example, group
from pml.cli.session import opened_store, run
from pml.cli.table import moment, table
from pml.cli.terminal import note, result, result_json, width
from pml.domain.approval import Role

if TYPE_CHECKING:
    from pml.domain.approval import ApiKey

KEY_BYTES = 32
ROLES = """\
viewer    reads runs, traces, tools, results
agent     runs programs; continues, aborts and replans them
approver  answers approvals and writes in doubt; revokes grants
admin     accepts tools, makes keys, cleans up"""
"""Each may do what those before it may (`pml.domain.approval.Role`)."""


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    within = group(app, "keys", "pml keys", "pml keys --json")
    within.callback(invoke_without_command=True)(keys)
    within.command(
        **example("pml keys create claude", "pml keys create ada --role approver --json")
    )(create)
    within.command("revoke", **example("pml keys revoke claude"))(revoke)


def keys(context: typer.Context, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the API keys of the endpoint, without the keys: only their hashes are kept.

    A key has a role, and may do what the roles before it may: viewer reads runs, traces, tools
    and results; agent runs programs, continues, aborts and replans them; approver answers
    approvals and writes in doubt, and revokes grants; admin accepts tools, makes keys, cleans up.
    """
    if context.invoked_subcommand is not None:
        return
    found = run(_keys(data_dir))
    if as_json:
        result_json(found)
    else:
        result(render_keys(found, width=width()))


async def _keys(data_dir: Path | None) -> "tuple[ApiKey, ...]":
    async with opened_store(data_dir) as store:
        return await store.api_keys.all()


def render_keys(found: "tuple[ApiKey, ...]", *, width: int) -> str:
    """One key per line, and what the roles mean."""
    if not found:
        return "No keys.  `pml keys create NAME --role agent` makes one.\n\n" + ROLES
    rows = [
        (
            key.name,
            key.role.value,
            moment(key.created_at_ms),
            "never" if key.used_at_ms is None else moment(key.used_at_ms),
            "" if key.revoked_at_ms is None else f"revoked {moment(key.revoked_at_ms)}",
        )
        for key in found
    ]
    return table(("name", "role", "made", "last used", ""), rows, width=width)


def create(
    name: Annotated[str, typer.Argument(help="Whose key it is: the audit log shows it.")],
    role: Annotated[Role, typer.Option(help="What it may do; see `pml keys --help`.")] = Role.AGENT,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and show it, once."""
    key, kept = run(_created(name, role, data_dir))
    if as_json:
        result_json({"key": key, "apiKey": kept})
        return
    note(f"pml: the key of {name}, {role.value}; it is not shown again:")
    result(key)
    note("pml: clients send it as `Authorization: Bearer KEY`")


async def _created(name: str, role: Role, data_dir: Path | None) -> "tuple[str, ApiKey]":
    from pml.domain.approval import ApiKey
    from pml.errors import RequestError
    from pml.serve.access import key_hash
    from pml.serve.compose import now_ms

    if not name.strip() or not name.isprintable():
        message = f"NAME: expected a printable name, found {name!r}"
        raise RequestError(message)
    key = f"pml_{secrets.token_urlsafe(KEY_BYTES)}"
    kept = ApiKey(id=str(uuid.uuid4()), name=name, role=role, created_at_ms=now_ms())
    async with opened_store(data_dir) as store:
        if any(k.name == name and k.revoked_at_ms is None for k in await store.api_keys.all()):
            message = f"NAME: {name} has a key: revoke it first (`pml keys revoke {name}`)"
            raise RequestError(message)
        await store.api_keys.create(kept, key_hash=key_hash(key))
    return key, kept


def revoke(
    name: Annotated[str, typer.Argument(help="Whose key, or the id of the key.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let a key open nothing any more."""
    gone = run(_revoked(name, data_dir))
    if as_json:
        result_json(gone)
    else:
        note(f"pml: the key of {gone.name} opens nothing any more")


async def _revoked(name: str, data_dir: Path | None) -> "ApiKey":
    from pml.errors import NotFoundError
    from pml.serve.compose import now_ms

    async with opened_store(data_dir) as store:
        for key in await store.api_keys.all():
            if key.id == name or (key.name == name and key.revoked_at_ms is None):
                return await store.api_keys.revoke(key.id, now_ms=now_ms())
    raise NotFoundError("key", name, "`pml keys` lists them")  # a kind
