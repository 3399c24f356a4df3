"""What a trace of a value says: the things that it is made of."""

from collections.abc import Sequence

from msgspec import Struct

from pml.analysis.calls import Site
from pml.analysis.kinds import Identified
from pml.analysis.patterns import Into, Path

_MOST = 12
"""Things that one value is said to be made of here; `pml.analysis.taint` knows all."""


class From(Identified):
    """What a value comes from."""

    CALL = "the result of a call"
    INPUT = "a parameter of the program"
    ALL_INPUTS = "args as a whole"
    UNSEEN = "more than can be followed"


class Origin(Struct, frozen=True, gc=False):
    """One thing that a value is made of; ``text`` is the expression that reads it.

    ``path`` leads to the part of a result that is read, or into which the read goes.
    (The garbage collector is kept out: no tree leads back to its origins, so there is no cycle.)
    """

    kind: From
    name: str
    """Of the parameter; empty for a call."""
    site: Site | None
    text: str
    exact: bool
    path: Path = ()


Origins = tuple[Origin, ...]
UNSEEN = Origin(From.UNSEEN, "", None, "", exact=False)


def told(path: Path) -> Path:
    """The part of a path that can be told."""
    for place, step in enumerate(path):
        if step is Into.UNKNOWN or step is Into.REST or step == "":
            return path[:place]
    return path


def once(origins: Sequence[Origin]) -> Origins:
    """Each thing once, in order; of too many the first, and that there are more."""
    if len(origins) <= 1:
        return tuple(origins)
    found = dict.fromkeys(origins)
    if len(found) <= _MOST:
        return tuple(found)
    first = [o for o in found if o != UNSEEN]
    return (*first[: _MOST - 1], UNSEEN)


def inexact(origins: Sequence[Origin]) -> Origins:
    """The same things, with more than access between them and the value."""
    if not origins:
        return ()
    return once(
        [Origin(o.kind, o.name, o.site, o.text, False, o.path) if o.exact else o for o in origins]
    )
