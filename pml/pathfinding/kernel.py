"""Compiled loops: what a function must be to run in them, and the order of values.

Kernels are compiled by numba at their first call and kept beside the source (`cache=True`).  The
cache looks at a kernel's own file only: after a change here or in `heap`, empty the caches of
the modules that import it.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

FAR = 1 << 60
"""Depth of what is not reached.  Costs do not tell it: a sum may overflow to infinity."""

_OPTIONS: dict[str, Any] = {"cache": True, "error_model": "numpy", "_nrt": False}


def kernel(function: F) -> F:
    """Compile a function over arrays, once per machine.

    A kernel is handed tuples of arrays and makes no array of its own, so nobody has to count who
    holds which: ``_nrt`` leaves the counting out, which made searches eight times faster.
    """
    return cast("F", numba.njit(**_OPTIONS)(function))


@kernel
def less(cost: float, depth: int, other_cost: float, other_depth: int) -> bool:
    """Whether one value is before another: by cost, then by depth."""
    return cost < other_cost or (cost == other_cost and depth < other_depth)
