"""An agent's side of the demo: a client of the official MCP SDK that knows nothing of PML's code.

It starts the server that it is told, asks what there is for an intent, and has it done:

    python agent.py QUESTION INTENT ARGS_AS_JSON COMMAND [ARGUMENT...]
"""

import asyncio
import json
import os
import sys
from typing import Any

from mcp import Client, StdioServerParameters


async def main(question: str, intent: str, args: str, command: list[str]) -> None:
    """List the tools, discover, execute."""
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with Client(server) as client:
        listed = await client.list_tools()
        say(f"tools: {', '.join(tool.name for tool in listed.tools)}")

        found = await call(client, "pml_discover", {"intent": question, "limit": 1})
        say(f"pml_discover {question!r}")
        for best in found["results"]:
            say(f"  -> {best['type']} {best['name']}, {best['score']:.2f}")

        asked = {"intent": intent, "options": {"args": json.loads(args)}}
        ran = await call(client, "pml_execute", asked)
        say(f"pml_execute {intent!r}\n  -> {ran['status']}, mode {ran.get('mode', 'direct')}")
        say(f"  -> {json.dumps(ran.get('result', ran.get('suggestions')))}")


async def call(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The structured answer of a tool; what went wrong ends the agent."""
    answer = await client.call_tool(tool, arguments)
    if answer.is_error or answer.structured_content is None:
        sys.exit(f"{tool}: {answer.content}")
    content: dict[str, Any] = answer.structured_content
    return content


def say(text: str) -> None:
    """One line of the story."""
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4], sys.argv[4:]))
