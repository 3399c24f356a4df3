"""What a run teaches its capability, inside the transaction that writes its trace (LE-1, LE-2).

The capability's row is locked before it is read and until the transaction ends, so that the
runs of one capability teach one after the other and none overwrites what another taught.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from pml.domain.capability import Learning, Lifecycle, Literals, normalised_intent
from pml.domain.record import JsonText, decode, encode
from pml.domain.structure import StaticStructure
from pml.domain.trace import DependencyType, ExecutionTrace
from pml.learning.experience import Experience
from pml.store.capabilities import DagStructure
from pml.store.connection import Connection
from pml.store.messages import no_capability
from pml.store.printable import printable
from pml.store.queries import queries

_SQL = queries("capabilities")


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """A capability that only this transaction may teach."""

    id: str
    experience: Experience
    structure: msgspec.Raw
    has_parameters: bool


async def lock(connection: Connection, capability_id: str) -> Locked:
    """Wait until no other run teaches the capability.

    Raises:
        ValueError: there is none.
    """
    cursor = await connection.execute(_SQL["experience"], {"id": capability_id})
    row = await cursor.fetchone()
    if row is None:
        raise no_capability(capability_id)
    dag_structure, has_parameters, usage, successes, hmacs, lifecycle, hidden, stale = row
    assert isinstance(dag_structure, str)
    assert isinstance(usage, int)
    assert isinstance(successes, int)
    assert isinstance(hmacs, list)
    parts = decode(DagStructure, dag_structure)
    return Locked(
        id=capability_id,
        experience=Experience(
            learning=decode(Learning, bytes(parts.learning)),
            usage_count=usage,
            success_count=successes,
            argument_hashes=tuple(hmacs),
            lifecycle=Lifecycle(str(lifecycle)),
            hidden=bool(hidden),
            stale=bool(stale),
        ),
        structure=parts.static_structure,
        has_parameters=bool(has_parameters),
    )


async def teach(
    connection: Connection,
    capability: Locked,
    trace: ExecutionTrace,
    *,
    argument_hash: str,
    literals: Literals | None,
    now_ms: int,
    tools: Mapping[str, str] | None,
) -> None:
    """Write what the capability's runs came to with this one; ``tools`` as in `Traces.finish`."""
    taught = capability.experience.after(
        trace,
        decode(StaticStructure, bytes(capability.structure)),
        argument_hash=argument_hash,
        has_parameters=capability.has_parameters,
    )
    stale = taught.stale or (
        capability.experience.stale
        and tools is not None
        and await _outdated(connection, capability.id, tools)
    )
    intent = printable(trace.intent_text)
    row = {
        "id": capability.id,
        "dag_structure": DagStructure.of(capability.structure, taught.learning),
        "usage_count": taught.usage_count,
        "success_count": taught.success_count,
        "argument_hmacs": list(taught.argument_hashes),
        "lifecycle": taught.lifecycle.value,
        "hidden": taught.hidden,
        "stale": stale,
        "intent_key": hashlib.sha256(normalised_intent(intent).encode()).hexdigest(),
        "intent": intent,
        "success": trace.success,
        "literals": encode(literals).decode() if literals is not None and trace.success else None,
        "now_ms": now_ms,
    }
    await connection.execute(_SQL["teach"], row)


async def _outdated(connection: Connection, capability_id: str, tools: Mapping[str, str]) -> bool:
    row = {
        "id": capability_id,
        "tool_ids": [*map(printable, tools)],
        "schema_hashes": [*tools.values()],
    }
    cursor = await connection.execute(_SQL["outdated"], row)
    ((outdated,),) = await cursor.fetchall()
    return bool(outdated)


async def count_callees(
    connection: Connection, capability_id: str, callees: Mapping[str, int]
) -> None:
    """Count the edges from a capability to those that its run called and that are there."""
    if not callees:
        return
    row = {
        "id": capability_id,
        "callees": [*map(printable, callees)],
        "counts": [*callees.values()],
        "edge_type": DependencyType.CONTAINS.value,
        "weight": DependencyType.CONTAINS.weight,
    }
    await connection.execute(_SQL["count_callees"], row)


def argument_text(capability_id: str, arguments: JsonText) -> str:
    """What is hashed of arguments: equal ones of two capabilities are not to be told."""
    return f"{capability_id}\0{arguments}"
