"""Tools and capabilities that were found, and what could be run next, for people."""

import json
import shlex
from collections.abc import Iterable, Sequence

from pml.cli.table import shorten, table, wrapped
from pml.domain.discovery import Discovered, DiscoverResponse, Found, Track
from pml.domain.response import Suggestions
from pml.loop.recall import MIN_SUCCESS_RATE

INDENT = " " * 4


def render_discovery(response: DiscoverResponse, *, offset: int, brief: bool, width: int) -> str:
    """The part of the ranking, what could not be searched, and where it goes on."""
    if offset and not response.results:
        body = f"Nothing there: {response.total} results in all."
    elif not response.results:
        body = "Nothing found: no server has tools yet (`pml servers`), or --min-score is too high."
    elif brief:
        body = _brief(response.results, offset, width)
    else:
        body = render_found(response.results, first=offset + 1, width=width)
    last = offset + len(response.results)
    more = "" if response.next_offset is None else f"; --offset {response.next_offset} goes on"
    shown = f"{last} of {response.total}{more}" if response.results else ""
    return "\n\n".join(filter(None, [body, *(f"note: {text}" for text in response.notes), shown]))


def _brief(results: Sequence[Discovered], offset: int, width: int) -> str:
    rows = [
        (str(rank), f"{found.score:.2f}", found.type.value, found.name, found.description)
        for rank, found in enumerate(results, offset + 1)
    ]
    return table(("", "score", "type", "name", "description"), rows, width=width)


def render_found(results: Iterable[Discovered], *, width: int, first: int = 1) -> str:
    """A paragraph per result: what it is, how it is called, and why it stands here."""
    return "\n".join(_paragraph(rank, found, width) for rank, found in enumerate(results, first))


def _paragraph(rank: int, found: Discovered, width: int) -> str:
    what = shorten(f"{found.type.value} {found.name}", width - len(INDENT) - 5)
    lines = [f"{rank:>2}  {what:<{width - len(INDENT) - 5}} {found.score:.2f}"]
    if found.description:
        lines.append(INDENT + shorten(found.description, width - len(INDENT)))
    lines += wrapped(found.signature, INDENT, INDENT + "  ", width)
    if found.track is not None:
        lines += wrapped(render_track(found.track), INDENT, INDENT + "  ", width)
    if found.reasons:
        lines += wrapped("why: " + "; ".join(found.reasons), INDENT, INDENT + "  ", width)
    if found.missing:
        lines += wrapped("missing: " + ", ".join(found.missing), INDENT, INDENT + "  ", width)
    return "\n".join(lines)


def render_track(track: Track) -> str:
    """How a capability has done, in a few words."""
    runs = f"{track.usage_count} run{'' if track.usage_count == 1 else 's'}"
    state = track.lifecycle.value + (", stale: a tool has changed" if track.stale else "")
    return f"{runs}, {track.success_rate:.0%} succeeded, {state}"


def render_suggestions(suggestions: Suggestions, *, width: int) -> str:
    """Why nothing ran, what was found instead, and the command that would run the first."""
    parts = ["\n".join(wrapped(_sentence(suggestions.why), "", "", width))]
    if suggestions.candidates:
        parts.append(render_found(suggestions.candidates, width=width))
        parts.append("to run the first\n" + _indented(command_for(suggestions.candidates[0])))
    return "\n\n".join(parts)


def command_for(found: Discovered) -> str:
    """A command that runs this result, with ``...`` for every argument that it needs.

    What is not trusted to run by itself is shown instead, with its code.
    """
    if found.track is not None and (
        found.track.stale or found.track.success_rate < MIN_SUCCESS_RATE
    ):
        return f"pml capabilities show {found.name}  # its code, to be looked at and sent"
    if found.type is Found.CAPABILITY:
        needed = [parameter.name for parameter in found.parameters if parameter.required]
        words = ["pml", "execute", "--intent", found.name]
        return shlex.join([*words, "--args", _dots(needed)] if needed else words)
    call = found.signature.partition("(")[0]
    program = f"return await {call}({_dots(found.missing)})"
    return f"echo {shlex.quote(program)} |\n  pml execute --intent '...' --code-file -"


def _dots(names: Iterable[str]) -> str:
    return json.dumps(dict.fromkeys(names, "..."), ensure_ascii=False)


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.split("\n"))


def _sentence(text: str) -> str:
    """The text as a sentence; one that begins with code keeps its first letter."""
    first = text[:1].upper() if text.partition(" ")[0].isalpha() else text[:1]
    return first + text[1:] + ("" if text.endswith(".") else ".")
