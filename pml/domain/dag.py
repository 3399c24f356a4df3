"""An explicit workflow: tasks, what each waits for, and ``$OUTPUT[id]`` in arguments (EX-1)."""

from typing import Annotated, Any

import msgspec

from pml.domain.record import Record


class DagTask(Record, frozen=True, kw_only=True):
    """One call; starts when every task in ``depends_on`` has succeeded."""

    id: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")]
    tool: Annotated[str, msgspec.Meta(pattern=r"^[^:]+:[\s\S]+$")]
    """``server:tool``."""
    arguments: dict[str, Any] = {}  # noqa: RUF012
    """Strings may hold ``$OUTPUT[id]`` or ``$OUTPUT[id].field[0]``, at any depth."""
    depends_on: tuple[str, ...] = msgspec.field(name="depends_on", default=())


class ExplicitDag(Record, frozen=True, kw_only=True):
    """A workflow given as tasks instead of code; compiled to TypeScript, then one path."""

    tasks: Annotated[tuple[DagTask, ...], msgspec.Meta(min_length=1)]
