"""Exact names: who writes a tool's or a capability's name wants that one."""

from collections import defaultdict
from collections.abc import Iterable

_AROUND = " \t\r\n`'\"()"
"""May stand around a name; calls and quotations."""


class Names:
    """Slots by the names under which their entries are known.

    Invariant: a slot stands under the names that it was given last, and no others.
    """

    def __init__(self) -> None:
        self._slots: defaultdict[str, set[int]] = defaultdict(set)
        self._names: dict[int, frozenset[str]] = {}

    def put(self, slot: int, names: Iterable[str]) -> None:
        """Make these the names of a slot; none, to forget it."""
        old, new = self._names.pop(slot, frozenset()), frozenset(map(_key, names))
        for name in old - new:
            self._slots[name].discard(slot)
            if not self._slots[name]:
                del self._slots[name]
        for name in new - old:
            self._slots[name].add(slot)
        if new:
            self._names[slot] = new

    def exact(self, text: str) -> frozenset[int]:
        """Slots whose name the text is, whatever its case."""
        return frozenset(self._slots.get(_key(text), ()))


def tool_names(tool_id: str, name: str) -> tuple[str, ...]:
    """How a tool may be called: ``fs:read``, ``fs.read``, ``mcp.fs.read``, ``read``."""
    server, _, tool = tool_id.partition(":")
    dotted = f"{server}.{tool}"
    return (tool_id, name, f"mcp.{name}", dotted, f"mcp.{dotted}", tool)


def capability_names(capability_id: str, name: str) -> tuple[str, ...]:
    """How a capability may be called: its id, ``sum_lines``, ``capabilities.sum_lines``."""
    return (capability_id, name, f"capabilities.{name}")


def _key(name: str) -> str:
    return name.strip(_AROUND).casefold()
