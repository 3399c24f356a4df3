"""A catalogue with servers that nobody has used, and runs of the others."""

from pml.evaluation.dataset import Tool, Workflow

USED, NEW = "abcdefghi", "xyz"
"""Servers."""
VERBS = ("book", "drop")
TOOLS = tuple(
    Tool(id=f"{server}:{verb}", server=server, name=f"{verb}_{server * 3}")
    for server in USED + NEW
    for verb in ("find", *VERBS)
)
SERVERS = {tool.id: tool.server for tool in TOOLS}


def runs(count: int = 150) -> tuple[Workflow, ...]:
    """In each something is found, and then booked or dropped on the same server.

    What is booked there is never dropped: counts tell as much as texts.
    """
    found = []
    for at in range(count):
        server, verb = USED[at % len(USED)], VERBS[at % len(USED) % 2]
        found.append(
            Workflow(
                id=str(at),
                intent=f"{verb} a {server * 3} now {at}",
                nodes=(f"{server}:find", f"{server}:{verb}"),
                edges=((0, 1),),
                split="train",
            )
        )
    return tuple(found)
