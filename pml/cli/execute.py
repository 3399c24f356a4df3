"""`pml execute` and `pml analyse`: a program, before and while it runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pml.cli.answers import tell, with_capability
from pml.cli.options import AsJson, Config, DataDir, Permissions, Quiet, example
from pml.cli.programs import json_object, read_dag, read_source, shown_name
from pml.cli.session import configured, list_servers, opened, run
from pml.cli.terminal import note, result, result_json, width

if TYPE_CHECKING:
    from pml.domain.capability import Capability
    from pml.domain.plan import Plan
    from pml.domain.program import Diagnostic, Program
    from pml.domain.response import ExecuteRequest, ExecuteResponse
    from pml.domain.structure import StaticStructure
    from pml.domain.tools import Catalog
    from pml.loop.foresee import Foreseen
    from pml.serve.compose import Workbench


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command(
        **example(
            'pml execute --intent "read the notes" --code-file notes.ts \\',
            '    --args \'{"path": "notes.txt"}\' --config mcp.json',
            "echo 'return await mcp.time.get_current_time({timezone: \"UTC\"})' |",
            '    pml execute --intent "what time is it" --code-file - --json',
            'pml execute --intent "read the notes" --args \'{"path": "other.txt"}\'',
            'pml execute --intent "open an issue" --code-file issue.ts --dry-run \\',
            '    --mocks \'{"github:create_issue": {"number": 7}}\'',
            'pml execute --intent "tidy up" --code-file tidy.ts --per-layer',
        )
    )(execute)
    app.command(
        **example(
            "pml analyse notes.ts",
            "pml analyse notes.ts --config mcp.json --json | jq .nodes",
            "pml analyse notes.ts --types",
            'pml analyse notes.ts --plan --args \'{"path": "notes.txt"}\'',
        )
    )(analyse)


def execute(
    *,
    intent: Annotated[
        str, typer.Option(metavar="TEXT", help="What the program is for, in a sentence.")
    ],
    code_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The program, TypeScript; - reads it from stdin.  Left out: what is known of "
            "the intent runs, or is suggested.",
        ),
    ] = None,
    dag_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An explicit DAG as JSON, instead of a program."),
    ] = None,
    args: Annotated[
        str, typer.Option(metavar="JSON", help="The program's `args`, one JSON object.")
    ] = "{}",
    timeout_ms: Annotated[
        int, typer.Option("--timeout", metavar="MS", min=1, help="Deadline of the run.")
    ] = 30_000,
    per_layer: Annotated[
        bool,
        typer.Option("--per-layer", help="Stop after each layer, until `pml continue`."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Let mocks answer for tools that change anything.")
    ] = False,
    mocks: Annotated[
        str,
        typer.Option(metavar="JSON", help="What they answer, by server:tool or a pattern of it."),
    ] = "{}",
    config: Config = None,
    permissions: Permissions = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run a program on real servers; each step goes to stderr, the result to stdout.

    With an intent alone, the capability that clearly fits it runs; where none does, nothing
    runs and what could be run is shown.  A run that waits for somebody says for what, and which
    command goes on from there.
    """
    import msgspec

    from pml.cli.render_found import Given

    answers = json_object(mocks, "--mocks")
    if answers and not dry_run:
        message = "--mocks are answers of a dry run: give --dry-run too"
        raise typer.BadParameter(message)
    request = msgspec.structs.replace(
        _request(intent, code_file, dag_file, args, timeout_ms),
        per_layer_validation=per_layer,
        dry_run=dry_run,
        dry_run_mocks=answers,
    )
    response, learned = run(_execute(request, config, permissions, data_dir, quiet=quiet))
    file = code_file or dag_file
    given = Given(
        intent=intent,
        args=request.args,
        data_dir=data_dir,
        options={"--config": config, "--permissions": permissions},
    )
    code = tell(
        response,
        given,
        as_json=as_json,
        learned=learned,
        source=request.code or "",
        name="the known capability" if file is None else shown_name(file),
    )
    raise typer.Exit(code)


async def _execute(
    request: "ExecuteRequest",
    config: Path | None,
    permissions: Path | None,
    data_dir: Path | None,
    *,
    quiet: bool,
) -> "tuple[ExecuteResponse, Capability | None]":
    """The response, and the capability that it names where it succeeded."""
    from pml.cli.progress import Progress
    from pml.domain.outward import outward

    on_event = None if quiet else Progress(note, width=width())
    async with opened(
        config=config, permissions=permissions, data_dir=data_dir, on_event=on_event
    ) as bench:
        if request.code is None and request.dag is None:
            await list_servers(bench)
            _tell_failures(bench)
        return await with_capability(bench, outward(await bench.act.execute(request)))


def _request(
    intent: str, code_file: Path | None, dag_file: Path | None, args: str, timeout_ms: int
) -> "ExecuteRequest":
    from pml.domain.response import ExecuteRequest
    from pml.errors import RequestError
    from pml.loop.problems import problem_of_intent

    if code_file is not None and dag_file is not None:
        message = "give either --code-file or --dag-file"
        raise typer.BadParameter(message)
    if problem := problem_of_intent(intent, configured().limits):
        raise RequestError(problem)
    return ExecuteRequest(
        intent=intent,
        code=None if code_file is None else read_source(code_file),
        dag=None if dag_file is None else read_dag(dag_file),
        args=json_object(args),
        timeout_ms=timeout_ms,
    )


def analyse(
    *,
    code_file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The program; - reads it from stdin.")
    ],
    plan: Annotated[
        bool, typer.Option("--plan", help="Show it as the plan that a person is asked to approve.")
    ] = False,
    args: Annotated[
        str, typer.Option(metavar="JSON", help="The program's `args`, for the plan.")
    ] = "{}",
    types: Annotated[
        bool,
        typer.Option(
            "--types", help="Check its types too, against the declarations of `pml tools --dts`."
        ),
    ] = False,
    config: Config = None,
    permissions: Permissions = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show what a program would do, without running it.

    With servers configured, tools and literal arguments are checked against their schemas.
    """
    from pml.cli.exits import ExitCode
    from pml.cli.render_diagnostics import render_diagnostics

    source, given = read_source(code_file), json_object(args)
    settings = configured(config=config, permissions=permissions, data_dir=data_dir)
    if settings.config is None:
        foreseen = _taken_at_its_word(source, given, settings.permissions)
        doubts = run(_types_alone(source)) if types else ()
    else:
        foreseen, doubts = run(
            _planned(source, given, settings.config, permissions, data_dir, types=types)
        )
    if plan:
        doubts = (*foreseen.doubts, *doubts)
    program = foreseen.program
    found = render_diagnostics(
        (*program.diagnostics, *doubts), source, name=shown_name(code_file), width=width()
    )
    if found:
        note(found)
    if foreseen.plan is not None:
        _show(foreseen.plan if plan else program.structure, as_json=as_json)
    elif as_json:
        result_json(program.structure)
    raise typer.Exit(ExitCode.FAILED if program.errors else ExitCode.OK)


def _show(shown: "Plan | StaticStructure", *, as_json: bool) -> None:
    from pml.analysis.plan_text import plan_text
    from pml.cli.render_structure import render_structure
    from pml.domain.plan import Plan

    if as_json:
        result_json(shown)
    elif isinstance(shown, Plan):
        result(plan_text(shown))
    else:
        result(render_structure(shown, width=width()))


def _taken_at_its_word(source: str, args: dict[str, Any], permissions: Path | None) -> "Foreseen":
    """The program, with every tool that it names believed to exist."""
    from pml.loop.foresee import foresee
    from pml.runtime.permissions import load_permissions

    program, catalog = _believed(source)
    judge = load_permissions(permissions)
    return foresee(program, args, catalog=catalog, callees={}, judge=judge)


def _believed(source: str) -> "tuple[Program, Catalog]":
    from pml.analysis.analyse import analyse as understand
    from pml.domain.tools import Catalog, Tool

    servers: dict[str, list[Tool]] = {}
    for tool_id in understand(source, Catalog({})).structure.tools():
        server, _, name = tool_id.partition(":")
        servers.setdefault(server, []).append(Tool(server=server, name=name))
    catalog = Catalog(servers)
    return understand(source, catalog), catalog


async def _types_alone(source: str) -> "tuple[Diagnostic, ...]":
    """Types that contradict each other, where nothing is known of tools."""
    from pml.loop.types import check_types

    program, catalog = _believed(source)
    return () if program.errors else await check_types(program, catalog, {})


async def _planned(
    source: str,
    args: dict[str, Any],
    config: Path,
    permissions: Path | None,
    data_dir: Path | None,
    *,
    types: bool,
) -> "tuple[Foreseen, tuple[Diagnostic, ...]]":
    """The program against what its servers offer; one that fails is named on stderr."""
    from pml.loop.types import type_problems

    async with opened(config=config, permissions=permissions, data_dir=data_dir) as bench:
        foreseen = await bench.act.plan(source, args)
        doubts: tuple[Diagnostic, ...] = ()
        if types and foreseen.plan is not None:
            doubts = await type_problems(source, library=bench.library, limits=bench.act.limits)
        _tell_failures(bench)
        return foreseen, doubts


def _tell_failures(bench: "Workbench") -> None:
    for server in bench.upstreams.status():
        if server.error:
            note(f"pml: server {server.name!r}: {server.error}")
