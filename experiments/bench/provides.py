"""What `provides` edges of 10,000 tools cost: from scratch, for one tool more, one less.

The catalogue is generated: 1,250 servers of 8 tools around one noun each (`create_invoice`,
`list_invoices`, ...), with the fields that such tools have (the noun's id, `user_id`, `name`,
`date`, `limit`, ...), half of them without an output schema, as real servers are.  With
`--data DIR` the tools of `DIR/tools.parquet` are measured instead (needs polars).

Beside the time on the clock stands the CPU time of building, which other processes on the machine
do not stretch.  The named alternative compares all pairs with the same matcher; it is run on a
sample of the consumers and extrapolated, and it finds more edges, because it takes every provider
and not the best of each input.

Run:  .venv/bin/python experiments/bench/provides.py
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pml.analysis.fields.index import ProvidesIndex
from pml.analysis.fields.mapping import Side, provides
from pml.domain.tools import Tool

TOOLS = 10_000
ADDED = 300
SAMPLE = 20
"""Consumers that the alternative compares with every tool."""
NOUNS = tuple(  # of servers and fields
    """
account address album alert analysis answer appointment archive article artist asset assignment
attachment author backup badge balance batch bill block board book booking branch brand bucket
budget build bundle calendar campaign cart case certificate channel chapter chart check claim
class client cluster comment commit company component contact container contract coupon course
customer dashboard dataset deal delivery department deployment device diagram discount document
domain donation driver email employee endpoint episode event exam exhibit expense experiment
export feature feed field file film filter flight folder form forum game gift goal group guest
guide holiday hotel house image incident index ingredient insight invoice issue item job journal
key label lead league lease lesson letter library license listing loan location log machine
market match meal measurement meeting member memory menu message metric milestone model module
movie museum network note notification offer office order organization page package parcel
parking partner party passenger patient payment permit person phone photo pipeline place plan
player playlist podcast policy port portfolio post prescription price printer product profile
project promotion proposal provider query question queue quote rate recipe record refund region
release rental repository request reservation resource restaurant review reward role room route
rule sample schedule school score screen season seat secret section segment sensor server session
shift shipment shop signal site skill song space stack station step stock store story stream
student subject subscription supplier survey symbol table tag task tax team template tenant
terminal test theme thread ticket tier timer token topic tour track trade train transaction
transcript transfer trip type unit upload user value variable vehicle vendor venue version video
vote voucher wallet warehouse weather webhook widget workflow workspace zone
""".split()  # noqa: SIM905  # prose is easier to read than 240 quoted words
)
ACTIONS = ("create", "get", "list", "update", "delete", "search", "send", "export")
COMMON = (
    ("user_id", "string"), ("name", "string"), ("email", "string"), ("status", "string"),
    ("created_at", "string"), ("date", "string"), ("location", "string"), ("url", "string"),
    ("title", "string"), ("description", "string"), ("price", "number"), ("currency", "string"),
    ("city", "string"), ("country_code", "string"), ("phone_number", "string"),
)  # fmt: skip
CONTROLS = (("limit", "integer"), ("offset", "integer"), ("query", "string"), ("sort", "string"))
Fields = dict[str, dict[str, Any]]


class Catalogue:
    """Tools as servers have them, of one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)  # noqa: S311  # no secrets are made of it

    def tools(self, count: int) -> list[Tool]:
        """Eight of each server."""
        servers = -(-count // len(ACTIONS))
        return [t for number in range(servers) for t in self._server(number)][:count]

    def _server(self, number: int) -> list[Tool]:
        noun, other = self.rng.sample(NOUNS, 2)
        declares = self.rng.random() < 1 / 2
        return [self._tool(f"{noun}-{number}", a, noun, other, declares) for a in ACTIONS]

    def _tool(self, server: str, action: str, noun: str, other: str, declares: bool) -> Tool:
        taken = self._fields(2)
        if action in ("list", "search"):
            taken |= {name: {"type": kind} for name, kind in self.rng.sample(CONTROLS, 2)}
        else:
            taken[f"{other if action == 'create' else noun}_id"] = {"type": "string"}
        given = self._fields(4) | {"id": {"type": "string"}}
        item = {"type": "object", "properties": given}
        several = action in ("list", "search")
        listed = {"type": "object", "properties": {f"{noun}s": {"type": "array", "items": item}}}
        return Tool(
            server=server,
            name=f"{action}_{noun}{'s' if several else ''}",
            description=f"{action.capitalize()}s the {noun} of a {other}.",
            input_schema={"type": "object", "properties": taken, "required": list(taken)[-1:]},
            output_schema=(listed if several else item) if declares else None,
        )

    def _fields(self, count: int) -> Fields:
        found: Fields = {n: {"type": kind} for n, kind in self.rng.sample(COMMON, count)}
        rare = f"{self.rng.choice(NOUNS)}_{self.rng.choice(('id', 'name', 'count', 'code'))}"
        return found | {rare: {"type": "string"}}


def read(folder: Path) -> list[Tool]:
    """The tools of a set."""
    import polars as pl  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415

    rows = pl.read_parquet(folder / "tools.parquet").to_dicts()
    tools = (
        Tool(
            server=str(row["server"]).replace(":", "_"),
            name=row["name"],
            description=row["description"] or "",
            input_schema=json.loads(row["input_schema"] or "{}"),
            output_schema=json.loads(row["output_schema"] or "null"),
        )
        for row in rows
    )
    return list({tool.id: tool for tool in tools}.values())


def time_ms(work: Callable[[], object]) -> float:
    """Of one call."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def changes(index: ProvidesIndex, tools: Sequence[Tool]) -> tuple[list[float], list[float]]:
    """Adding a tool and asking for all edges that it has, then removing it."""
    added, removed = [], []
    for tool in tools:

        def add(tool: Tool = tool) -> object:
            index.put(tool)
            return index.into(tool.id), index.out_of(tool.id)

        added.append(time_ms(add))
        removed.append(time_ms(lambda tool=tool: index.remove(tool.id)))  # type: ignore[misc]
    return added, removed


def all_pairs_s(tools: Sequence[Tool]) -> tuple[float, int]:
    """Comparing all pairs, from a sample of the consumers: seconds and edges."""
    sides = [Side(tool) for tool in tools]
    sample = sides[:: len(sides) // SAMPLE]
    started = time.perf_counter()
    edges = sum(provides(one, consumer) is not None for consumer in sample for one in sides)
    scale = len(sides) / len(sample)
    return (time.perf_counter() - started) * scale, round(edges * scale)


def main() -> None:
    """Measure and print; the last line is one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of a set, instead of made-up tools")
    folder = parser.parse_args().data
    tools = Catalogue(1).tools(TOOLS + ADDED) if folder is None else read(folder)
    random.Random(2).shuffle(tools)  # noqa: S311  # as tools come
    kept, later = tools[: min(TOOLS, len(tools) - ADDED)], tools[-ADDED:]
    index = ProvidesIndex()
    started, cpu = time.perf_counter(), time.process_time()
    for tool in kept:
        index.put(tool)
    put_s = time.perf_counter() - started
    edges = list(index.edges())
    from_scratch_s, cpu_s = time.perf_counter() - started, time.process_time() - cpu
    added, removed = changes(index, later)
    other_s, other_edges = all_pairs_s(kept)
    figures = {
        "from_scratch_s_10000": from_scratch_s,
        "from_scratch_cpu_s_10000": cpu_s,
        "put_s_10000": put_s,
        "add_p50_ms": statistics.median(added),
        "add_p95_ms": statistics.quantiles(added, n=20)[-1],
        "remove_p50_ms": statistics.median(removed),
        "remove_p95_ms": statistics.quantiles(removed, n=20)[-1],
        "edges": len(edges),
        "all_pairs_s_extrapolated": other_s,
        "all_pairs_edges_extrapolated": other_edges,
        "ratio_to_all_pairs": from_scratch_s / other_s,
    }
    print(f"{len(kept)} tools; all pairs: {SAMPLE} consumers of them, extrapolated")
    print(json.dumps({name: round(value, 4) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
