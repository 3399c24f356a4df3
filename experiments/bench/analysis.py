"""What it costs to understand a program, from 21 lines to 10,000.

One analysis is everything that a submission needs: parse, structure, arguments, instrumented
code, parameters and canonical hash.  The named alternative is what no analysis in Python can
avoid: tree-sitter's parse and one walk over its nodes that does nothing, in the same run.
Growth is the slope of log time over log lines, for four shapes of program; the worst counts.
The garbage collector is set as `pml serve` sets it; what Python's defaults cost is said beside.

Run:  .venv/bin/python experiments/bench/analysis.py
"""

import gc
import json
import statistics
import time
from collections.abc import Callable

import numpy as np
from tree_sitter import Parser

from pml.analysis.analyse import analyse, read
from pml.analysis.grammar import LANGUAGE
from pml.domain.tools import Catalog, Tool
from pml.loop.analysed import Analysed
from pml.serve.collector import settle

SIZES = (100, 200, 500, 1_000, 2_000, 5_000, 10_000)
REPEATS = 300
FEW_REPEATS_FROM = 500
DEFAULTS_LINES = 5_000
FIELDS = {"path": "string", "text": "string", "size": "integer", "items": "array"}
SCHEMA = {"type": "object", "properties": {name: {"type": t} for name, t in FIELDS.items()}}
CATALOG = Catalog(
    {
        "fs": [
            Tool(server="fs", name=name, input_schema=SCHEMA, output_schema=SCHEMA)
            for name in ("list", "read", "write", "stat")
        ],
        "hub": [Tool(server="hub", name=name, input_schema=SCHEMA) for name in ("open", "post")],
    }
)

PROGRAM = """\
const root = args.root;
const listing = await mcp.fs.list({ path: root });
const files = listing.items.filter((file) => file.path.endsWith(".ts"));
const found = [];
for (const file of files) {
  const content = await mcp.fs.read({ path: file.path, size: 100_000 });
  if (content.text.includes("TODO")) {
    found.push({ path: file.path, size: content.text.length });
  }
}
if (found.length === 0) {
  await mcp.hub.post({ text: "nothing to do" });
  return { count: 0 };
}
const [issue, report] = await Promise.all([
  mcp.hub.open({ text: `TODO in ${found.length} files` }),
  mcp.fs.write({ path: "report.md", text: JSON.stringify(found) }),
]);
const posted = await mcp.hub.post({ text: issue.url, size: 3 });
await mcp.fs.write({ path: "log.txt", text: posted?.id ?? "none" });
return { count: found.length, issue: issue.id, report };
"""


def straight(lines: int) -> str:
    """Every call takes what the one before gave."""
    calls = [
        f"const v{n} = await mcp.fs.read({{ size: {n}, path: v{n - 1}.path }});"
        for n in range(1, lines)
    ]
    return "\n".join(["const v0 = args;", *calls])


def branching(lines: int) -> str:
    """Functions of 21 lines that are called one after the other."""
    body = PROGRAM.replace("const root = args.root;\n", "")
    functions = (
        f"async function step{n}(root: string) {{\n{body}}}\nawait step{n}(args.r{n});"
        for n in range(lines // 23)
    )
    return "\n".join(functions)


def accumulating(lines: int) -> str:
    """A list and a sum that everything flows into, and that everything reads."""
    parts = ["let total = 0; const seen = [];"]
    for n in range(lines // 4):
        parts += [
            f"const v{n} = await mcp.fs.stat({{ size: total, path: args.path }});",
            f"total += v{n}.size;",
            f"if (v{n}.size > {n}) {{ seen.push(v{n}.path); }}",
            "await mcp.fs.write({ items: seen, text: String(total) });",
        ]
    return "\n".join(parts)


def nested(lines: int) -> str:
    """Loops and decisions inside each other, five levels deep."""
    opening = [
        "for (const a of args.items) {",
        "  try {",
        "    if (a.path) {",
        "      switch (a.kind) { case 'x': {",
        "        const s = await mcp.fs.stat({ path: a.path }); if (s.size > 1) break;",
        "        await mcp.fs.read({ path: s.path ?? a.path });",
        "      } default: await mcp.fs.list({ path: a.path }); }",
        "    } else { await Promise.all(a.map((x) => mcp.hub.post({ text: x }))); }",
        "  } catch (e) { await mcp.hub.open({ text: String(e) }); continue; }",
        "}",
    ]
    return "\n".join(opening * (lines // len(opening)))


SHAPES: dict[str, Callable[[int], str]] = {
    "straight": straight,
    "branching": branching,
    "accumulating": accumulating,
    "nested": nested,
}


def parse_and_walk(source: str) -> int:
    """Parse, and visit every node once for nothing; how many there are."""
    pending = [Parser(LANGUAGE).parse(source.encode()).root_node]
    count = 0
    while pending:
        count += 1
        pending += pending.pop().children
    return count


def p50_ms(work: Callable[[], object], repeats: int) -> float:
    """Median over so many calls, garbage of earlier work collected."""
    work()
    gc.collect()
    taken = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken)


def analysed_ms(source: str, repeats: int) -> float:
    """Of one whole analysis; fails where the program is not understood."""
    program = analyse(source, CATALOG)
    if program.errors:
        message = f"the program is refused: {program.errors[0].message}"
        raise ValueError(message)
    return p50_ms(lambda: analyse(source, CATALOG), repeats)


def repeated_ms() -> float:
    """Of a source that was analysed before."""
    known = Analysed()
    known.put(PROGRAM, read(PROGRAM).references)
    known.put_program(analyse(PROGRAM, CATALOG), CATALOG, source=PROGRAM)
    if known.program(PROGRAM, CATALOG) is None:
        message = "the program is not remembered"
        raise ValueError(message)
    return p50_ms(lambda: known.program(PROGRAM, CATALOG), REPEATS)


def growth(shape: Callable[[int], str]) -> tuple[dict[int, float], float]:
    """Milliseconds by lines, and the exponent that fits them."""
    times = {
        lines: analysed_ms(shape(lines), 3 if lines > FEW_REPEATS_FROM else 9) for lines in SIZES
    }
    slope, _ = np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)
    return times, float(slope)


def main() -> None:
    """Print what was measured, and one JSON object on the last line."""
    lines = PROGRAM.count("\n")
    unsettled = analysed_ms(straight(DEFAULTS_LINES), 3)
    settle()
    settled = analysed_ms(straight(DEFAULTS_LINES), 3)
    small = analysed_ms(PROGRAM, REPEATS)
    walk = p50_ms(lambda: parse_and_walk(PROGRAM), REPEATS)
    bare = p50_ms(lambda: Parser(LANGUAGE).parse(PROGRAM.encode()), REPEATS)
    figures: dict[str, object] = {
        "p50_ms_21_lines": round(small, 3),
        "parse_and_walk_ms": round(walk, 3),
        "ratio_to_parse": round(small / walk, 2),
        "ratio_to_parse_without_walk": round(small / bare, 1),
        "default_collector_ratio": round(unsettled / settled, 2),
        "repeated_ms": round(repeated_ms(), 4),
    }
    print(f"{lines} lines: {small:.2f} ms; parse and an empty walk {walk:.2f} ms, parse {bare:.2f}")
    print(f"{'lines':>12}" + "".join(f"{size:>9,}" for size in SIZES) + "  exponent")
    exponents, at_2000 = {}, {}
    for name, shape in SHAPES.items():
        times, exponents[name] = growth(shape)
        at_2000[name] = times[2_000]
        row = "".join(f"{ms:>9.1f}" for ms in times.values())
        print(f"{name:>12}{row}  {exponents[name]:.2f}", flush=True)
    figures |= {
        "p50_ms_2000_lines": round(at_2000["branching"], 1),
        "worst_ms_2000_lines": round(max(at_2000.values()), 1),
        "growth_exponent": round(max(exponents.values()), 3),
        "exponents": {name: round(value, 3) for name, value in exponents.items()},
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
