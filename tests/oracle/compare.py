"""One program natively and through PML: what differs, and what its labels say wrongly."""

from collections.abc import Mapping

import msgspec
import tree_sitter_typescript
from tree_sitter import Language, Parser

from pml.analysis.analyse import analyse
from pml.analysis.parameters import bind
from pml.domain.limits import Limits
from pml.domain.program import Program, Severity
from pml.domain.structure import (
    Decision,
    EdgeType,
    Fork,
    Loop,
    StaticStructure,
    Task,
)
from pml.domain.tools import Catalog, Tool
from pml.runtime.sandbox.module import module_text
from pml.runtime.sandbox.pool import SandboxPool
from pml.runtime.sandbox.protocol import CallIssued, DecisionMade
from tests.oracle.native import Native
from tests.oracle.sandboxed import sandboxed
from tests.oracle.scenario import Case, Observed, play

TOOLS = {
    "fs": ("read", "list", "stat", "write", "read-file"),
    "my server": ("x.y",),
    "db": ("count", "query"),
    "kv": ("get", "set"),
    "api": ("fetch", "flaky", "broken"),
}
CATALOG = Catalog(
    {server: [Tool(server=server, name=name) for name in names] for server, names in TOOLS.items()}
)


async def problems(case: Case, native: Native, pool: SandboxPool) -> list[str]:
    """How PML's run of the program falls short of the native one; empty if in nothing."""
    program = analyse(case.source, CATALOG, limits=Limits())
    if program.errors:
        return [f"refused: {d.code} at line {d.line}: {d.message}" for d in program.errors]
    arguments, unbound = bind(program, dict(case.args))
    found = [f"unbound: {d.message}" for d in unbound if d.severity is Severity.ERROR]
    if program.instrumented.count("\n") != case.source.count("\n"):
        found.append("instrumentation changed the number of lines")
    text = module_text(program.instrumented, program.structure.variables)
    async with native.one_at_a_time:
        wanted = await play(case, native)
    got = await _play_in_sandbox(case, pool, text, arguments)
    return [*found, *unlike(wanted, got), *mislabelled(program, got)]


async def sandbox_problems(case: Case, native: Native, pool: SandboxPool) -> list[str]:
    """The same for the plain source in a sandbox: whether the fault is the sandbox's."""
    arguments = {name: msgspec.json.encode(value).decode() for name, value in case.args.items()}
    text = module_text(case.source, case.parameters)
    async with native.one_at_a_time:
        wanted = await play(case, native)
    return unlike(wanted, await _play_in_sandbox(case, pool, text, arguments))


async def _play_in_sandbox(
    case: Case, pool: SandboxPool, text: str, arguments: Mapping[str, str]
) -> Observed:
    async with sandboxed(pool, text, arguments) as runner:
        return await play(case, runner)


def unlike(wanted: Observed, got: Observed) -> list[str]:
    """In what the two observations differ."""
    theirs = got.comparable()
    found = [
        f"{what}: native {str(value)[:600]}\n    PML {str(theirs[what])[:600]}"
        for what, value in wanted.comparable().items()
        if value != theirs[what]
    ]
    if wanted.line is not None and wanted.line != got.line and got.threw and not got.threw[2]:
        found.append(f"line of the error: native {wanted.line}, PML {got.line}")
    return found


def mislabelled(program: Program, got: Observed) -> list[str]:
    """Labels that the structure does not know, or that contradict it."""
    structure = program.structure
    nodes = {node.id: node for node in structure.nodes}
    found: list[str] = []
    for item in got.trail:
        node = nodes.get(item.site)
        if isinstance(item, CallIssued):
            tool = f"{item.server}:{item.tool}"
            hole = item.site == "?" and not structure.complete
            if not hole and not (isinstance(node, Task) and node.tool in (tool, "*")):
                found.append(f"call of {tool} at site {item.site}, which is {node}")
        elif isinstance(item, DecisionMade):
            if not isinstance(node, Decision):
                found.append(f"decision at {item.site}, which is {node}")
            elif not _may_decide(structure, item):
                found.append(f"decision {item.site} ({node.condition}) = {item.outcome}")
        elif not isinstance(node, Fork | Loop):
            found.append(f"reached {item.site}, which is {node}")
    return [*found, *_without_decision(program, got)]


def _may_decide(structure: StaticStructure, made: DecisionMade) -> bool:
    """Whether the outcome is of the kind that the edges of the decision have."""
    families = [
        {"true", "false"},
        {"ok", "catch"},
        {"default"} | ({made.outcome} if made.outcome.startswith("case:") else set()),
    ]
    drawn = {e.outcome for e in structure.edges if e.source == made.site and e.outcome}
    drawn |= {made.outcome}
    return any(
        all(o in family or (o.startswith("case:") and "default" in family) for o in drawn)
        for family in families
    )


def _without_decision(program: Program, got: Observed) -> list[str]:
    """Sites that were reached although no decision that leads to them went that way before.

    Sites in functions are left out: the structure draws them where the function is first
    called, and it may be called again elsewhere (SA-3: they appear once).
    """
    before: dict[str, set[tuple[str, str]]] = {}
    for edge in program.structure.edges:
        if edge.type is not EdgeType.PROVIDES:
            before.setdefault(edge.target, set()).add((edge.source, edge.outcome or ""))
    within = _sites_in_functions(program)
    taken: set[tuple[str, str]] = set()
    found = []
    for item in got.trail:
        if isinstance(item, DecisionMade):
            taken.add((item.site, item.outcome))
        wanted = before.get(item.site, set())
        conditional = wanted and all(outcome for _, outcome in wanted)
        if conditional and not wanted & taken and item.site not in within:
            found.append(f"{item.site} was reached without any of {sorted(wanted)}")
    return found


def _sites_in_functions(program: Program) -> set[str]:
    """Ids of the nodes that stand inside a function of the source."""
    tree = _PARSER.parse(program.source.encode())
    found = set()
    for site, place in program.structure.locations.items():
        node = tree.root_node.descendant_for_byte_range(place.start, place.end)
        while node is not None and node.type not in _FUNCTIONS:
            node = node.parent
        if node is not None:
            found.add(site)
    return found


_PARSER = Parser(Language(tree_sitter_typescript.language_typescript()))
_FUNCTIONS = {
    "arrow_function",
    "function_declaration",
    "function_expression",
    "generator_function",
    "generator_function_declaration",
    "method_definition",
}
