"""The second half of `pml demo`: what was learned is found, run elsewhere, and used by an agent."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pml.cli.client_config import own_command
from pml.cli.table import wrapped
from pml.cli.terminal import width

if TYPE_CHECKING:
    from pml.cli.demo_scene import Scene
    from pml.domain.response import ExecuteResponse
    from pml.serve.compose import Workbench

Say: TypeAlias = Callable[[str], None]
AGENT_TIMEOUT_S = 120
"""It starts PML, which connects three servers."""


async def from_memory(
    bench: "Workbench", scene: "Scene", first: "ExecuteResponse", say: Say
) -> "ExecuteResponse":
    """Show what the first run left, find it in other words, and run it on another folder."""
    await _learned(bench, first, say)
    await _found(bench, scene, say)
    return await _again(bench, scene, say)


async def _learned(bench: "Workbench", first: "ExecuteResponse", say: Say) -> None:
    from pml.cli.render_capabilities import described

    title(say, "6. What it learned: the program is a capability, its literals are parameters")
    capability = await bench.store.capabilities.get(first.capability_id or "")
    say("\n".join(wrapped(described(capability), "", "  ", width())))


async def _found(bench: "Workbench", scene: "Scene", say: Say) -> None:
    from pml.cli.render_found import render_found
    from pml.domain.discovery import DiscoverRequest

    title(say, f"7. Find it in other words: {scene.words.question!r}")
    found = await bench.discover(
        DiscoverRequest(intent=scene.words.question, limit=1, detail="brief")
    )
    say(render_found(found.results, width=width()))


async def _again(bench: "Workbench", scene: "Scene", say: Say) -> "ExecuteResponse":
    """The intent without code, over another folder and another period."""
    from pml.cli.render_response import headline, render_response
    from pml.domain.response import ExecuteRequest

    title(say, "8. Run it by an intent alone, over another folder and period")
    said = f"intent {scene.words.again!r}, args {_given(scene)}"
    say("\n".join(wrapped(said, "", "  ", width())))
    response = await bench.act.execute(
        ExecuteRequest(intent=scene.words.again, args=scene.other_arguments)
    )
    if response.status == "suggestions":
        say(render_response(response, source="", name="", width=width()))
        return response
    say(f"{headline(response)}, mode {response.mode}")
    if response.status == "success":
        say(json.dumps(response.result))
    return response


def _given(scene: "Scene") -> str:
    """The arguments, apart from where the report goes."""
    given = {name: text for name, text in scene.other_arguments.items() if name != "report"}
    return ", ".join(f"{name}: {Path(text).name}" for name, text in given.items())


async def through_endpoint(scene: "Scene", data_dir: Path | None, say: Say) -> None:
    """Let an agent do the same with nothing but the MCP SDK; what it prints is shown.

    Raises:
        UpstreamUnavailableError: it failed, or took too long.
    """
    from pml.errors import UpstreamUnavailableError

    title(say, "9. The same for an agent: agent.py, a client of the MCP SDK, starts `pml stdio`")
    asked = [scene.words.question, scene.words.again, json.dumps(scene.other_arguments)]
    command = [sys.executable, str(scene.files / "agent.py"), *asked, *_stdio(scene, data_dir)]
    agent = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(AGENT_TIMEOUT_S):
            said, trouble = await agent.communicate()
    except TimeoutError:
        agent.kill()
        await agent.wait()
        said, trouble = b"", f"no answer within {AGENT_TIMEOUT_S} s".encode()
    say(said.decode().rstrip())
    if agent.returncode:
        lines = trouble.decode(errors="replace").strip().splitlines()
        ours = [line.removeprefix("pml: ") for line in lines if line.startswith("pml: ")]
        why = "; ".join(ours or lines[-1:]) or f"agent.py ended with {agent.returncode}"
        raise UpstreamUnavailableError("pml", why)


def _stdio(scene: "Scene", data_dir: Path | None) -> list[str]:
    words = [str(own_command()), "stdio", "--config", str(scene.files / "mcp.json")]
    words += ["--permissions", str(scene.files / "permissions.yaml")]
    return words if data_dir is None else [*words, "--data-dir", str(data_dir.absolute())]


def title(say: Say, text: str) -> None:
    """The head of a step."""
    say(f"\n{text}")
