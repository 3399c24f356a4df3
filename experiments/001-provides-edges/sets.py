"""The sets of the study as pairs of tools: which provide for which, and which do not.

As `floors.py` beside the sets defines it: a pair of different tools is *gold* if a workflow has
an edge from the one to the other, and *other* if both stand in one workflow (in either order)
and no workflow has that edge.  A method answers yes or no for every gold and other pair.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import polars as pl  # type: ignore[import-not-found,unused-ignore]

from pml.domain.tools import Tool

Pair = tuple[str, str]
"""Provider and consumer, by id in the set."""
SPLITS = {
    "sgd": {"train": "train", "dev": "dev", "test": "test"},
    "sealtools": {"train": "train", "test_in_domain": "test", "test_out_domain": "test"},
    "ultratool": {"train": "train", "test": "test"},
    "toollinkos": {"train": "train", "test": "test"},
    "n8n": {"train": "train", "dev": "dev", "test": "test"},
}
"""What each set calls its splits, as train, dev and test."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of some workflows."""

    gold: frozenset[Pair]
    other: frozenset[Pair]
    fields: Mapping[Pair, frozenset[str]] = field(default_factory=dict)
    """Of gold pairs, where the set has them: the consumer's fields that are provided for (of n8n
    the provider's, which are what its consumers take)."""


@dataclass(frozen=True, slots=True)
class Set:
    """One set, read."""

    name: str
    tools: Mapping[str, Tool]
    splits: Mapping[str, Pairs]
    """By ``train``, ``dev``, ``test`` and ``all``."""
    rows: Mapping[str, list[dict[str, Any]]]
    """The workflows of each split, as they are in the file."""
    reader: Any
    """Of workflows and tools the pairs."""


def read(folder: Path, name: str) -> Set:
    """Tools and pairs of a set."""
    rows = pl.read_parquet(folder / name / "tools.parquet").to_dicts()
    tools = {row["tool_id"]: tool(row) for row in rows}
    workflows = pl.read_parquet(folder / name / "workflows.parquet").to_dicts()
    if name == "n8n":
        tools = learned((row for row in workflows if row["split"] == "train"), tools)
    splits = SPLITS[name]
    by_split: dict[str, list[dict[str, Any]]] = {"all": workflows}
    for row in workflows:
        by_split.setdefault(splits[row["split"]], []).append(row)
    reader = {"toollinkos": dependencies(folder), "n8n": references}.get(name, flows)
    pairs = {split: reader(rows, tools) for split, rows in by_split.items()}
    return Set(name, tools, pairs, by_split, reader)


def tool(row: Mapping[str, Any]) -> Tool:
    """A row of `tools.parquet`."""
    output = loaded(row["output_schema"])
    if output and "properties" not in output:
        output = {"properties": output}
    return Tool(
        server=str(row["server"] or "").replace(":", "_") or "none",
        name=row["name"],
        description=row["description"] or "",
        input_schema=loaded(row["input_schema"]) or {"type": "object"},
        output_schema=output,
    )


def loaded(text: str | None) -> dict[str, Any] | None:
    """A schema; None where there is none that is an object."""
    found = json.loads(text) if text else None
    return found if isinstance(found, dict) else None


def flows(rows: Iterable[Mapping[str, Any]], tools: Mapping[str, Tool]) -> Pairs:
    """Edges between the nodes of workflows (sgd, sealtools, ultratool)."""
    gold: set[Pair] = set()
    other: set[Pair] = set()
    fields: dict[Pair, set[str]] = {}
    for row in rows:
        nodes = row["nodes"]
        edges = {(nodes[a], nodes[b]) for a, b in row["edges"]}
        gold |= edges
        other |= together(nodes) - edges
        arguments = json.loads(row["arguments"] or "null")
        for start, end in row["edges"] if isinstance(arguments, list) else ():
            named = referring(arguments[end], start)
            if named:
                fields.setdefault((nodes[start], nodes[end]), set()).update(named)
    kept = known(gold, tools)
    by_pair = {pair: frozenset(names) for pair, names in fields.items() if pair in kept}
    return Pairs(kept, known(other - gold, tools), by_pair)


def referring(arguments: object, call: int) -> set[str]:
    """The arguments of sealtools that are the result of an earlier call."""
    named = arguments.items() if isinstance(arguments, dict) else ()
    return {name for name, value in named if f"API_call_{call}" in str(value)}


def together(nodes: Iterable[str]) -> set[Pair]:
    """All pairs of different tools of one workflow, in both orders."""
    found = set(nodes)
    return {(a, b) for a in found for b in found if a != b}


def known(pairs: set[Pair], tools: Mapping[str, Tool]) -> frozenset[Pair]:
    """Without pairs of a tool with itself, and of tools that the set does not list."""
    return frozenset((a, b) for a, b in pairs if a != b and a in tools and b in tools)


def plain(schema: Mapping[str, Any] | None) -> set[str]:
    """Names of fields as the exact-name rule of the floors compares them."""
    found = (schema or {}).get("properties")
    names = found if isinstance(found, dict) else ()
    return {re.sub(r"[^a-z0-9]", "", name.lower()) for name in names}


def dependencies(folder: Path) -> Any:  # noqa: ANN401  # a reader
    """Of toollinkos: gold are the dependencies of a parameter on a provider.

    A pair of which the set only says that one tool depends on the other is neither gold nor
    other: that may be data (a login's session) or not (the wireless network is on).
    """
    rows = pl.read_parquet(folder / "toollinkos" / "dependencies.parquet").to_dicts()
    fields: dict[Pair, frozenset[str]] = {}
    undecided: set[Pair] = set()
    for row in rows:
        undecided.add((row["provider"], row["consumer"]))
        if row["type"].startswith("PARAMETER"):
            names = frozenset(n.strip() for n in (row["parameter"] or "").split(",") if n.strip())
            pair = (row["provider"], row["consumer"])
            fields[pair] = fields.get(pair, frozenset()) | names

    def reader(workflows: Iterable[Mapping[str, Any]], tools: Mapping[str, Tool]) -> Pairs:
        pairs = set().union(*(together(row["nodes"]) for row in workflows))
        gold = known(pairs & set(fields), tools)
        return Pairs(gold, known(pairs - undecided, tools), {p: fields[p] for p in gold})

    return reader


def references(rows: Iterable[Mapping[str, Any]], tools: Mapping[str, Tool]) -> Pairs:
    """Of n8n: gold are the pairs of which the consumer refers to a field of the provider."""
    fields: dict[Pair, set[str]] = {}
    pairs: set[Pair] = set()
    for row in rows:
        nodes = row["nodes"]
        pairs |= together(nodes)
        for start, name, end, _ in json.loads(row["field_refs"] or "[]"):
            fields.setdefault((nodes[start], nodes[end]), set()).add(name)
    gold = known(set(fields), tools)
    return Pairs(gold, known(pairs - gold, tools), {p: frozenset(fields[p]) for p in gold})


def learned(
    rows: Iterable[Mapping[str, Any]], tools: Mapping[str, Tool], *, parameters: bool = False
) -> dict[str, Tool]:
    """Tools of n8n with schemas learned from the references of workflows.

    A tool gives the fields that others have referred to, and takes the fields that it has
    referred to: what it was called with.

    Args:
        rows: workflows, of the training split.
        tools: all.
        parameters: a tool takes the parameters in which it has referred to fields instead.
    """
    given: dict[str, set[str]] = {}
    taken: dict[str, set[str]] = {}
    for row in rows:
        for start, name, end, parameter in json.loads(row["field_refs"] or "[]"):
            given.setdefault(row["nodes"][start], set()).add(name)
            taken.setdefault(row["nodes"][end], set()).add(parameter if parameters else name)
    return {
        key: msgspec.structs.replace(
            tool,
            input_schema=named(taken.get(key, ())),
            observed_schema=named(given.get(key, ())),
        )
        for key, tool in tools.items()
    }


def named(fields: Iterable[str]) -> dict[str, Any]:
    """A schema of which only the fields' names are known."""
    return {"type": "object", "properties": {name: {} for name in sorted(fields)}}


def ordered(folder: Path, name: str) -> set[Pair]:
    """Pairs of which the first ran before the second in some workflow."""
    rows = pl.read_parquet(folder / name / "workflows.parquet").to_dicts()
    return {
        (first, second)
        for row in rows
        for number, second in enumerate(row["nodes"])
        for first in row["nodes"][:number]
    }
