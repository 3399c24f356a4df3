"""`pml approve`: what waits for a person, and a person's answer (HIL-2 to HIL-4)."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.answers import Where, owner, tell, with_capability
from pml.cli.durations import ttl_s
from pml.cli.exits import ExitCode
from pml.cli.options import AsJson, Config, DataDir, Permissions, Quiet, example
from pml.cli.programs import json_object
from pml.cli.session import opened, opened_store, run
from pml.cli.terminal import ask_yes_no, asked_at_terminal, note, result, result_json, width

if TYPE_CHECKING:
    from pml.cli.render_approvals import Asked
    from pml.domain.approval import GrantScope
    from pml.domain.capability import Capability
    from pml.domain.response import ExecuteResponse
    from pml.domain.run import Run

MANY = 1_000
"""Requests that are listed."""


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(
        **example(
            "pml approve",
            "pml approve 3f2a91bc",
            'pml approve 3f2a91bc --deny --note "not on a Friday"',
            "pml approve 3f2a91bc --yes --remember 'files:write_*' \\",
            '    --arguments \'{"path": "/tmp/reports/*"}\' --for 8h',
        )
    )(approve)


def approve(
    *,
    run_id: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN", help="Its id, or the beginning of it; left out: what waits is listed."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Agree without being asked.")] = False,
    deny: Annotated[bool, typer.Option("--deny", help="Refuse: the run ends.")] = False,
    why: Annotated[
        str, typer.Option("--note", metavar="TEXT", help="For the audit log and the agent.")
    ] = "",
    remember: Annotated[
        str | None,
        typer.Option(
            metavar="TOOL",
            help="Agree to this tool from now on: server:tool, or a pattern of it with * and ?.",
        ),
    ] = None,
    arguments: Annotated[
        str,
        typer.Option(
            metavar="JSON",
            help="Remember it only for these arguments, by name: a value that must be equal, or "
            "text with * and ?; others are free.",
        ),
    ] = "{}",
    capability: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Remember it only for this version of a capability."),
    ] = None,
    lasting: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="How long: 30m, 8h, 7d.  Default: no end."),
    ] = None,
    config: Config = None,
    permissions: Permissions = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show what a run would do, ask, and let it go on or end it.

    On a terminal it asks; anywhere else it answers only with --yes or --deny.  A run that is
    approved goes on at once, in this process.
    """
    if yes and deny:
        message = "give either --yes or --deny"
        raise typer.BadParameter(message)
    scope = _scope(remember, arguments, capability, lasting)
    if scope is not None and deny:
        message = "--remember: only what is approved can be remembered"
        raise typer.BadParameter(message)
    where = Where(config=config, permissions=permissions, data_dir=data_dir)
    if run_id is None:
        _list(data_dir, where, as_json=as_json)
        return
    answer = Answer(approved=True if yes else (False if deny else None), note=why, remember=scope)
    response, learned = run(_answered(run_id, answer, where, quiet=quiet))
    if response.status == "approval_required" and asked_at_terminal() and not as_json:
        raise typer.Exit(ExitCode.APPROVAL_REQUIRED)  # what it is was shown, to be asked about
    code = tell(response, where.given(), as_json=as_json, learned=learned)
    raise typer.Exit(ExitCode.OK if deny and response.status == "aborted" else code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the options say."""

    approved: bool | None
    """None: ask."""
    note: str
    remember: "GrantScope | None"


def _scope(
    tool: str | None, arguments: str, capability: str | None, lasting: str | None
) -> "GrantScope | None":
    from pml.domain.approval import GrantScope

    wanted = json_object(arguments, "--arguments")
    if tool is None:
        if wanted or capability or lasting:
            message = "--arguments, --capability and --for say how far --remember TOOL goes"
            raise typer.BadParameter(message)
        return None
    ends = None if lasting is None else ttl_s(lasting)
    return GrantScope(tool=tool, arguments=wanted, capability_id=capability, ttl_s=ends)


def _list(data_dir: Path | None, where: Where, *, as_json: bool) -> None:
    from pml.cli.render_approvals import render_asked

    asked, now_ms = run(_asked(data_dir))
    if as_json:
        result_json(asked)
    else:
        result(render_asked(asked, where.given(), now_ms=now_ms, width=width()))


async def _asked(data_dir: Path | None) -> "tuple[list[Asked], int]":
    """What waits for an answer, the oldest first, and the time."""
    from pml.cli.render_approvals import Asked
    from pml.domain.outward import outward
    from pml.serve.compose import now_ms

    async with opened_store(data_dir) as store:
        now = now_ms()
        pending = [each for each in await store.approvals.pending(MANY) if each.expires_at_ms > now]
        found = []
        for approval in pending:
            asked_in: Run = await store.runs.get(approval.run_id)
            found.append(outward(Asked(approval=approval, intent=asked_in.intent)))
        return found, now


async def _answered(
    run_id: str, answer: Answer, where: Where, *, quiet: bool
) -> "tuple[ExecuteResponse, Capability | None]":
    """Show what is asked, hear the answer, and what the run comes to.

    Raises:
        NotFoundError: there is no such run, or nobody was ever asked in it.
        ApprovalStateError: it was answered otherwise, or has expired.
    """
    from pml.cli.progress import Progress
    from pml.cli.which import run_named
    from pml.domain.outward import outward
    from pml.domain.steering import ApprovalAnswer

    on_event = None if quiet else Progress(note, width=width())
    async with opened(
        config=where.config,
        permissions=where.permissions,
        data_dir=where.data_dir,
        on_event=on_event,
    ) as bench:
        run_ = await run_named(bench.store, run_id)
        root = await bench.steering.root_of(run_.id)
        response = outward(await bench.steering.status(root))
        approved = answer.approved
        if response.status != "approval_required":
            if approved is None:
                note(f"pml: nobody is asked for anything in run {root} now")
                return await with_capability(bench, response)
        elif approved is None:
            approved = await _decided(response)
            if approved is None:
                return response, None
        request = ApprovalAnswer(
            workflow_id=root,
            approval_id=response.approval_id,
            approved=approved,
            note=answer.note,
            remember=answer.remember,
        )
        response = outward(await bench.steering.answer(request, by=owner()))
        return await with_capability(bench, response)


async def _decided(response: "ExecuteResponse") -> bool | None:
    """What the person at the terminal says to what is shown; None: nothing, for now."""
    from pml.cli.render_approvals import render_question

    if not asked_at_terminal():
        note("pml: --yes or --deny answers without a terminal; nothing was decided")
        return None
    note(render_question(response, width=width()))
    return await ask_yes_no("Approve it? It goes on at once. y, n (ends it), Enter decides later: ")
