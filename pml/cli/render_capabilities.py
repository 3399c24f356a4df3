"""Capabilities for people: the list, one of them whole, and what a run taught."""

import json
from collections.abc import Sequence

import msgspec

from pml.analysis.signature import capability_signature
from pml.cli.render_found import render_track
from pml.cli.table import duration, moment, shorten, table, wrapped
from pml.domain.capability import (
    Capability,
    CapabilityParameter,
    DecisionStatistics,
    PastIntent,
    PathStatistics,
)
from pml.domain.discovery import Track

SHORT_ID = 12
"""Characters of an id that a list shows; every command takes a beginning of an id."""
MIN_NAME = 20
MAX_ROWS = 20
"""Paths and intents that are shown of one capability; `--json` has them all."""


def render_capabilities(found: Sequence[tuple[Capability, str]], *, width: int) -> str:
    """One capability per line with the intent that it last ran for."""
    if not found:
        return "No capabilities: a program that succeeds becomes one (`pml execute --help`)."
    rows = [
        (
            shorten(capability.name, max(MIN_NAME, width // 3)),
            capability.id[:SHORT_ID],
            str(capability.usage_count),
            f"{capability.success_rate:.0%}",
            _standing(capability),
            intent,
        )
        for capability, intent in found
    ]
    return table(("name", "id", "runs", "ok", "life cycle", "last intent"), rows, width=width)


def _standing(capability: Capability) -> str:
    marks = [
        mark
        for mark, holds in (("stale", capability.stale), ("hidden", capability.hidden))
        if holds
    ]
    return ", ".join([capability.lifecycle.value, *marks])


def render_capability(capability: Capability, intents: Sequence[PastIntent], *, width: int) -> str:
    """Everything that is known of one capability."""
    call = capability_signature(capability.name, capability.parameters)
    parts = [
        _head(capability, width),
        "\n".join(["call", *wrapped(call, "  ", "    ", width)]),
        _parameters(capability.parameters, width),
        _paths(capability.learning.paths, capability.learning.dominant_path, width),
        _decisions(capability.learning.decision_stats, width),
        _intents(intents, width),
        "code\n" + _numbered(capability.code),
    ]
    return "\n\n".join(part for part in parts if part)


def _head(capability: Capability, width: int) -> str:
    hidden = "; hidden until a run succeeds" if capability.hidden else ""
    tools = ", ".join(capability.structure.tools())
    made = f"made of {capability.source.value}, {moment(capability.created_at_ms)} UTC"
    return "\n".join(
        [
            f"{capability.name}  {capability.id}",
            *wrapped(capability.description or capability.intent, "", "", width),
            f"{_track(capability)}{hidden}; {made}",
            *wrapped(f"tools: {tools}" if tools else "calls no tools", "", "  ", width),
        ]
    )


def _parameters(parameters: Sequence[CapabilityParameter], width: int) -> str:
    rows = [(p.name, type_of(p), default_of(p)) for p in parameters]
    return _section("parameters", ("name", "type", "default"), rows, width)


def type_of(parameter: CapabilityParameter) -> str:
    """The type as its JSON Schema says it in a word; ``any`` where it says none."""
    schema = parameter.shown_schema()
    ways = schema.get("anyOf", [schema])
    kinds = [way.get("type", "any") for way in ways if isinstance(way, dict)]
    words = [word for kind in kinds for word in (kind if isinstance(kind, list) else [kind])]
    return " or ".join(dict.fromkeys(map(str, words))) or "any"


def default_of(parameter: CapabilityParameter) -> str:
    """The literal that stands in the code, or whether one has to be given."""
    if parameter.required:
        return "(required)"
    if isinstance(parameter.default, msgspec.UnsetType):
        return "(may be left out)"
    return json.dumps(parameter.default, ensure_ascii=False)


def _paths(paths: Sequence[PathStatistics], dominant: tuple[str, ...], width: int) -> str:
    rows = [
        (
            str(path.count),
            f"{path.success_rate:.2f}",
            duration(path.avg_duration_ms),
            ("* " if path.path == dominant else "  ") + " ".join(path.path),
        )
        for path in paths[:MAX_ROWS]
    ]
    return _section("paths (* is the dominant one)", ("runs", "V", "mean", "nodes"), rows, width)


def _decisions(decisions: Sequence[DecisionStatistics], width: int) -> str:
    rows = [
        (decision.node_id, outcome, str(seen.count), f"{seen.success_rate:.2f}", decision.condition)
        for decision in decisions[:MAX_ROWS]
        for outcome, seen in decision.outcomes.items()
    ]
    return _section("decisions", ("node", "outcome", "runs", "V", "condition"), rows, width)


def _intents(intents: Sequence[PastIntent], width: int) -> str:
    rows = [
        (
            str(past.success_count),
            str(past.failure_count),
            moment(past.last_at_ms)[:16],
            past.intent,
        )
        for past in intents[:MAX_ROWS]
    ]
    return _section("intents that it ran for", ("ok", "failed", "last", "intent"), rows, width)


def _section(
    title: str, headers: tuple[str, ...], rows: Sequence[tuple[str, ...]], width: int
) -> str:
    if not rows:
        return ""
    lines = table(headers, rows, width=width - 2).split("\n")
    return "\n".join([title, *("  " + line for line in lines)])


def _numbered(code: str) -> str:
    return "\n".join(
        f"{number:>4} | {line}".rstrip() for number, line in enumerate(code.splitlines(), 1)
    )


def render_learned(capability: Capability, *, reused: bool, width: int) -> str:
    """What a run made of its program, or which capability answered an intent."""
    called = f"capabilities.{capability.name}"
    if reused:
        text = f"ran what was known as {called}: {_track(capability)}"
    elif capability.usage_count <= 1:
        text = f"learned as {described(capability)}"
    else:
        text = f"known as {called}: {_track(capability)}"
    return "\n".join(wrapped(text, "", "  ", width))


def _track(capability: Capability) -> str:
    return render_track(
        Track(
            usage_count=capability.usage_count,
            success_rate=capability.success_rate,
            lifecycle=capability.lifecycle,
            stale=capability.stale,
        )
    )


def described(capability: Capability) -> str:
    """How it is called, and its parameters with their defaults."""
    called = f"capabilities.{capability.name}"
    if not capability.parameters:
        return f"{called}, without parameters"
    count = len(capability.parameters)
    names = (
        p.name if isinstance(p.default, msgspec.UnsetType) else f"{p.name} = {_short(p)}"
        for p in capability.parameters
    )
    return f"{called}, {count} parameter{'' if count == 1 else 's'}: {', '.join(names)}"


def _short(parameter: CapabilityParameter) -> str:
    return shorten(json.dumps(parameter.default, ensure_ascii=False), 40)
