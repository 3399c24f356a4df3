"""What a program that was analysed before meets when it runs: tools and capabilities of now."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pml.analysis.analyse import ANY_SERVER
from pml.domain.capability import CAPABILITY_SERVER, Capability
from pml.domain.program import Diagnostic
from pml.domain.response import ExecuteError, ExecuteResponse
from pml.domain.run import RunState
from pml.domain.structure import CapabilityCall, StaticStructure
from pml.domain.tools import Catalog
from pml.loop.consents import quarantined
from pml.loop.library import Library, called_ids, with_capabilities


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that may not run, and why."""

    error: ExecuteError
    diagnostics: tuple[Diagnostic, ...] = ()


def refusal(code: str, message: str) -> Refusal:
    """A refusal without a place in the source."""
    return Refusal(ExecuteError(code=code, message=message))


def refused(found: Refusal) -> ExecuteResponse:
    """The answer to a request that may not run."""
    return ExecuteResponse(status=RunState.ERROR, error=found.error, diagnostics=found.diagnostics)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the calls of a program lead to."""

    catalog: Catalog
    by_name: Mapping[str, Capability]
    """The capabilities that the program calls, by the names that it uses."""
    callees: Mapping[str, Capability]
    """Those and the ones that they call, by id."""

    def schema_hashes(self, structure: StaticStructure) -> dict[str, str]:
        """Of every tool that the program calls, through capabilities too, by id."""
        structures = [structure, *(each.structure for each in self.callees.values())]
        ids = {tool_id for each in structures for tool_id in each.tools()}
        found = ((tool_id, self.catalog.find(tool_id)) for tool_id in ids)
        return {tool_id: tool.schema_hash() for tool_id, tool in found if tool is not None}


async def surroundings_of(structure: StaticStructure, library: Library) -> Surroundings | Refusal:
    """What the program meets now; the versions of capabilities that it calls are its own.

    Raises:
        NotFoundError: a capability that it calls is gone.
        StoreError: the database is lost.
    """
    callees = await library.callees(called_ids(structure))
    listed = await library.listed(servers_of(structures_of(structure, callees)))
    if listed.unavailable:
        return refusal("server_unavailable", "; ".join(listed.unavailable.values()))
    by_name = {
        node.name: callees[node.capability_id]
        for node in structure.nodes
        if isinstance(node, CapabilityCall)
    }
    catalog = with_capabilities(listed.tools, by_name)
    if reason := quarantined(structures_of(structure, callees), catalog):
        return refusal("quarantined", reason)
    return Surroundings(catalog=catalog, by_name=by_name, callees=callees)


def structures_of(
    structure: StaticStructure, callees: Mapping[str, Capability]
) -> list[StaticStructure]:
    """Of a program, and of all that it calls."""
    return [structure, *(each.structure for each in callees.values())]


def servers_of(structures: Iterable[StaticStructure]) -> set[str]:
    """The servers that programs call."""
    return {tool.partition(":")[0] for each in structures for tool in each.tools()}


def not_configured(structure: StaticStructure, around: Surroundings, library: Library) -> str:
    """Which servers a program needs and this process does not have; empty if it has all."""
    structures = structures_of(structure, around.callees)
    missing = servers_of(structures) - set(library.names) - {ANY_SERVER, CAPABILITY_SERVER}
    return ", ".join(sorted(missing))
