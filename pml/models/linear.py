"""Linear maps that begin at zero and draw nothing, and dictionaries of modules with a type."""

from collections.abc import ValuesView
from typing import TYPE_CHECKING, Generic, TypeVar

from torch import nn

M = TypeVar("M", bound=nn.Module)


class Named(nn.ModuleDict, Generic[M]):
    """A `ModuleDict` whose modules are all of one class, which type checkers then know."""

    if TYPE_CHECKING:

        def __getitem__(self, key: str) -> M: ...
        def values(self) -> ValuesView[M]: ...  # noqa: D102


def linear(columns: int, rows: int, *, bias: bool = False) -> nn.Linear:
    """A map of zeros; the constructor of torch would draw from the global generator."""
    # On the device without memory nothing is drawn.
    made: nn.Linear = nn.Linear(columns, rows, bias=bias, device="meta").to_empty(device="cpu")
    for values in made.parameters():
        nn.init.zeros_(values)
    return made
