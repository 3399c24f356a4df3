"""Tools whose description or schema changed since somebody accepted them (HIL-5).

Agents act on what a description says, and people agree to what they saw; so a tool that says
something else now is not called until a person has looked at it.
"""

from collections.abc import Sequence

from pml.domain.tools import Tool, changes_of


def quarantine_of(tool: Tool) -> str | None:
    """Why a tool may not be called until somebody accepts it again (HIL-5); None: it may."""
    if not tool.changed:
        return None
    return (
        f"{tool.id} is quarantined: its {_listed(tool.changed)} changed since it was accepted; "
        f"`pml tools {tool.id} --accept` shows the change and accepts it"
    )


def changed_meanwhile(tool: Tool, now: Tool) -> str:
    """Why a call is refused whose tool is no more what the run was prepared with (HIL-5)."""
    return (
        f"{tool.id} is quarantined: its {_listed(changes_of(tool, now))} changed since this run "
        f"was prepared; `pml tools {tool.id} --accept` shows the change and accepts it, then send "
        "the request again"
    )


def _listed(parts: Sequence[str]) -> str:
    return " and ".join((", ".join(parts[:-1]), parts[-1])) if len(parts) > 1 else "".join(parts)
