"""`pml demo`: the whole loop on real servers, told step by step.  Nothing is recorded."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.client_config import shown_command
from pml.cli.demo_memory import Say, from_memory, through_endpoint, title, told
from pml.cli.options import AsJson, DataDir, example
from pml.cli.session import opened, run
from pml.cli.terminal import note, result, result_json, width

if TYPE_CHECKING:
    from pml.cli.demo_scene import Scene
    from pml.domain.events import Event
    from pml.domain.response import ExecuteResponse
    from pml.serve.compose import Workbench


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(**example("pml demo", "pml demo --repository ~/src/project"))(demo)


def demo(
    repository: Annotated[
        Path, typer.Option(metavar="DIR", help="Whose history; default: where you are.")
    ] = Path(),
    output: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the report goes; the only folder written.")
    ] = Path("pml-demo"),
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Run a program on three real MCP servers, and again from memory; show each step."""
    from pml.cli.demo_scene import fetch_files_server, set_scene
    from pml.cli.exits import for_response

    scene = set_scene(repository, output)
    say = note if as_json else result
    say("PML runs an agent's program on three real MCP servers.")
    if scene.remark:
        told(say, scene.remark)
    fetch_files_server()
    os.environ.update(scene.environment())
    response = run(_story(scene, data_dir, say))
    if as_json:
        result_json(response)
    raise typer.Exit(for_response(response))


async def _story(scene: "Scene", data_dir: Path | None, say: Say) -> "ExecuteResponse":
    watch = _Watch(say)
    async with opened(
        config=scene.files / "mcp.json",
        permissions=scene.files / "permissions.yaml",
        data_dir=data_dir,
        on_event=watch,
    ) as bench:
        await _connect(bench, scene, say)
        await _before(bench, scene, say)
        await _forbidden(bench, scene, say)
        response = await _running(bench, scene, say)
        await _after(bench, response, say)
        watch.on = False  # it would be the same again
        if response.status == "success":
            response, intent = await from_memory(bench, scene, response, say)
    if response.status == "success":
        await through_endpoint(scene, intent, data_dir, say)
    _next(scene, response, data_dir, say)
    return response


class _Watch:
    """Tells each event of a run while it is on."""

    def __init__(self, say: Say) -> None:
        from pml.cli.progress import Progress

        self.on = True
        self._tell = Progress(lambda line: say("  " + line), width=width() - 2)

    def __call__(self, event: "Event") -> None:
        if self.on:
            self._tell(event)


async def _connect(bench: "Workbench", scene: "Scene", say: Say) -> None:
    """Step 1.

    Raises:
        UpstreamUnavailableError: a server failed; what it said has been shown.
    """
    from pml.analysis.analyse import read
    from pml.cli.render_records import render_servers
    from pml.errors import UpstreamUnavailableError

    title(say, "1. Connect the servers, side by side")
    names = read(scene.source).references.servers
    await bench.upstreams.connect(names)
    found = tuple(server for server in bench.upstreams.status() if server.name in names)
    say(render_servers(found, width=width()))
    for server in found:
        if server.error:
            raise UpstreamUnavailableError(
                server.name, "the demo needs it, and above stands why it failed"
            )


async def _before(bench: "Workbench", scene: "Scene", say: Say) -> None:
    from pml.cli.render_structure import render_structure

    title(say, f"2. Before anything runs: what {scene.program} can do, branches included")
    program = await bench.act.analyse(scene.source)
    say(render_structure(program.structure, width=width()))


async def _forbidden(bench: "Workbench", scene: "Scene", say: Say) -> None:
    """What happens to a program that wants more than permissions.yaml allows."""
    from pml.cli.render_response import render_approvals
    from pml.domain.response import ExecuteRequest

    title(say, "3. Ask for too much: forbidden.ts wants move_file, which permissions.yaml lacks")
    source = (scene.files / "forbidden.ts").read_text(encoding="utf-8")
    response = await bench.act.execute(
        ExecuteRequest(
            intent="rename the README", code=source, args={"repository": str(scene.repository)}
        )
    )
    say(render_approvals(response, width=width()))


async def _running(bench: "Workbench", scene: "Scene", say: Say) -> "ExecuteResponse":
    from pml.cli.render_response import headline
    from pml.domain.response import ExecuteRequest

    title(say, "4. Run the program in the sandbox; every call passes the broker")
    response = await bench.act.execute(
        ExecuteRequest(
            intent=scene.words.intent,
            code=scene.source,
            args=scene.arguments,
        )
    )
    say(headline(response))
    return response


async def _after(bench: "Workbench", response: "ExecuteResponse", say: Say) -> None:
    from pml.cli.render_trace import render_timeline

    traces = await bench.store.traces.of_run(response.workflow_id or "")
    if traces and traces[-1].task_results:
        title(say, "5. The trace that it left: what ran when, and what overlapped")
        say(render_timeline(traces[-1], width=width()))


def _next(scene: "Scene", response: "ExecuteResponse", data_dir: Path | None, say: Say) -> None:
    pml, flag = shown_command(), "" if data_dir is None else f" --data-dir {data_dir}"
    title(say, "Where to look next")
    if scene.report.exists():
        say(f"  {_short(scene.report)}  the report that the program wrote")
    say(f"  {_short(scene.files / scene.program)}  the program")
    say(f"  {pml} trace {response.workflow_id or ''}{flag}")
    say(f"  {pml} capabilities{flag}")
    say(f"  {pml} client-config claude-code{flag}  connects an agent")
    say(f"  {pml} doctor{flag}")


def _short(path: Path) -> Path:
    """The path from here if it lies below, else the whole."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
