"""One program natively and through PML: what differs, and what its labels say wrongly."""

import asyncio
from collections.abc import Mapping

import msgspec

from pml.analysis.analyse import analyse
from pml.analysis.parameters import bind
from pml.domain.limits import Limits
from pml.domain.program import Severity
from pml.domain.tools import Catalog, Tool
from pml.runtime.sandbox.module import module_text
from tests.oracle.laws import broken_laws
from tests.oracle.native import Native
from tests.oracle.sandboxed import Sandboxes, sandboxed
from tests.oracle.scenario import Case, Observed, play

TOOLS = {
    "fs": ("read", "list", "stat", "write", "read-file"),
    "my server": ("x.y",),
    "db": ("count", "query"),
    "kv": ("get", "set"),
    "api": ("fetch", "flaky", "broken"),
    "capabilities": ("sum-up", "clean"),
}
CATALOG = Catalog(
    {server: [Tool(server=server, name=name) for name in names] for server, names in TOOLS.items()}
)


async def problems(case: Case, native: Native, pool: Sandboxes) -> list[str]:
    """How PML's run of the program falls short of the native one; empty if in nothing."""
    program = analyse(case.source, CATALOG, limits=Limits())
    if program.errors:
        return [f"refused: {d.code} at line {d.line}: {d.message}" for d in program.errors]
    arguments, unbound = bind(program, dict(case.args))
    found = [f"unbound: {d.message}" for d in unbound if d.severity is Severity.ERROR]
    if program.instrumented.count("\n") != case.source.count("\n"):
        found.append("instrumentation changed the number of lines")
    again = analyse(case.source, CATALOG, limits=Limits())
    if again != program:
        found.append("analysed again, it is another program")
    text = module_text(program.instrumented, program.structure.variables)
    wanted, got = await asyncio.gather(
        _play_natively(case, native), _play_in_sandbox(case, pool, text, arguments)
    )
    return [*found, *unlike(wanted, got), *broken_laws(program, got)]


async def sandbox_problems(case: Case, native: Native, pool: Sandboxes) -> list[str]:
    """The same for the plain source in a sandbox: whether the fault is the sandbox's."""
    arguments = {name: msgspec.json.encode(value).decode() for name, value in case.args.items()}
    text = module_text(case.source, case.parameters)
    wanted = await _play_natively(case, native)
    return unlike(wanted, await _play_in_sandbox(case, pool, text, arguments))


async def _play_natively(case: Case, native: Native) -> Observed:
    async with native.one_at_a_time:
        return await play(case, native)


async def _play_in_sandbox(
    case: Case, pool: Sandboxes, text: str, arguments: Mapping[str, str]
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
