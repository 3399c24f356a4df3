"""Tools and capabilities that were found, and what could be run next, for people."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pml.cli.table import shorten, table, wrapped
from pml.domain.discovery import Discovered, DiscoverResponse, Found, Track
from pml.domain.response import Suggestions
from pml.domain.structure import SPREAD
from pml.loop.recall import MIN_SUCCESS_RATE

INDENT = " " * 4
_AS_COMMANDS = {"pml_discover": "`pml discover`"}
"""Tools of the endpoint in sentences that agents read too, and the same as a command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What somebody gave to a command, which the next command has to be given again."""

    intent: str = "..."
    args: Mapping[str, Any] = field(default_factory=dict)
    data_dir: Path | None = None
    options: Mapping[str, Path | None] = field(default_factory=dict)
    """Others that every run needs."""

    def words(self, *, runs: bool) -> list[str]:
        """The options as words; ``runs``: for a command that runs something."""
        named = {**(self.options if runs else {}), "--data-dir": self.data_dir}
        return [word for name, path in named.items() if path for word in (name, str(path))]


NOTHING_GIVEN = Given()


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What there was to search, for an answer without results."""

    tools: int = 0
    capabilities: int = 0
    below: int = 0
    """Results that --min-score left out."""


def render_discovery(
    response: DiscoverResponse,
    *,
    offset: int,
    brief: bool,
    width: int,
    known: Known = Known(),
) -> str:
    """The part of the ranking, what could not be searched, and where it goes on."""
    if offset and not response.results:
        body = f"Nothing there: {response.total} results in all."
    elif not response.results:
        body = "\n".join(wrapped(_nothing(known), "", "", width))
    elif brief:
        body = _brief(response.results, offset, width)
    else:
        body = render_found(response.results, first=offset + 1, width=width)
    last = offset + len(response.results)
    more = "" if response.next_offset is None else f"; --offset {response.next_offset} goes on"
    shown = f"{last} of {response.total}{more}" if response.results else ""
    return "\n\n".join(filter(None, [body, *(f"note: {text}" for text in response.notes), shown]))


def _nothing(known: Known) -> str:
    """Why nothing was found."""
    if known.below:
        is_one = known.below == 1
        return (
            f"{_count(known.below, 'result')} {'scores' if is_one else 'score'} below --min-score."
        )
    if not known.tools and not known.capabilities:
        return (
            "Nothing is known: no server has listed tools (`pml servers`), and nothing was learned."
        )
    there = [
        _count(number, *words)
        for number, words in (
            (known.tools, ("tool", "tools")),
            (known.capabilities, ("capability", "capabilities")),
        )
        if number
    ]
    are = "is" if known.tools + known.capabilities == 1 else "are"
    return f"Nothing fits these words; {' and '.join(there)} {are} known."


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
    if found.description and not found.declaration:
        lines.append(INDENT + shorten(found.description, width - len(INDENT)))
    if found.declaration:
        lines += [INDENT + line for line in found.declaration.split("\n")]
    else:
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


def render_suggestions(
    suggestions: Suggestions, *, width: int, given: Given = NOTHING_GIVEN
) -> str:
    """Why nothing ran, what was found instead, and the command that would run the first."""
    parts = ["\n".join(wrapped(_sentence(suggestions.why), "", "", width))]
    if suggestions.candidates:
        parts.append(render_found(suggestions.candidates, width=width))
        parts.append(
            "to run the first\n" + _indented(command_for(suggestions.candidates[0], given))
        )
    return "\n\n".join(parts)


def command_for(found: Discovered, given: Given = NOTHING_GIVEN) -> str:
    """A command that runs this result, with ``...`` for every argument that is not given.

    What is not trusted to run by itself is shown instead, with its code.
    """
    if found.track is not None and (
        found.track.stale or found.track.success_rate < MIN_SUCCESS_RATE
    ):
        show = shlex.join(["pml", "capabilities", "show", found.name, *given.words(runs=False)])
        return f"{show}  # its code, to be looked at and sent"
    options = given.words(runs=True)
    if found.type is Found.CAPABILITY:
        arguments = _capability_arguments(found, given.args)
        words = ["pml", "execute", "--intent", found.name]
        return shlex.join([*words, *(["--args", _json(arguments)] if arguments else []), *options])
    call, _, takes = found.signature.partition("): ")[0].partition("(")
    fitting = {name: value for name, value in given.args.items() if _takes(takes, name)}
    program = f"return await {call}({_json(fitting | dict.fromkeys(found.missing, '...'))})"
    words = ["pml", "execute", "--intent", given.intent, "--code-file", "-", *options]
    return f"echo {shlex.quote(program)} |\n  {shlex.join(words)}"


def _capability_arguments(found: Discovered, args: Mapping[str, Any]) -> dict[str, Any]:
    """What is required, and of what was given all that the capability takes."""
    names = {parameter.name for parameter in found.parameters}
    needed = {parameter.name: "..." for parameter in found.parameters if parameter.required}
    return needed | {n: value for n, value in args.items() if n in names or SPREAD in names}


def _takes(signature: str, name: str) -> bool:
    """Whether the argument of a tool has a property of this name."""
    return re.search(rf"[{{;,]\s*\"?{re.escape(name)}\"?\??:", signature) is not None


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.split("\n"))


def _sentence(text: str) -> str:
    """The text as a sentence for people; one that begins with code keeps its first letter."""
    for tool, command in _AS_COMMANDS.items():
        text = text.replace(tool, command)
    first = text[:1].upper() if text.partition(" ")[0].isalpha() else text[:1]
    return first + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")
