"""`pml grants` and `pml audit`: what people agreed to for longer, and all that was decided."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.answers import OWNER
from pml.cli.options import AsJson, DataDir, example, group
from pml.cli.session import opened_store, run
from pml.cli.terminal import note, result, result_json, width

if TYPE_CHECKING:
    from pml.domain.approval import AuditEntry, Grant


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    within = group(app, "grants", "pml grants", "pml grants --all --json")
    within.callback(invoke_without_command=True)(grants)
    within.command(**example("pml grants revoke 5b1c22ab"))(revoke)
    app.command(**example("pml audit", "pml audit --run 3f2a91bc --json"))(audit)


def grants(
    context: typer.Context,
    show_all: Annotated[
        bool, typer.Option("--all", help="Revoked ones too, and those that have ended.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List the remembered approvals that hold; `pml approve RUN --remember` makes one."""
    if context.invoked_subcommand is not None:
        return
    from pml.cli.render_approvals import render_grants
    from pml.serve.compose import now_ms

    found = run(_grants(data_dir, show_all=show_all))
    if as_json:
        result_json(found)
    else:
        result(render_grants(found, now_ms=now_ms(), width=width()))


async def _grants(data_dir: Path | None, *, show_all: bool) -> "tuple[Grant, ...]":
    from pml.serve.compose import now_ms

    async with opened_store(data_dir) as store:
        return await (store.grants.all() if show_all else store.grants.active(now_ms()))


def revoke(
    grant_id: Annotated[
        str, typer.Argument(metavar="GRANT", help="Its id, or the beginning of its id.")
    ],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let a remembered approval hold no more, from the next call on."""
    gone = run(_revoked(grant_id, data_dir))
    if as_json:
        result_json(gone)
    else:
        note(f"pml: {gone.scope.tool} is asked about again")


async def _revoked(grant_id: str, data_dir: Path | None) -> "Grant":
    from pml.cli.which import one_of
    from pml.serve.compose import now_ms

    async with opened_store(data_dir) as store:
        every = {grant.id: grant for grant in await store.grants.all()}
        wanted = one_of(every, grant_id, kind="grant", command="pml grants --all")
        return await store.grants.revoke(wanted.id, by=OWNER, now_ms=now_ms())


def audit(
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many, latest first.")] = 50,
    of_run: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="Only of this run: its id, or a beginning."),
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show what was asked, granted, used, refused, revoked and accepted, and by whom."""
    from pml.cli.render_approvals import render_audit

    found = run(_audit(limit, of_run, data_dir))
    if as_json:
        result_json(found)
    else:
        result(render_audit(found, width=width()))


async def _audit(limit: int, of_run: str | None, data_dir: Path | None) -> "tuple[AuditEntry, ...]":
    from pml.cli.which import run_named

    async with opened_store(data_dir) as store:
        run_id = None if of_run is None else (await run_named(store, of_run)).id
        return await store.audit.recent(limit, run_id=run_id)
