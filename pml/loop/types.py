"""The type check of one program against what it can use (SA-7)."""

from collections.abc import Mapping

from pml.analysis.declarations import Callable, Declarations
from pml.domain.capability import CAPABILITY_SERVER, Capability
from pml.domain.limits import Limits
from pml.domain.program import Diagnostic, Program
from pml.domain.tools import Catalog
from pml.loop.library import Library
from pml.loop.prepare import examine
from pml.runtime.type_check import type_check


async def type_problems(source: str, *, library: Library, limits: Limits) -> tuple[Diagnostic, ...]:
    """Warnings about the types of a program; none where analysis refuses it.

    Raises:
        SandboxError: the check cannot be made.
        StoreError: the database is lost.
    """
    found = await examine(source, library=library, limits=limits)
    if found.program.errors:
        return ()
    return await check_types(found.program, found.catalog, found.by_name)


async def check_types(
    program: Program, catalog: Catalog, capabilities: Mapping[str, Capability]
) -> tuple[Diagnostic, ...]:
    """Warnings about the types of a program that analysis accepts.

    What no schema tells is ``any`` here, so that only what contradicts a schema, or itself, is
    a problem.

    Args:
        program: without errors.
        catalog: the tools of the servers that it names.
        capabilities: those that it calls, by name.

    Raises:
        SandboxError: the check cannot be made.
    """
    servers = {
        name: tools.values() for name, tools in catalog.servers.items() if name != CAPABILITY_SERVER
    }
    known = [called(name, capability) for name, capability in capabilities.items()]
    text = Declarations(lenient=True).file(servers, known)
    return await type_check(
        program.source, declarations=text, variables=program.structure.variables
    )


def called(name: str, capability: Capability) -> Callable:
    """A capability as the declarations show it."""
    about = capability.description or capability.intent
    return Callable(name=name, description=about, parameters=capability.parameters)
