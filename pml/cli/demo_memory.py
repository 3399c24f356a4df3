"""The second half of `pml demo`: what was learned is found, run elsewhere, and used by an agent."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pml.cli.client_config import own_command
from pml.cli.table import wrapped
from pml.cli.terminal import width

if TYPE_CHECKING:
    from pml.cli.demo_scene import Scene
    from pml.domain.capability import Capability
    from pml.domain.response import ExecuteResponse
    from pml.serve.compose import Workbench

Say: TypeAlias = Callable[[str], None]
AGENT_TIMEOUT_S = 120
"""It starts PML, which connects three servers."""


async def from_memory(
    bench: "Workbench", scene: "Scene", first: "ExecuteResponse", say: Say
) -> "tuple[ExecuteResponse, str]":
    """Show what the first run left, find it in other words, and run it on another folder.

    Returns:
        How that ended, and the intent that ran it.
    """
    learned = await bench.store.capabilities.get(first.capability_id or "")
    _learned(learned, say)
    await _found(bench, scene, say)
    return await _again(bench, scene, learned.name, say)


def _learned(capability: "Capability", say: Say) -> None:
    from pml.cli.render_capabilities import described

    title(say, "6. What it learned: the program is a capability, its literals are parameters")
    told(say, described(capability))


async def _found(bench: "Workbench", scene: "Scene", say: Say) -> None:
    from pml.cli.render_found import render_found
    from pml.domain.discovery import DiscoverRequest

    title(say, f"7. Find it in other words: {scene.words.question!r}")
    found = await bench.discover(
        DiscoverRequest(intent=scene.words.question, limit=1, detail="brief")
    )
    say(render_found(found.results, width=width()))


async def _again(
    bench: "Workbench", scene: "Scene", name: str, say: Say
) -> "tuple[ExecuteResponse, str]":
    """The intent without code, over another folder and another period.

    Where another capability has run for the same words, such as one of an older demo, they
    are not clear, and only the exact name is.
    """
    from pml.cli.render_response import headline
    from pml.domain.response import ExecuteRequest

    title(say, "8. Run it by an intent alone, over another folder and period")
    for intent in (scene.words.again, name):
        told(say, f"intent {intent!r}, args {_given(scene)}")
        response = await bench.act.execute(
            ExecuteRequest(intent=intent, args=scene.other_arguments)
        )
        if response.suggestions is None:
            break
        told(say, f"nothing ran: {response.suggestions.why}")
    say(f"{headline(response)}, mode {response.mode}")
    if response.status == "success":
        told(say, json.dumps(response.result, ensure_ascii=False))
    return response, intent


def _given(scene: "Scene") -> str:
    """The arguments, apart from where the report goes."""
    given = {name: text for name, text in scene.other_arguments.items() if name != "report"}
    return ", ".join(f"{name}: {Path(text).name}" for name, text in given.items())


async def through_endpoint(scene: "Scene", intent: str, data_dir: Path | None, say: Say) -> None:
    """Let an agent do the same with nothing but the MCP SDK; what it prints is shown.

    Raises:
        UpstreamUnavailableError: it failed, or took too long.
    """
    from pml.errors import UpstreamUnavailableError

    title(say, "9. The same for an agent: agent.py, a client of the MCP SDK, starts `pml stdio`")
    asked = [scene.words.question, intent, json.dumps(scene.other_arguments)]
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
    for line in said.decode().splitlines():
        told(say, line, hanging="     ")
    if agent.returncode:
        lines = trouble.decode(errors="replace").strip().splitlines()
        ours = [line.removeprefix("pml: ") for line in lines if line.startswith("pml: ")]
        why = "; ".join(ours or lines[-1:]) or f"agent.py ended with {agent.returncode}"
        raise UpstreamUnavailableError("pml", why)


def _stdio(scene: "Scene", data_dir: Path | None) -> list[str]:
    words = [str(own_command()), "stdio", "--config", str(scene.files / "mcp.json")]
    words += ["--permissions", str(scene.files / "permissions.yaml")]
    return words if data_dir is None else [*words, "--data-dir", str(data_dir.absolute())]


def told(say: Say, text: str, hanging: str = "  ") -> None:
    """One paragraph; what lies below the current folder is named from there."""
    short = text.replace(f"{Path.cwd()}{os.sep}", "")
    say("\n".join(wrapped(short, "", hanging, width())))


def title(say: Say, text: str) -> None:
    """The head of a step."""
    say(f"\n{text}")
