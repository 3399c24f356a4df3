"""Names of capabilities: what stands after ``capabilities.`` in code, unique per user (ST-8)."""

import re
from collections.abc import Iterator
from itertools import count

from pml.domain.capability import CAPABILITY_NAME, RESERVED_NAMES

_NAME = re.compile(CAPABILITY_NAME)
_MOST_CHARS = 64


def check_name(name: str) -> None:
    """Whether code can call it so.

    Raises:
        ValueError: it is no `CAPABILITY_NAME`.
    """
    if name in RESERVED_NAMES:
        message = f"{name!r} means something else in JavaScript: choose another name"
        raise ValueError(message)
    if not _NAME.fullmatch(name):
        message = (
            f"{name!r} is no name of a capability: expected at most {_MOST_CHARS} lower-case "
            "letters, digits and underscores, with no digit first, as in read_error_log"
        )
        raise ValueError(message)


def name_taken(name: str) -> ValueError:
    """Another capability has the name."""
    return ValueError(f"another capability is named {name!r}: choose another name")


def candidates(wanted: str) -> Iterator[str]:
    """The wanted name, then ``_2``, ``_3``... after it, shortened where it would be too long."""
    yield wanted
    for number in count(2):
        suffix = f"_{number}"
        yield wanted[: _MOST_CHARS - len(suffix)] + suffix
