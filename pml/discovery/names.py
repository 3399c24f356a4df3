"""Exact names: who writes a tool's or a capability's name wants that one."""

from collections.abc import Iterable

_AROUND = " \t\r\n`'\"()"
"""May stand around a name; calls and quotations."""
_ROOTS = ("mcp.", "capabilities.")
"""May stand before a name in code."""


class Names:
    """Slots by the names under which their entries are known.

    Invariant: a slot stands under the names that it was given last, and no others.
    """

    def __init__(self) -> None:
        self._slots: dict[str, tuple[int, ...]] = {}
        self._keys: dict[int, tuple[str, ...]] = {}

    def put(self, slot: int, names: Iterable[str]) -> None:
        """Make these the names of a slot; none, to forget it."""
        new = tuple(dict.fromkeys(map(_key, names)))
        old = self._keys.get(slot, ())
        if new == old:
            return
        for key in old:
            left = tuple(other for other in self._slots.pop(key) if other != slot)
            if left:
                self._slots[key] = left
        for key in new:
            self._slots[key] = (*self._slots.get(key, ()), slot)
        self._keys[slot] = new

    def exact(self, text: str) -> frozenset[int]:
        """Slots whose name the text is, whatever its case."""
        key = _key(text)
        inner = [key.removeprefix(root) for root in _ROOTS]
        return frozenset(slot for name in (key, *inner) for slot in self._slots.get(name, ()))


def tool_names(tool_id: str, name: str) -> tuple[str, ...]:
    """How a tool may be called: ``fs:read`` or ``fs.read``, and ``read``."""
    return (tool_id, name, tool_id.partition(":")[2])


def _key(name: str) -> str:
    return name.strip(_AROUND).casefold().replace(":", ".", 1)
